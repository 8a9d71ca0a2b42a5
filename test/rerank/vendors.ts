/**
 * Fake vendors of each wire of rerankers, as strict as the real ones: a field that they do not know, or a
 * document too many, is refused. `x_unknown` is a field that only the vendor and its clients know. A
 * document's score is its length.
 */
import { z } from 'zod';

const texts = z.array(z.string()).min(1);
const top = z.int().positive().optional();
const query = z.string().min(1);

export interface Scored {
  readonly index: number;
  readonly relevance_score: number;
}

export function score(documents: readonly string[], most = documents.length): Scored[] {
  return documents
    .map((document, index) => ({ index, relevance_score: document.length / 1024 }))
    .toSorted((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, most);
}

const cohereBody = z.strictObject({
  model: z.string().regex(/^rerank-v/),
  query,
  documents: texts.max(1000),
  top_n: top,
  max_tokens_per_doc: z.int().positive().optional(),
  priority: z.int().min(0).max(999).optional(),
  x_unknown: z.int().optional(),
});

export function answerCohere(body: unknown, billed: object): object {
  const { documents, top_n: most } = cohereBody.parse(body);
  return {
    id: '07734bd2-2473-4f07-94e1-0d9f0e6843cf',
    results: score(documents, most),
    meta: { api_version: { version: '2' }, billed_units: billed },
  };
}

const jinaBody = z.strictObject({
  model: z.string().regex(/^(?!.*\/)/, 'a name without an owner'),
  query,
  documents: texts.max(1000),
  top_n: top,
  return_documents: z.boolean().optional(),
  truncation: z.boolean().optional(),
  x_unknown: z.int().optional(),
});

export function answerJina(body: unknown, tokens: number): object {
  const { model, documents, top_n: most, return_documents: isVerbose = true } = jinaBody.parse(body);
  const results = score(documents, most).map((each) => ({
    ...each,
    ...(isVerbose && { document: { text: documents[each.index] } }),
  }));
  return { model, object: 'list', results, usage: { total_tokens: tokens } };
}

const voyageBody = z.strictObject({
  model: z.string().startsWith('rerank-'),
  query,
  documents: texts.max(1000),
  top_k: top,
  truncation: z.boolean().optional(),
});

export function answerVoyage(body: unknown, tokens: number): object {
  const { model, documents, top_k: most } = voyageBody.parse(body);
  return { object: 'list', data: score(documents, most), model, usage: { total_tokens: tokens } };
}

const bedrockBody = z.strictObject({
  api_version: z.literal(2).optional(),
  query,
  documents: texts.max(1000),
  top_n: top,
  max_tokens_per_doc: z.int().positive().optional(),
});

export function answerBedrock(body: unknown): object {
  const { documents, top_n: most } = bedrockBody.parse(body);
  return { results: score(documents, most) };
}

const googleBody = z.strictObject({
  model: z.string().startsWith('semantic-ranker-'),
  query,
  topN: top,
  records: z
    .array(z.strictObject({ id: z.string().min(1), content: z.string().min(1) }))
    .min(1)
    .max(200),
  ignoreRecordDetailsInResponse: z.boolean().optional(),
});

export function answerGoogle(body: unknown): object {
  const { records, topN } = googleBody.parse(body);
  const contents = records.map(({ content }) => content);
  return {
    records: score(contents, topN).map(({ index, relevance_score: each }) => ({
      id: records[index]?.id,
      score: each,
    })),
  };
}

const teiBody = z.strictObject({
  query,
  texts: texts.max(32),
  truncate: z.boolean().optional(),
  raw_scores: z.boolean().optional(),
  return_text: z.boolean().optional(),
});

export function answerTei(body: unknown): unknown {
  return score(teiBody.parse(body).texts).map(({ index, relevance_score: each }) => ({ index, score: each }));
}
