/**
 * Cohere's wire, which Bedrock has too; https://docs.cohere.com/reference/embed. It takes 96 texts at once,
 * and models from version 3 on need a purpose.
 */
import { toCount } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/family.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { overlay } from '../../shared/wire-kit/vendor-bag.ts';
import {
  checkDimensions,
  chunk,
  createReader,
  findWord,
  flagsSchema,
  requireTexts,
  type EmbeddingAsk,
  type Vector,
} from './ask.ts';
import { readVector } from './vectors.ts';

const name = 'cohere-embed';
const readFlags = createReader(name);

const mostTexts = 96;

const words = {
  query: 'search_query',
  'question-answering': 'search_query',
  'fact-verification': 'search_query',
  'code-query': 'search_query',
  document: 'search_document',
  classification: 'classification',
  clustering: 'clustering',
} as const;

export const cohere: Wire<EmbeddingAsk, readonly Vector[]> = {
  name,
  errors: { encodeError, decodeError },
  flags: flagsSchema,
  encode(ask, model, { lose, rest }) {
    const flags = readFlags(model);
    checkDimensions(ask, model, flags);
    if (ask.user !== undefined) lose('user', 'the vendor has no such field');
    if (ask.purpose === undefined)
      lose('purpose', 'sent as "search_document", because the vendor needs one', 'approximated');
    return chunk(requireTexts(ask, model), flags.inputs ?? mostTexts).map((texts) =>
      overlay(rest, {
        model: model.upstream,
        texts,
        input_type: findWord(ask, words, lose) ?? 'search_document',
        embedding_types: [ask.encoding],
        output_dimension: ask.dimensions,
        truncate: (ask.truncate ?? 'none').toUpperCase(),
      }),
    );
  },
  decode(body, { encoding }) {
    const { embeddings, meta } = readObject(body);
    const vectors = readObject(embeddings);
    const input = toCount(readObject(readObject(meta).billed_units).input_tokens);
    return {
      answer: readList(vectors[encoding] ?? vectors.float).map(readVector),
      usage: input === undefined ? undefined : { input, output: 0 },
    };
  },
};
