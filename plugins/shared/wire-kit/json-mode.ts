/**
 * JSON as an answer, as far as the vendor keeps to it: by a schema, by JSON mode, or only because the model is asked in
 * words. OpenAI refuses JSON mode unless a message contains that word, and only keeps to a schema whose root is an object.
 * Where the vendor does not keep to what the client asked for, the gateway checks the reply.
 */
import type { CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

export interface FormatPlan {
  /** What the vendor is sent; `words`: nothing. */
  readonly mode: 'schema' | 'json' | 'words' | undefined;
  /** What the model is told. */
  readonly instruction?: string | undefined;
  /** What the reply is checked for, where the vendor does not keep to it. */
  readonly expects?: EncodedRequest['expects'];
}

type Format = NonNullable<CanonicalRequest['format']>;

/** Whether the vendor can be made to keep to the schema. */
function hasObjectRoot({ schema }: Extract<Format, { type: 'schema' }>): boolean {
  return !isObject(schema) || (schema.type ?? 'object') === 'object';
}

/** Whether a model has JSON mode, beside tools where there are any. */
export function hasJsonMode({ capabilities }: Model, hasTools: boolean): boolean {
  const { structuredOutput, jsonMode = structuredOutput ? 'always' : 'never' } = capabilities;
  return jsonMode === 'always' || (jsonMode === 'without-tools' && !hasTools);
}

/** What the model is told where its vendor does not keep to a format, and what its reply is checked for. */
export function inWords(format: Format): Pick<FormatPlan, 'instruction' | 'expects'> {
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

/** How a format is asked for on a wire of OpenAI's. */
export function planFormat(
  request: CanonicalRequest,
  model: Model,
  { own, lose }: { readonly own: boolean; readonly lose: Lose },
): FormatPlan {
  const { format } = request;
  if (!format || format.type === 'text') return { mode: undefined };
  if (format.type === 'schema' && model.capabilities.structuredOutput) {
    if (own || hasObjectRoot(format)) return { mode: 'schema' };
    lose('format.schema', 'it is not of an object; asked for in words', 'approximated');
    return { mode: 'words', ...inWords(format) };
  }
  if (!hasJsonMode(model, Boolean(request.tools?.length))) {
    lose(
      'format',
      'the vendor does not keep to it for this model and request; asked for in words',
      'approximated',
    );
    return { mode: 'words', ...inWords(format) };
  }
  if (format.type === 'json') return { mode: 'json', instruction: jsonWord(request, own, lose) };
  lose('format.schema', 'the model has JSON mode without schemas; asked for in words', 'approximated');
  return { mode: hasObjectRoot(format) ? 'json' : 'words', ...inWords(format) };
}

/** What tells of JSON where no message does. */
function jsonWord({ turns }: CanonicalRequest, own: boolean, lose: Lose): string | undefined {
  if (
    own ||
    turns.some(({ blocks }) => blocks.some((block) => block.type === 'text' && /json/i.test(block.text)))
  )
    return undefined;
  lose('format', 'asked for in words as well', 'approximated');
  return 'Answer with one valid JSON object.';
}

/** The instruction as a message to put before all others. */
export function instructionMessage({ instruction }: FormatPlan): Fields[] {
  return instruction === undefined ? [] : [{ role: 'system', content: instruction }];
}
