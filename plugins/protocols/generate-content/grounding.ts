/**
 * Where an answer comes from. Google counts places in bytes of UTF-8 and keeps sources apart from the passages they
 * support; canonical annotations count characters of the whole answer, each with its source.
 */
import { GatewayError, type CanonicalEvent } from '../../../core/index.ts';
import { longestPassages, type Transcript } from '../../shared/wire-kit/transcript.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

export type Annotation = Extract<CanonicalEvent, { type: 'annotation' }>['annotation'];

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Where the characters of a text begin in its UTF-8, and the other way round. Counted once, since a text may have thousands of passages. */
class BytePlaces {
  /** By characters. */
  readonly #bytes: Uint32Array;
  /** By bytes. */
  readonly #characters: Uint32Array;

  constructor(text: string) {
    const bytes = Buffer.from(text);
    this.#bytes = new Uint32Array(text.length + 1);
    this.#characters = new Uint32Array(bytes.length + 1);
    let characters = 0;
    for (const [at, byte] of bytes.entries()) {
      this.#characters[at] = characters;
      // What is no first byte belongs to the character before it. What takes four bytes is two characters to us.
      if ((byte & 0xc0) === 0x80) continue;
      this.#bytes[characters] = at;
      characters += byte >= 0xf0 ? 2 : 1;
      if (byte >= 0xf0) this.#bytes[characters - 1] = at;
    }
    this.#bytes[characters] = bytes.length;
    this.#characters[bytes.length] = characters;
  }

  get length(): number {
    return this.#characters.length - 1;
  }

  byteAt(character: number): number {
    return this.#bytes[Math.min(character, this.#bytes.length - 1)] ?? 0;
  }

  characterAt(byte: number): number {
    return this.#characters[Math.min(Math.max(0, Math.trunc(byte)), this.length)] ?? 0;
  }
}

/** The text of an answer so far, and where its parts begin in it. */
export interface Answer {
  readonly said: Transcript;
  readonly starts: number[];
}

/** Parts of an answer that a citation can name: of a stream of very many no more are kept. */
export const mostParts = 10_000;

/** A place in the answer, from bytes of one of its parts; a start that is not told is 0. Beyond what is kept there is none. */
function place(
  segment: Fields,
  { said, starts }: Answer,
  places: BytePlaces,
): { start?: number; end?: number } {
  const { partIndex, startIndex = 0, endIndex } = segment;
  if (typeof startIndex !== 'number' || typeof endIndex !== 'number') return {};
  const base = places.byteAt(starts[typeof partIndex === 'number' ? partIndex : 0] ?? 0);
  if (!said.whole && base + endIndex > places.length) return {};
  return { start: places.characterAt(base + startIndex), end: places.characterAt(base + endIndex) };
}

function source(chunk: Fields | undefined): Pick<Annotation, 'kind' | 'url' | 'title'> | undefined {
  const found = chunk?.web ?? chunk?.retrievedContext ?? chunk?.maps;
  if (!isObject(found)) return undefined;
  return { kind: 'url', url: word(found.uri), title: word(found.title) };
}

/** Sources that the passages of a reply may have together. Each becomes an annotation that names its address again, and no honest reply has a hundredth of these. */
const mostSources = 10_000;

/** Throws `upstream_failed` where there are more sources than any reply has. */
export function decodeGrounding(metadata: Fields, answer: Answer): Annotation[] {
  const chunks = list(metadata.groundingChunks);
  const supports = list(metadata.groundingSupports);
  if (supports.length === 0) return chunks.flatMap((chunk) => source(chunk) ?? []);
  const places = new BytePlaces(answer.said.text);
  let told = 0;
  return supports.flatMap((support) => {
    const segment = isObject(support.segment) ? support.segment : {};
    const indices: unknown[] = Array.isArray(support.groundingChunkIndices)
      ? support.groundingChunkIndices
      : [];
    const distinct = [...new Set(indices)];
    told += distinct.length;
    if (told > mostSources)
      throw new GatewayError('upstream_failed', 'The provider sent a reply that names too many sources.');
    const at = { ...place(segment, answer, places), citedText: word(segment.text) };
    return distinct.flatMap((index): Annotation[] => {
      const from = source(chunks[Number(index)]);
      return from ? [{ ...from, ...at }] : [];
    });
  });
}

/** Passages that repeat what can be found elsewhere. */
export function decodeCitations(metadata: Fields, answer: Answer): Annotation[] {
  const places = new BytePlaces(answer.said.text);
  return list(metadata.citationSources ?? metadata.citations).map((citation) => ({
    kind: 'url',
    url: word(citation.uri),
    title: word(citation.title),
    ...place(citation, answer, places),
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
  const chunks = new Map(
    cited.map(({ url, title }) => [JSON.stringify([url, title]), { web: { uri: url, title } }]),
  );
  const places = new Map([...chunks.keys()].map((key, index) => [key, index]));
  const bytes = new BytePlaces(text);
  let left = longestPassages;
  const supports = cited.flatMap(({ url, title, start, end }) => {
    if (start === undefined || end === undefined || start > text.length) return [];
    const passage = text.slice(start, end);
    left -= passage.length;
    const segment = {
      startIndex: bytes.byteAt(start),
      endIndex: bytes.byteAt(end),
      ...(left < 0 ? {} : { text: passage }),
    };
    return [{ segment, groundingChunkIndices: [places.get(JSON.stringify([url, title]))] }];
  });
  return {
    groundingChunks: [...chunks.values()],
    ...(supports.length > 0 ? { groundingSupports: supports } : {}),
  };
}

/** Queries of one reply that are kept: more searches are believed of nobody. */
const mostQueries = 2000;

/**
 * The searches of the web that a reply is billed for. Google bills each query of Gemini 3, and older models once for a
 * call that searched. A chunk may repeat the queries of earlier ones.
 */
export class Searches {
  readonly #queries = new Set<string>();
  readonly #once: boolean;

  constructor(once: boolean) {
    this.#once = once;
  }

  get count(): number {
    return this.#once ? Math.min(1, this.#queries.size) : this.#queries.size;
  }

  /** Passed a candidate's `groundingMetadata`, if there is any. */
  note(grounding: unknown): void {
    const queries = isObject(grounding) ? grounding.webSearchQueries : undefined;
    if (!Array.isArray(queries)) return;
    for (const query of queries)
      if (word(query) && this.#queries.size < mostQueries) this.#queries.add(query);
  }
}
