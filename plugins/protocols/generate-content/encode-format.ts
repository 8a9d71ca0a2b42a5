/** Structured output: a schema or JSON mode where the model has it, words where it does not, as Gemini 2.x beside tools. */
import type { CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import { inWords } from '../../shared/wire-kit/json-mode.ts';
import { type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { openApiOf } from './encode-tools.ts';
import type { Encoding } from './encoding.ts';
import { fitSchema } from './fit-schema.ts';

export interface EncodedFormat {
  /** Fields of `generationConfig`. */
  readonly format: Fields;
  /** What has to be said to the model instead. */
  readonly instruction?: string | undefined;
  readonly expects?: EncodedRequest['expects'];
}

export function encodeFormat(
  { format, tools }: CanonicalRequest,
  { capabilities }: Model,
  { own, modern, lose }: Encoding,
): EncodedFormat {
  if (!format) return { format: {} };
  if (format.type === 'text') return { format: own ? { responseMimeType: 'text/plain' } : {} };
  const json = { responseMimeType: 'application/json' };
  if (own) {
    if (format.type === 'json') return { format: json };
    const responseSchema = openApiOf(bag.form(format), format.schema);
    return {
      format:
        responseSchema === undefined
          ? { ...json, responseJsonSchema: format.schema }
          : { ...json, responseSchema },
    };
  }
  if (!capabilities.structuredOutput || (!modern && tools?.length)) {
    lose(
      'format',
      `the model has no structured output${capabilities.structuredOutput ? ' beside tools' : ''}; asked for in words`,
      'approximated',
    );
    return { format: {}, ...inWords(format) };
  }
  if (format.type === 'json') return { format: json };
  const { name: title, description } = format;
  const schema = fitSchema(format.schema, (reason) => lose('format.schema', reason, 'approximated'));
  // What a schema is called has no other place here.
  return {
    format: {
      ...json,
      responseJsonSchema: {
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        ...schema,
      },
    },
  };
}
