/**
 * What clients send and get: Jina's form, https://api.jina.ai/redoc, which Dify, RAGFlow and Open WebUI have,
 * and Cohere's, https://docs.cohere.com/reference/rerank. They have the same fields. Clients of the first
 * expect the documents back, and read `usage` or `meta`.
 */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import type { ClientWire } from '../../shared/family/wires.ts';
import { providerObject, readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { matchPost } from '../../shared/wire-kit/read-call.ts';
import { pickUnread } from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, checkWire, modelId } from '../../shared/wire-kit/wire-check.ts';
import { boundSearches, measureTexts, readDocument, type RerankAsk, type Result } from './ask.ts';

const mostDocuments = 10_000;
/** What vendors of these forms take at once. */
export const usualMost = 1000;
const mostTokens = 1_000_000;
/** Characters that are written in a few milliseconds. */
const quicklyWritten = 512 * 1024;

const document = z.union([z.string(), z.looseObject({})], 'a text, or an object with "text"');

const request = z.looseObject({
  model: modelId,
  query: z.string().min(1),
  documents: z.array(document).min(1).max(mostDocuments),
  top_n: allowInteger(1, mostTokens).nullish(),
  return_documents: z.boolean().nullish(),
  rank_fields: z.array(z.string().min(1)).min(1).max(100).nullish(),
  max_tokens_per_doc: allowInteger(1, mostTokens).nullish(),
  truncation: z.boolean().nullish(),
  provider: providerObject.nullish(),
});

const described = request.meta({
  title: 'RerankRequest',
  description:
    'Of a document that is an object, `text` counts, or the members that `rank_fields` names, or all.',
  examples: [
    {
      model: 'demo/rank',
      query: 'a lamp for ships',
      documents: ['A lighthouse is a lamp for ships.', 'Tea'],
    },
  ],
});

async function describeCalls(isJina: boolean): Promise<CallDescription[]> {
  const { count, describePost } = await import('../../shared/wire-kit/reply-schemas.ts');
  const result = z.looseObject({
    index: count.meta({ description: "The document's place in the request." }),
    relevance_score: z.number(),
    document: z.looseObject({}).optional(),
  });
  const results = z.array(result).meta({ description: 'The best first.' });
  const billed = z.looseObject({ search_units: count.optional(), input_tokens: count.optional() });
  const meta = z.looseObject({ billed_units: billed });
  const usage = z.looseObject({ total_tokens: count.optional() });
  if (isJina) {
    const reply = z.looseObject({ results, usage, meta: meta.optional() }).meta({ title: 'RerankResult' });
    const summary = 'Sort documents by how well they answer a query';
    return [describePost({ path: '/v1/rerank', summary, body: described, reply })];
  }
  const reply = z.looseObject({ results, meta }).meta({ title: 'CohereRerankResult' });
  const error = z.looseObject({ message: z.string() }).meta({ title: 'CohereError' });
  const summary = "The same in Cohere's form";
  return [describePost({ path: '/v2/rerank', summary, body: described, reply, error })];
}

type Name = keyof typeof request.shape;
const known = new Set(Object.keys(request.shape));

/** Fields that vendors of a form do not take, so that a body with one is written again. */
const foreign: Readonly<Record<'jina' | 'cohere', readonly Name[]>> = {
  jina: ['max_tokens_per_doc', 'rank_fields'],
  cohere: ['return_documents', 'rank_fields', 'truncation'],
};

export function createClient(form: 'jina' | 'cohere'): ClientWire<RerankAsk, readonly Result[]> {
  const isJina = form === 'jina';
  const usage: [string, ...string[]] = isJina ? ['usage'] : ['meta', 'billed_units'];
  return {
    match: isJina ? matchPost('/v1/rerank', '/rerank') : matchPost('/v2/rerank'),
    read(body) {
      const wire = checkWire(request, body);
      const { model, query, documents, provider } = wire;
      const names = wire.rank_fields ? [...new Set(wire.rank_fields)] : undefined;
      const ask: RerankAsk = {
        query,
        documents,
        texts: documents.map((document, index) => readDocument(document, index, names)),
        count: Math.min(wire.top_n ?? documents.length, documents.length),
        isVerbose: wire.return_documents ?? isJina,
        maxTokens: wire.max_tokens_per_doc ?? undefined,
        truncation: wire.truncation ?? undefined,
      };
      const isPlain =
        documents.length <= usualMost &&
        documents.every((document) => typeof document === 'string') &&
        foreign[form].every((name) => wire[name] === undefined);
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
      const head = isJina ? { id, object: 'list', model } : { id };
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
      const billed = searches ?? { input_tokens: input };
      const tokens = { input_tokens: input, output_tokens: 0 };
      const end = {
        meta: { api_version: { version: '2' }, billed_units: billed, tokens },
        ...(isJina && { usage: { prompt_tokens: input, total_tokens: input, ...searches } }),
      };
      yield `${text}],${JSON.stringify(end).slice(1)}`;
    },
    usagePath: { reply: usage, event: usage },
    describeCalls: () => describeCalls(isJina),
    describeAbilities: async () =>
      (await import('./abilities.json', { with: { type: 'json' } })).default[form],
  };
}
