/** The wires: clients speak the first two, vendors speak all. They differ in the names of fields. */
import { toCount } from '../../../core/index.ts';
import type { Wire } from '../../shared/family/wires.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import { readMember, readObject } from '../../shared/wire-kit/values.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildUsage, readResults, toSearches, type RerankAsk, type Result } from './ask.ts';
import { createClient, usualMost } from './client.ts';

type RerankWire = Wire<RerankAsk, readonly Result[]>;

/** What a vendor is asked at once, by the names of clients. */
interface Asked extends Fields {
  readonly model: string;
  readonly documents: readonly string[];
  readonly truncation: boolean | undefined;
}

interface Form extends Pick<RerankWire, 'name' | 'client'>, Partial<Pick<RerankWire, 'errors'>> {
  /** What the vendor calls the fields that it has, besides the query. */
  readonly names: Readonly<Record<string, string>>;
  /** Documents that it takes at once. */
  readonly most?: number;
  /** Fields that only it has. */
  addFields?(asked: Asked): Fields;
  /** The member of a reply that holds the scores. */
  readonly results?: string;
  /** Whether it bills a search for a hundred documents of any length, and reports none. */
  readonly countsDocuments?: true;
}

const ownLimit = 'the vendor cuts texts by a limit of its own';

function createWire({
  names,
  most = usualMost,
  addFields,
  results = 'results',
  countsDocuments,
  ...wire
}: Form): RerankWire {
  return {
    errors: { encodeError, decodeError },
    ...wire,
    encode({ query, texts, count, maxTokens, truncation }, { upstream: model }, { lose, rest }) {
      const limits = { max_tokens_per_doc: maxTokens, truncation };
      if (maxTokens !== undefined && !names.max_tokens_per_doc) lose('max_tokens_per_doc', ownLimit);
      if (truncation === false && !names.truncation) lose('truncation', ownLimit);
      // The best of parts are known when all are scored.
      const top = texts.length <= most && count < texts.length ? count : undefined;
      return Array.from({ length: Math.ceil(texts.length / most) }, (_, at) => {
        const documents = texts.slice(at * most, (at + 1) * most);
        const asked = { model, documents, top_n: top, ...limits };
        const named = Object.entries(names).map(([name, own]) => [own, readMember(asked, name)]);
        return overlay(rest, { query, ...Object.fromEntries(named), ...addFields?.(asked) });
      });
    },
    /** Clones and gateways write the usage of one form of clients, of the other or of both. */
    decode(body) {
      const { usage, meta, ...reply } = readObject(body);
      const [counts, billed] = [readObject(usage), readObject(readObject(meta).billed_units)];
      const tokens = [counts.total_tokens, counts.prompt_tokens, billed.input_tokens].map(toCount);
      const answer = readResults(Array.isArray(body) ? body : reply[results]);
      const stated = toCount(billed.search_units) ?? toCount(counts.search_units);
      const searches = countsDocuments ? toSearches(answer.length) : stated;
      return { answer, usage: buildUsage(tokens.find(Boolean), searches) };
    },
  };
}

export const wireName = 'rerank';
const usual = { model: 'model', documents: 'documents', top_n: 'top_n' };

export const wires: readonly RerankWire[] = [
  createWire({
    name: wireName,
    client: createClient('jina'),
    names: { ...usual, truncation: 'truncation' },
    addFields: () => ({ return_documents: false }),
  }),
  createWire({
    name: 'cohere-rerank',
    errors: {
      encodeError: (error, id) => ({ ...encodeError(error), body: { id, message: error.message } }),
      decodeError,
    },
    client: createClient('cohere'),
    names: { ...usual, max_tokens_per_doc: 'max_tokens_per_doc' },
  }),
  // https://docs.voyageai.com/reference/reranker-api
  createWire({
    name: 'voyage-rerank',
    names: { ...usual, top_n: 'top_k', truncation: 'truncation' },
    results: 'data',
  }),
  // Bedrock's `InvokeModel` for models of Cohere and Amazon. It reports no searches.
  createWire({
    name: 'bedrock-rerank',
    names: { documents: 'documents', top_n: 'top_n' },
    addFields: ({ model }) => ({ api_version: model.startsWith('cohere.') ? 2 : undefined }),
  }),
  // https://cloud.google.com/generative-ai-app-builder/docs/ranking
  createWire({
    name: 'google-rank',
    most: 200,
    names: { model: 'model' },
    addFields: ({ documents }) => ({
      records: documents.map((content, index) => ({ id: String(index), content })),
      ignoreRecordDetailsInResponse: true,
    }),
    results: 'records',
    countsDocuments: true,
  }),
  // Text Embeddings Inference, whose servers take 32 texts unless they are started otherwise;
  // https://huggingface.github.io/text-embeddings-inference
  createWire({
    name: 'tei-rerank',
    most: 32,
    names: { documents: 'texts', truncation: 'truncate' },
    addFields: ({ truncation = true }) => ({ truncate: truncation }),
  }),
];
