/**
 * Where an answer comes from. Google counts places in bytes of UTF-8 and keeps sources apart from the passages they
 * support; canonical annotations count characters of the whole answer, each with its source.
 */
import { GatewayError, type CanonicalEvent } from '../../../core/index.ts';
import type { Transcript } from '../../shared/transcript.ts';
import { isObject, type Fields } from '../../shared/vendor-bag.ts';

export type Annotation = Extract<CanonicalEvent, { type: 'annotation' }>['annotation'];

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Characters in the first `bytes` bytes of a text. */
function charactersIn(text: string, bytes: number): number {
  return Buffer.from(text).toString('utf8', 0, bytes).length;
}

/** The text of an answer so far, and where its parts begin in it. */
export interface Answer {
  readonly said: Transcript;
  readonly starts: number[];
}

/** Parts of an answer that a citation can name: of a stream of very many no more are kept. */
export const mostParts = 10_000;

/** A place in the answer, from bytes of one of its parts; a start that is not told is 0. Beyond what is kept there is none. */
function place(segment: Fields, { said, starts }: Answer): { start?: number; end?: number } {
  const { partIndex, startIndex = 0, endIndex } = segment;
  if (typeof startIndex !== 'number' || typeof endIndex !== 'number') return {};
  const base = starts[typeof partIndex === 'number' ? partIndex : 0] ?? 0;
  const part = said.text.slice(base);
  if (!said.whole && endIndex > Buffer.byteLength(part)) return {};
  return { start: base + charactersIn(part, startIndex), end: base + charactersIn(part, endIndex) };
}

function source(chunk: Fields | undefined): Pick<Annotation, 'kind' | 'url' | 'title'> | undefined {
  const found = chunk?.['web'] ?? chunk?.['retrievedContext'] ?? chunk?.['maps'];
  if (!isObject(found)) return undefined;
  return { kind: 'url', url: word(found['uri']), title: word(found['title']) };
}

/** Sources that the passages of a reply may have together. Each becomes an annotation that names its address again, and no honest reply has a hundredth of these. */
const mostSources = 10_000;

/** Throws `upstream_failed` where there are more sources than any reply has. */
export function decodeGrounding(metadata: Fields, answer: Answer): Annotation[] {
  const chunks = list(metadata['groundingChunks']);
  const supports = list(metadata['groundingSupports']);
  if (supports.length === 0) return chunks.flatMap((chunk) => source(chunk) ?? []);
  let told = 0;
  return supports.flatMap((support) => {
    const segment = isObject(support['segment']) ? support['segment'] : {};
    const indices: unknown[] = Array.isArray(support['groundingChunkIndices']) ? support['groundingChunkIndices'] : [];
    const distinct = [...new Set(indices)];
    told += distinct.length;
    if (told > mostSources) throw new GatewayError('upstream_failed', 'The provider sent a reply that names too many sources.');
    const at = { ...place(segment, answer), citedText: word(segment['text']) };
    return distinct.flatMap((index): Annotation[] => {
      const from = source(chunks[Number(index)]);
      return from ? [{ ...from, ...at }] : [];
    });
  });
}

/** Passages that repeat what can be found elsewhere. */
export function decodeCitations(metadata: Fields, answer: Answer): Annotation[] {
  return list(metadata['citationSources'] ?? metadata['citations']).map((citation) => ({
    kind: 'url',
    url: word(citation['uri']),
    title: word(citation['title']),
    ...place(citation, answer),
  }));
}

/** Whether a source has an address: this wire has no others. */
export function isCited({ kind, url }: Annotation): boolean {
  return kind === 'url' && url !== undefined;
}

/** Annotations of any vendor as sources and the passages they support. */
export function encodeGrounding(annotations: readonly Annotation[], text: string): Fields | undefined {
  const cited = annotations.filter(isCited);
  if (cited.length === 0) return undefined;
  const chunks = new Map(cited.map(({ url, title }) => [JSON.stringify([url, title]), { web: { uri: url, title } }]));
  const places = new Map([...chunks.keys()].map((key, index) => [key, index]));
  const supports = cited.flatMap(({ url, title, start, end }) => {
    if (start === undefined || end === undefined || start > text.length) return [];
    const segment = { startIndex: Buffer.byteLength(text.slice(0, start)), endIndex: Buffer.byteLength(text.slice(0, end)), text: text.slice(start, end) };
    return [{ segment, groundingChunkIndices: [places.get(JSON.stringify([url, title]))] }];
  });
  return { groundingChunks: [...chunks.values()], ...(supports.length > 0 ? { groundingSupports: supports } : {}) };
}

/** Queries of one reply that are kept: more searches are believed of nobody. */
const mostQueries = 2000;

/** The searches of the web that a reply tells of. Google charges for each query, and a chunk may say those of earlier ones again. */
export class Searches {
  readonly #queries = new Set<string>();

  get count(): number {
    return this.#queries.size;
  }

  /** Passed a candidate's `groundingMetadata`, if there is any. */
  note(grounding: unknown): void {
    const queries = isObject(grounding) ? grounding['webSearchQueries'] : undefined;
    if (!Array.isArray(queries)) return;
    for (const query of queries) if (word(query) && this.#queries.size < mostQueries) this.#queries.add(query);
  }
}
