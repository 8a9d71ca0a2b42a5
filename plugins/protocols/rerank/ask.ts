/** What is asked of rerankers and what they answer, whatever the wire, and by what they are billed. */
import { GatewayError, toCount, type Fee, type InputSize, type Usage } from '../../../core/index.ts';
import { refuse } from '../../shared/wire-kit/losses.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';

export type Document = string | Fields;

export interface RerankAsk {
  readonly query: string;
  readonly documents: readonly Document[];
  /** The documents as vendors read them. */
  readonly texts: readonly string[];
  /** The number of results that the client wants. */
  readonly count: number;
  /** Whether the reply repeats the documents. */
  readonly isVerbose: boolean;
  readonly maxTokens?: number | undefined;
  readonly truncation?: boolean | undefined;
}

export interface Result {
  /** The document's place in the request. */
  readonly index: number;
  readonly score: number;
}

function writeValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The text of a document: its `text`, or the members that are named, or all of them, a line for each. */
export function readDocument(document: Document, index: number, names?: readonly string[]): string {
  if (typeof document === 'string') return document;
  if (!names && typeof document.text === 'string') return document.text;
  const param = `documents[${index}]`;
  if (!names && document.image !== undefined)
    refuse(`${param}.image`, `"${param}.image" is a picture: send texts only.`);
  const known = (names ?? Object.keys(document)).filter((name) => Object.hasOwn(document, name));
  const [first, ...others] = known;
  if (first === undefined)
    throw buildFieldError(param, names ? 'has none of "rank_fields"' : 'is empty', 'an object with "text"');
  if (names && others.length === 0) return writeValue(document[first]);
  return known.map((name) => `${name}: ${writeValue(document[name])}`).join('\n');
}

/** What Cohere, Amazon and Google call a search: a query with so many documents. */
const documentsPerSearch = 100;
/** Cohere and Amazon count a document as several if it is longer than this, the query included. */
const tokensPerDocument = 500;
/** Cohere cuts longer documents if a call does not say otherwise. */
const usualMaxTokens = 4096;

type Asked = Pick<RerankAsk, 'query' | 'texts' | 'maxTokens'>;

export function toSearches(documents: number): number {
  return Math.ceil(documents / documentsPerSearch);
}

function countSearches({ query, texts, maxTokens = usualMaxTokens }: Asked, bytesPerToken: number): number {
  const room = Math.max(tokensPerDocument / 2, tokensPerDocument - Buffer.byteLength(query) / bytesPerToken);
  let count = 0;
  for (const text of texts) {
    const tokens = Math.min(Buffer.byteLength(text) / bytesPerToken, maxTokens);
    count += Math.max(1, Math.ceil(tokens / room));
  }
  return toSearches(count);
}

/** The searches that a call may be charged for: no tokeniser makes more tokens than bytes. */
export function boundSearches(asked: Asked): Fee {
  const [most, expected] = [countSearches(asked, 1), countSearches(asked, 4)];
  return { name: 'search', field: 'documents', most, expected, spared: true };
}

/** Vendors that bill tokens count the query once with each document. */
export function measureTexts({ query, texts }: Asked): InputSize {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const textBytes = bytes + Buffer.byteLength(query) * texts.length;
  return { textBytes, images: 0, mediaBytes: 0, items: texts.length };
}

/** Searches, unless the vendor bills tokens. Some servers write 0 for what they do not count. */
export function buildUsage(tokens: number | undefined, searches?: number): Usage | undefined {
  if (tokens) return { input: tokens, output: 0 };
  return searches ? { input: 0, output: 0, search: searches } : undefined;
}

const toBroken = (what: string): GatewayError =>
  new GatewayError('upstream_failed', `The provider sent scores ${what}.`);

/** Reads a vendor's list. Throws if an item has no place or no score. */
export function readResults(list: unknown): Result[] {
  if (!Array.isArray(list)) throw toBroken('that could not be read');
  return list.map((item) => {
    const { index, id = index, relevance_score: score, score: other = score } = readObject(item);
    const place = typeof id === 'string' && id !== '' ? Number(id) : id;
    if (toCount(place) === undefined || !Number.isFinite(other)) throw toBroken('that could not be read');
    return { index: Number(place), score: Number(other) };
  });
}

/** Joins the results of lists of documents that were scored one by one, the best first. */
export function joinResults(answers: readonly (readonly Result[])[], ask: RerankAsk): readonly Result[] {
  const { documents, count } = ask;
  if (answers.length === 0) return [];
  let before = 0;
  const joined: Result[] = [];
  for (const results of answers) {
    for (const { index, score } of results) joined.push({ index: index + before, score });
    before += results.length;
  }
  const scored = new Set(joined.map(({ index }) => index));
  const isWhole =
    scored.size === joined.length && scored.size >= (answers.length > 1 ? documents.length : count);
  if (!isWhole || joined.some(({ index }) => index >= documents.length)) throw toBroken('of other documents');
  return joined.toSorted((one, other) => other.score - one.score).slice(0, count);
}
