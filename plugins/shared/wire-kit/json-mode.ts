/**
 * Asks for JSON in words where the provider does not enforce what the client asked for. The gateway then
 * checks the reply.
 */
import type { EncodedRequest, Model, Format } from '../../../core/index.ts';
import type { Fields } from './vendor-bag.ts';

/** A format that the provider does not enforce. */
export interface FormatInWords {
  readonly instruction?: string | undefined;
  readonly expects?: EncodedRequest['expects'];
}

type SchemaFormat = Extract<Format, { type: 'schema' }>;

/** Whether the model has JSON mode, together with tools if the request has any. */
export function hasJsonMode({ capabilities }: Model, hasTools: boolean): boolean {
  const { structuredOutput, jsonMode = structuredOutput ? 'always' : 'never' } = capabilities;
  return jsonMode === 'always' || (jsonMode === 'without-tools' && !hasTools);
}

export function describeFormat(format: Format): FormatInWords {
  const schema = format.type === 'schema' ? format.schema : undefined;
  if (schema === undefined)
    return {
      instruction: 'Answer with one valid JSON object and nothing else.',
      expects: { schema: { type: 'object' } },
    };
  return {
    instruction: `Answer with valid JSON alone, which keeps to this schema:\n${JSON.stringify(schema)}`,
    expects: { schema },
  };
}

/** A schema with the name and the description that its format has next to it, unless it has its own. */
export function nameSchema({ name, description }: SchemaFormat, schema: Fields): Fields {
  return {
    ...(name === undefined ? {} : { title: name }),
    ...(description === undefined ? {} : { description }),
    ...schema,
  };
}
