/**
 * Asks for JSON in the strictest way that the provider enforces: a schema, JSON mode, or an instruction in
 * the prompt. OpenAI refuses JSON mode unless a message contains the word "json", and enforces only schemas
 * with an object as root. If the provider does not enforce what the client asked for, the gateway checks the
 * reply.
 */
import type { CanonicalRequest, EncodedRequest, Model, Format } from '../../../core/index.ts';
import type { Encoding } from './encoding.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** A format that the provider does not enforce. */
export interface FormatInWords {
  readonly instruction?: string | undefined;
  readonly expects?: EncodedRequest['expects'];
}

export interface FormatPlan extends FormatInWords {
  /** The field to send. With `words` there is none, only the instruction. */
  readonly mode: 'schema' | 'json' | 'words' | undefined;
}

/** Whether the provider can enforce the schema. */
function hasObjectRoot({ schema }: Extract<Format, { type: 'schema' }>): boolean {
  return !isObject(schema) || (schema.type ?? 'object') === 'object';
}

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
export function nameSchema(
  { name, description }: Extract<Format, { type: 'schema' }>,
  schema: Fields,
): Fields {
  return {
    ...(name === undefined ? {} : { title: name }),
    ...(description === undefined ? {} : { description }),
    ...schema,
  };
}

/** Plans how one of OpenAI's wires asks for the request's format. */
export function planFormat(request: CanonicalRequest, { own, model, lose }: Encoding): FormatPlan {
  const { format } = request;
  if (!format || format.type === 'text') return { mode: undefined };
  if (format.type === 'schema' && model.capabilities.structuredOutput) {
    if (own || hasObjectRoot(format)) return { mode: 'schema' };
    lose('format.schema', 'it does not describe an object; an instruction asks for it', 'approximated');
    return { mode: 'words', ...describeFormat(format) };
  }
  if (!hasJsonMode(model, Boolean(request.tools?.length))) {
    lose(
      'format',
      'the vendor does not enforce it for this model and request; an instruction asks for it',
      'approximated',
    );
    return { mode: 'words', ...describeFormat(format) };
  }
  if (format.type === 'json') return { mode: 'json', instruction: addJsonWord(request, own, lose) };
  lose(
    'format.schema',
    'the model has JSON mode without schemas; an instruction asks for it',
    'approximated',
  );
  return { mode: hasObjectRoot(format) ? 'json' : 'words', ...describeFormat(format) };
}

/** The instruction that JSON mode needs if no message contains the word. */
function addJsonWord({ turns }: CanonicalRequest, own: boolean, lose: Lose): string | undefined {
  if (
    own ||
    turns.some(({ blocks }) => blocks.some((block) => block.type === 'text' && /json/i.test(block.text)))
  )
    return undefined;
  lose('format', 'an instruction asks for it as well', 'approximated');
  return 'Answer with one valid JSON object.';
}

/** The instruction as a message that comes before all others. */
export function buildInstructionMessage({ instruction }: FormatInWords): Fields[] {
  return instruction === undefined ? [] : [{ role: 'system', content: instruction }];
}
