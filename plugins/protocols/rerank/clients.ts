/**
 * The two wires that clients speak: Jina's, which Dify, RAGFlow, Open WebUI and vLLM have, and Cohere's;
 * https://api.jina.ai/redoc and https://docs.cohere.com/reference/rerank. They have the same fields. Clients
 * of the first expect the documents back and read `usage` or `meta`.
 */
import { z } from 'zod';
import { toCount } from '../../../core/index.ts';
import type { ClientWire, ReadAnswer, Wire } from '../../shared/family/family.ts';
import { decodeError, encodeError } from '../../shared/openai/errors.ts';
import { providerObject, readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { overlay, pickUnread } from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, checkWire, modelId } from '../../shared/wire-kit/wire-check.ts';
import {
  boundSearches,
  buildUsage,
  measureTexts,
  readDocument,
  readResults,
  type RerankAsk,
  type Result,
} from './ask.ts';

const mostDocuments = 10_000;
/** What vendors of these wires take at once. */
const mostAtOnce = 1000;
const mostTokens = 1_000_000;
/** Characters that are written in a few milliseconds. */
const quicklyWritten = 512 * 1024;

export const request = z.looseObject({
  model: modelId,
  query: z.string().min(1),
  documents: z
    .array(z.union([z.string(), z.looseObject({})], 'a text, or an object with "text"'))
    .min(1)
    .max(mostDocuments),
  top_n: allowInteger(1, mostTokens).nullish(),
  return_documents: z.boolean().nullish(),
  rank_fields: z.array(z.string().min(1)).min(1).max(100).nullish(),
  max_tokens_per_doc: allowInteger(1, mostTokens).nullish(),
  truncation: z.boolean().nullish(),
  provider: providerObject.nullish(),
});

const known = new Set(Object.keys(request.shape));

/** How the two differ. */
interface Form {
  readonly paths: readonly string[];
  /** Fields that its vendors do not take, so that a body with one is written anew. */
  readonly foreign: readonly (keyof z.output<typeof request>)[];
  readonly returnsDocuments: boolean;
  readonly hasUsage: boolean;
  readonly usagePath: NonNullable<ClientWire<RerankAsk, unknown>['usagePath']>;
  readonly describeCalls: ClientWire<RerankAsk, unknown>['describeCalls'];
}

function createClient(form: Form): ClientWire<RerankAsk, readonly Result[]> {
  return {
    match: (method, path) =>
      method === 'POST' && form.paths.includes(path) ? { operation: 'generate' } : undefined,
    read(body) {
      const wire = checkWire(request, body);
      const { model, query, documents, truncation, provider } = wire;
      const names = wire.rank_fields ? [...new Set(wire.rank_fields)] : undefined;
      const ask: RerankAsk = {
        query,
        documents,
        texts: documents.map((document, index) => readDocument(document, index, names)),
        count: Math.min(wire.top_n ?? documents.length, documents.length),
        isVerbose: wire.return_documents ?? form.returnsDocuments,
        maxTokens: wire.max_tokens_per_doc ?? undefined,
        truncation: truncation ?? undefined,
      };
      const isPlain =
        documents.length <= mostAtOnce &&
        documents.every((document) => typeof document === 'string') &&
        form.foreign.every((field) => wire[field] === undefined);
      return {
        model,
        ask,
        preferences: readPreferences(provider),
        size: measureTexts(ask),
        fees: [boundSearches(ask)],
        rest: pickUnread(wire, known),
        suits: () => isPlain,
      };
    },
    *write(results, { documents, isVerbose }, { id, model, usage: { input = 0, search } }) {
      const head = form.hasUsage ? { id, object: 'list', model } : { id };
      let text = `${JSON.stringify(head).slice(0, -1)},"results":[`;
      for (const [place, { index, score }] of results.entries()) {
        const document = documents[index];
        const shown = isVerbose && { document: typeof document === 'string' ? { text: document } : document };
        text += (place > 0 ? ',' : '') + JSON.stringify({ index, relevance_score: score, ...shown });
        if (text.length < quicklyWritten) continue;
        yield text;
        text = '';
      }
      const searches = search === undefined ? undefined : { search_units: search };
      const meta = {
        api_version: { version: '2' },
        billed_units: searches ?? { input_tokens: input },
        tokens: { input_tokens: input, output_tokens: 0 },
      };
      const usage = form.hasUsage && { usage: { prompt_tokens: input, total_tokens: input, ...searches } };
      yield `${text}],${JSON.stringify({ meta, ...usage }).slice(1)}`;
    },
    usagePath: form.usagePath,
    describeCalls: form.describeCalls,
  };
}

/** Reads both forms, as clones and gateways write one, the other or both. */
function decode(body: unknown): ReadAnswer<readonly Result[]> {
  const { results, usage, meta } = readObject(body);
  const [counts, billed] = [readObject(usage), readObject(readObject(meta).billed_units)];
  const tokens = [counts.total_tokens, counts.prompt_tokens, billed.input_tokens].map(toCount).find(Boolean);
  const searches = toCount(billed.search_units) ?? toCount(counts.search_units);
  return { answer: readResults(results), usage: buildUsage(tokens, searches) };
}

/** Cuts the texts into lists of so many. Only whole lists can be joined, so that a single one may be cut. */
export function splitTexts(
  { texts, count }: RerankAsk,
  most = mostAtOnce,
): { readonly texts: readonly string[]; readonly count: number | undefined }[] {
  if (texts.length <= most) return [{ texts, count: count < texts.length ? count : undefined }];
  return Array.from({ length: Math.ceil(texts.length / most) }, (_, at) => ({
    texts: texts.slice(at * most, (at + 1) * most),
    count: undefined,
  }));
}

export const wireName = 'rerank';

export const jina: Wire<RerankAsk, readonly Result[]> = {
  name: wireName,
  errors: { encodeError, decodeError },
  client: createClient({
    paths: ['/v1/rerank', '/rerank'],
    foreign: ['max_tokens_per_doc', 'rank_fields'],
    returnsDocuments: true,
    hasUsage: true,
    usagePath: { reply: ['usage'], event: ['usage'] },
    describeCalls: async () => (await import('./description.ts')).describeJina(),
  }),
  encode(ask, model, { lose, rest }) {
    const { query, maxTokens, truncation } = ask;
    if (maxTokens !== undefined) lose('max_tokens_per_doc', 'the vendor has no such limit');
    return splitTexts(ask).map(({ texts, count }) =>
      overlay(rest, {
        model: model.upstream,
        query,
        documents: texts,
        top_n: count,
        return_documents: false,
        truncation,
      }),
    );
  },
  decode,
};

export const cohere: Wire<RerankAsk, readonly Result[]> = {
  name: 'cohere-rerank',
  errors: {
    encodeError: (error, id) => ({ status: encodeError(error).status, body: { id, message: error.message } }),
    decodeError,
  },
  client: createClient({
    paths: ['/v2/rerank'],
    foreign: ['return_documents', 'rank_fields', 'truncation'],
    returnsDocuments: false,
    hasUsage: false,
    usagePath: { reply: ['meta', 'billed_units'], event: ['meta', 'billed_units'] },
    describeCalls: async () => (await import('./description.ts')).describeCohere(),
  }),
  encode(ask, model, { lose, rest }) {
    const { query, maxTokens, truncation } = ask;
    if (truncation === false) lose('truncation', 'the vendor cuts what is too long', 'model');
    return splitTexts(ask).map(({ texts, count }) =>
      overlay(rest, {
        model: model.upstream,
        query,
        documents: texts,
        top_n: count,
        max_tokens_per_doc: maxTokens,
      }),
    );
  },
  decode,
};
