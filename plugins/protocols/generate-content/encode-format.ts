/**
 * Structured output: a schema or JSON mode if the model has it, otherwise an instruction to the model. Gemini
 * 2.x has no structured output together with tools.
 */
import type { CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import { describeFormat } from '../../shared/wire-kit/json-mode.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { restoreOpenApi } from './encode-tools.ts';
import type { Encoding } from './encoding.ts';
import { fitSchema } from './fit-schema.ts';

export interface EncodedFormat {
  /** Fields of `generationConfig`. */
  readonly format: Fields;
  /** The instruction that takes its place. */
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
    const responseSchema = restoreOpenApi(format, format.schema);
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
      `the model has no structured output${capabilities.structuredOutput ? ' together with tools' : ''}; sent as an instruction`,
      'approximated',
    );
    return { format: {}, ...describeFormat(format) };
  }
  if (format.type === 'json') return { format: json };
  const { name: title, description } = format;
  const schema = fitSchema(format.schema, (reason) => lose('format.schema', reason, 'approximated'));
  // This wire has no other field for the name of a schema.
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
