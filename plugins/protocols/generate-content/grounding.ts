/**
 * Converts the sources of an answer, in both directions. Google counts positions in bytes of UTF-8, and lists
 * sources separately from the passages that they support. Canonical annotations count characters of the
 * entire answer, and each names its source.
 */
import { GatewayError, type Annotation } from '../../../core/index.ts';
import { longestPassages, type Transcript } from '../../shared/wire-kit/transcript.ts';
import { readList, readMember, readObject, readObjects, readText } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

/** Maps characters to bytes of UTF-8 and back, in tables, since a text may have thousands of passages. */
class BytePositions {
  readonly #bytes: Uint32Array;
  readonly #characters: Uint32Array;

  constructor(text: string) {
    const bytes = Buffer.from(text);
    this.#bytes = new Uint32Array(text.length + 1);
    this.#characters = new Uint32Array(bytes.length + 1);
    let characters = 0;
    for (const [at, byte] of bytes.entries()) {
      this.#characters[at] = characters;
      // A continuation byte belongs to the character before it. A character of four bytes is two UTF-16
      // units.
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

  toByte(character: number): number {
    return this.#bytes[Math.min(character, this.#bytes.length - 1)] ?? 0;
  }

  toCharacter(byte: number): number {
    return this.#characters[Math.min(Math.max(0, Math.trunc(byte)), this.length)] ?? 0;
  }
}

/** The text of an answer so far, and the positions at which its parts begin. */
export interface Answer {
  readonly transcript: Transcript;
  readonly starts: number[];
}

/** The most positions of parts that are kept. Citations of later parts have no position. */
export const mostParts = 10_000;

/** Converts bytes of a part to characters of the answer. Returns `{}` for bytes beyond the kept text. */
function locate(
  segment: Fields,
  { transcript, starts }: Answer,
  places: BytePositions,
): { start?: number; end?: number } {
  const { partIndex, startIndex = 0, endIndex } = segment;
  if (typeof startIndex !== 'number' || typeof endIndex !== 'number') return {};
  const base = places.toByte(starts[typeof partIndex === 'number' ? partIndex : 0] ?? 0);
  if (!transcript.whole && base + endIndex > places.length) return {};
  return { start: places.toCharacter(base + startIndex), end: places.toCharacter(base + endIndex) };
}

function readSource(chunk: Fields | undefined): Pick<Annotation, 'kind' | 'url' | 'title'> | undefined {
  const found = chunk?.web ?? chunk?.retrievedContext ?? chunk?.maps;
  if (!isObject(found)) return undefined;
  return { kind: 'url', url: readText(found.uri) || undefined, title: readText(found.title) || undefined };
}

/** The most sources of all passages. Each becomes an annotation; real replies have few. */
const mostSources = 10_000;

/** Throws `upstream_failed` if the passages name too many sources. */
export function decodeGrounding(metadata: Fields, answer: Answer): Annotation[] {
  const chunks = readObjects(metadata.groundingChunks);
  const supports = readObjects(metadata.groundingSupports);
  if (supports.length === 0) return chunks.flatMap((chunk) => readSource(chunk) ?? []);
  const places = new BytePositions(answer.transcript.text);
  let named = 0;
  return supports.flatMap((support) => {
    const segment = readObject(support.segment);
    const distinct = [...new Set(readList(support.groundingChunkIndices))];
    named += distinct.length;
    if (named > mostSources)
      throw new GatewayError('upstream_failed', 'The provider sent a reply that names too many sources.');
    const at = { ...locate(segment, answer, places), citedText: readText(segment.text) || undefined };
    return distinct.flatMap((index): Annotation[] => {
      const from = readSource(chunks[Number(index)]);
      return from ? [{ ...from, ...at }] : [];
    });
  });
}

/** Decodes citations of passages that repeat published text. */
export function decodeCitations(metadata: Fields, answer: Answer): Annotation[] {
  const places = new BytePositions(answer.transcript.text);
  return readObjects(metadata.citationSources ?? metadata.citations).map((citation) => ({
    kind: 'url',
    url: readText(citation.uri) || undefined,
    title: readText(citation.title) || undefined,
    ...locate(citation, answer, places),
  }));
}

/** Whether a source has a URL. This protocol has no other sources. */
export function isCited({ kind, url }: Annotation): boolean {
  return kind === 'url' && url !== undefined;
}

/** Encodes annotations of any vendor as sources and passages. */
export function encodeGrounding(annotations: readonly Annotation[], text: string): Fields | undefined {
  const cited = annotations.filter(isCited);
  if (cited.length === 0) return undefined;
  const chunks = new Map(
    cited.map(({ url, title }) => [JSON.stringify([url, title]), { web: { uri: url, title } }]),
  );
  const places = new Map([...chunks.keys()].map((key, index) => [key, index]));
  const bytes = new BytePositions(text);
  let left = longestPassages;
  const supports = cited.flatMap(({ url, title, start, end }) => {
    if (start === undefined || end === undefined || start > text.length) return [];
    const passage = text.slice(start, end);
    left -= passage.length;
    const segment = {
      startIndex: bytes.toByte(start),
      endIndex: bytes.toByte(end),
      ...(left < 0 ? {} : { text: passage }),
    };
    return [{ segment, groundingChunkIndices: [places.get(JSON.stringify([url, title]))] }];
  });
  return {
    groundingChunks: [...chunks.values()],
    ...(supports.length > 0 ? { groundingSupports: supports } : {}),
  };
}

/** The most queries that are counted in one reply. Real replies have few. */
const mostQueries = 2000;

/**
 * Counts the web searches of a reply for billing. Google bills each query of Gemini 3, and bills older models
 * once per call that searched. A chunk may repeat queries of earlier chunks. In a call that
 * also offers functions, the `toolCall` parts have the queries, too.
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

  /** Adds the queries of a candidate. */
  note({ groundingMetadata: grounding, content }: Fields): void {
    this.#add(readMember(grounding, 'webSearchQueries'));
    for (const { toolCall: call } of readObjects(readMember(content, 'parts')))
      if (isObject(call) && call.toolType === 'GOOGLE_SEARCH_WEB')
        this.#add(readMember(call.args, 'queries'));
  }

  #add(queries: unknown): void {
    for (const query of readList(queries).map(readText))
      if (query !== '' && this.#queries.size < mostQueries) this.#queries.add(query);
  }
}
