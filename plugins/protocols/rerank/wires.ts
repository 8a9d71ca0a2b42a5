/** The wires: clients speak the first two, vendors speak all. */
import { toCount } from '../../../core/index.ts';
import type { ReadAnswer, Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildUsage, readResults, toSearches, type RerankAsk, type Result } from './ask.ts';
import { createClient, usualMost } from './client.ts';

type RerankWire = Wire<RerankAsk, readonly Result[]>;

/** As many documents as a vendor takes at once, and the `top` that it is asked for. */
type Part = RerankAsk & { readonly model: string; readonly top: number | undefined };

interface Form extends Pick<RerankWire, 'name' | 'client' | 'decode'>, Partial<Pick<RerankWire, 'errors'>> {
  readonly most?: number;
  /** Fields of clients that its vendors lack. */
  readonly lacks: readonly ('max_tokens_per_doc' | 'truncation')[];
  encodePart(part: Part): Fields;
}

function createWire({ most = usualMost, lacks, encodePart, ...wire }: Form): RerankWire {
  return {
    errors: { encodeError, decodeError },
    ...wire,
    encode(ask, { upstream: model }, { lose, rest }) {
      const { texts, count, maxTokens, truncation } = ask;
      const asked = { max_tokens_per_doc: maxTokens !== undefined, truncation: truncation === false };
      for (const name of lacks) if (asked[name]) lose(name, 'the vendor cuts texts by a limit of its own');
      // The best of parts are known when all are scored.
      const top = texts.length <= most && count < texts.length ? count : undefined;
      return Array.from({ length: Math.ceil(texts.length / most) }, (_, at) =>
        overlay(rest, encodePart({ ...ask, model, top, texts: texts.slice(at * most, (at + 1) * most) })),
      );
    },
  };
}

function readAnswer(list: unknown, tokens?: number, searches?: number): ReadAnswer<readonly Result[]> {
  return { answer: readResults(list), usage: buildUsage(tokens, searches) };
}

/** Reads both forms of clients, as clones and gateways write one, the other or both. */
function decode(body: unknown): ReadAnswer<readonly Result[]> {
  const { results, usage, meta } = readObject(body);
  const [counts, billed] = [readObject(usage), readObject(readObject(meta).billed_units)];
  const tokens = [counts.total_tokens, counts.prompt_tokens, billed.input_tokens].map(toCount).find(Boolean);
  return readAnswer(results, tokens, toCount(billed.search_units) ?? toCount(counts.search_units));
}

export const wireName = 'rerank';

export const wires: readonly RerankWire[] = [
  createWire({
    name: wireName,
    client: {
      ...createClient('jina'),
      describeCalls: async () => (await import('./description.ts')).describeJina(),
    },
    lacks: ['max_tokens_per_doc'],
    encodePart: ({ model, query, texts, top, truncation }) => {
      const more = { top_n: top, return_documents: false, truncation };
      return { model, query, documents: texts, ...more };
    },
    decode,
  }),
  createWire({
    name: 'cohere-rerank',
    errors: {
      encodeError: (error, id) => ({ ...encodeError(error), body: { id, message: error.message } }),
      decodeError,
    },
    client: {
      ...createClient('cohere'),
      describeCalls: async () => (await import('./description.ts')).describeCohere(),
    },
    lacks: ['truncation'],
    encodePart: ({ model, query, texts, top, maxTokens }) => {
      const limits = { top_n: top, max_tokens_per_doc: maxTokens };
      return { model, query, documents: texts, ...limits };
    },
    decode,
  }),
  // https://docs.voyageai.com/reference/reranker-api
  createWire({
    name: 'voyage-rerank',
    lacks: ['max_tokens_per_doc'],
    encodePart: ({ model, query, texts, top, truncation }) => ({
      model,
      query,
      documents: texts,
      top_k: top,
      truncation,
    }),
    decode(body) {
      const { data, usage } = readObject(body);
      return readAnswer(data, toCount(readObject(usage).total_tokens));
    },
  }),
  // Bedrock's `InvokeModel` for models of Cohere and Amazon. It reports no searches.
  createWire({
    name: 'bedrock-rerank',
    lacks: ['max_tokens_per_doc', 'truncation'],
    encodePart({ model, query, texts, top }) {
      const version = model.startsWith('cohere.') ? 2 : undefined;
      return { query, documents: texts, top_n: top, api_version: version };
    },
    decode: (body) => readAnswer(readObject(body).results),
  }),
  // Google bills a search for a hundred records of any length, and reports none;
  // https://cloud.google.com/generative-ai-app-builder/docs/ranking
  createWire({
    name: 'google-rank',
    most: 200,
    lacks: ['max_tokens_per_doc', 'truncation'],
    encodePart({ model, query, texts }) {
      const records = texts.map((content, index) => ({ id: String(index), content }));
      return { model, query, records, ignoreRecordDetailsInResponse: true };
    },
    decode(body) {
      const { records } = readObject(body);
      return readAnswer(records, undefined, Array.isArray(records) ? toSearches(records.length) : undefined);
    },
  }),
  // Text Embeddings Inference, whose servers take 32 texts unless they are started otherwise;
  // https://huggingface.github.io/text-embeddings-inference
  createWire({
    name: 'tei-rerank',
    most: 32,
    lacks: ['max_tokens_per_doc'],
    encodePart: ({ query, texts, truncation: truncate = true }) => ({ query, texts, truncate }),
    decode: (body) => readAnswer(body),
  }),
];
