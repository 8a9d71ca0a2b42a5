/**
 * Cohere's wire, which Bedrock has too; https://docs.cohere.com/reference/embed. It takes 96 texts at once,
 * and models from version 3 on need a purpose.
 */
import { toCount, type Model } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { overlay } from '../../shared/wire-kit/vendor-bag.ts';
import {
  checkDimensions,
  chooseEncoding,
  createReader,
  findWord,
  flagsSchema,
  getShare,
  loseTitles,
  readVectors,
  requireTexts,
  split,
  type EmbeddingAsk,
  type Share,
} from './ask.ts';
import type { Vector } from './vectors.ts';

const name = 'cohere-embed';
const readFlags = createReader(name);

const findShare = (model: Model): Share => getShare(readFlags(model), { inputs: 96 });

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
    loseTitles(ask, lose);
    if (ask.purpose === undefined)
      lose('purpose', 'sent as "search_document", because the vendor needs one', 'approximated');
    return split(requireTexts(ask, model), findShare(model)).map((texts) =>
      overlay(rest, {
        model: model.upstream,
        texts,
        input_type: findWord(ask, words, lose) ?? 'search_document',
        // Bedrock's has no base64.
        embedding_types: [flags.base64 ? chooseEncoding(ask) : 'float'],
        output_dimension: ask.dimensions,
        truncate: (ask.truncate ?? 'none').toUpperCase(),
      }),
    );
  },
  decode(body, ask, part) {
    const { embeddings, meta } = readObject(body);
    const vectors = readObject(embeddings);
    const input = toCount(readObject(readObject(meta).billed_units).input_tokens);
    return {
      answer: readVectors(readList(vectors.base64 ?? vectors.float), ask, [part, findShare]),
      usage: input === undefined ? undefined : { input, output: 0 },
    };
  },
};
