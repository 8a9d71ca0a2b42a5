/** Wires that only vendors speak, each for as many documents as the vendor takes at once. */
import { toCount } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/family.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { buildUsage, readResults, toSearches, type RerankAsk, type Result } from './ask.ts';
import { splitTexts } from './clients.ts';

type RerankWire = Wire<RerankAsk, readonly Result[]>;

const errors = { encodeError, decodeError };

function loseLimits(
  { maxTokens, truncation }: RerankAsk,
  lose: Lose,
  names: readonly ('max_tokens_per_doc' | 'truncation')[],
): void {
  const values = { max_tokens_per_doc: maxTokens, truncation: truncation === false ? truncation : undefined };
  for (const name of names)
    if (values[name] !== undefined) lose(name, 'the vendor cuts what is too long by a limit of its own');
}

/** Voyage; https://docs.voyageai.com/reference/reranker-api. */
const voyage: RerankWire = {
  name: 'voyage-rerank',
  errors,
  encode(ask, { upstream: model }, { lose }) {
    loseLimits(ask, lose, ['max_tokens_per_doc']);
    const { query, truncation } = ask;
    return splitTexts(ask).map(({ texts: documents, count }) => ({
      model,
      query,
      documents,
      top_k: count,
      truncation,
    }));
  },
  decode(body) {
    const { data, usage } = readObject(body);
    return { answer: readResults(data), usage: buildUsage(toCount(readObject(usage).total_tokens)) };
  },
};

/** Bedrock's `InvokeModel` for models of Cohere and Amazon. It reports no searches. */
const bedrock: RerankWire = {
  name: 'bedrock-rerank',
  errors,
  encode(ask, { upstream }, { lose }) {
    const isCohere = upstream.startsWith('cohere.');
    loseLimits(ask, lose, isCohere ? ['truncation'] : ['max_tokens_per_doc', 'truncation']);
    return splitTexts(ask).map(({ texts: documents, count }) => ({
      query: ask.query,
      documents,
      top_n: count,
      ...(isCohere && { api_version: 2, max_tokens_per_doc: ask.maxTokens }),
    }));
  },
  decode: (body) => ({ answer: readResults(readObject(body).results), usage: undefined }),
};

const mostRecords = 200;

/**
 * Google's ranking API; https://cloud.google.com/generative-ai-app-builder/docs/ranking. It reports no
 * searches, but bills one for a hundred records of any length.
 */
const google: RerankWire = {
  name: 'google-rank',
  errors,
  encode(ask, { upstream: model }, { lose }) {
    loseLimits(ask, lose, ['max_tokens_per_doc', 'truncation']);
    return splitTexts(ask, mostRecords).map(({ texts }) => ({
      model,
      query: ask.query,
      records: texts.map((content, index) => ({ id: String(index), content })),
      ignoreRecordDetailsInResponse: true,
    }));
  },
  decode(body) {
    const answer = readResults(readObject(body).records);
    return { answer, usage: buildUsage(undefined, toSearches(answer.length)) };
  },
};

/** The most that a server of Hugging Face's takes unless it is started otherwise. */
const mostTexts = 32;

/** Hugging Face's Text Embeddings Inference; https://huggingface.github.io/text-embeddings-inference. */
const tei: RerankWire = {
  name: 'tei-rerank',
  errors,
  encode(ask, _model, { lose }) {
    loseLimits(ask, lose, ['max_tokens_per_doc']);
    const { query, truncation: truncate = true } = ask;
    return splitTexts(ask, mostTexts).map(({ texts }) => ({ query, texts, truncate }));
  },
  decode: (body) => ({ answer: readResults(body), usage: undefined }),
};

export const vendorWires: readonly RerankWire[] = [voyage, bedrock, google, tei];
