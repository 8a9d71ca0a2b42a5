/**
 * Facts of a reply in both directions: token counts, finish reasons, log probabilities, and sources. The
 * candidates' count of tokens excludes thoughts, the prompt's count excludes the input of Google's own tools,
 * and zeros are omitted. The total includes everything. Each chunk holds the counts so far.
 */
import {
  toCount,
  type Usage,
  type FinishReason,
  type EventOf,
  GatewayError,
  type Annotation,
} from '../../../core/index.ts';
import { encodeModalities, readModality } from '../../shared/google/modalities.ts';
import { considerCalls, readFinish, type CallsSeen } from '../../shared/vendors/finish-reason.ts';
import { longestPassages, type Transcript } from '../../shared/wire-kit/transcript.ts';
import {
  keepKnown,
  readObjects,
  readList,
  readMember,
  readObject,
  readText,
} from '../../shared/wire-kit/values.ts';
import { type Fields, splitNames, isObject } from '../../shared/wire-kit/vendor-bag.ts';

function addCounts(...counts: readonly (number | undefined)[]): number | undefined {
  return counts.every((count) => count === undefined)
    ? undefined
    : counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

function readOutput(wire: Fields, prompt: number | undefined): number | undefined {
  const listed = addCounts(toCount(wire.candidatesTokenCount), toCount(wire.thoughtsTokenCount));
  const total = toCount(wire.totalTokenCount);
  if (total === undefined || prompt === undefined) return listed;
  return Math.max(listed ?? 0, total - prompt);
}

/** Fields that hold the counts. Other fields, such as the counts by modality, are kept unchanged. */
export const countFields = splitNames(`
  promptTokenCount cachedContentTokenCount candidatesTokenCount toolUsePromptTokenCount thoughtsTokenCount
  totalTokenCount
`);

/** If there are counts by modality, an omitted count is zero, since clients expect both together. */
function readWithMedia(media: readonly (number | undefined)[], count: unknown): number | undefined {
  return toCount(count) ?? (media.some((known) => known !== undefined) ? 0 : undefined);
}

/** Returns undefined if `wire` holds no counts. */
export function decodeUsage(wire: Fields): Usage | undefined {
  const toolPrompt = toCount(wire.toolUsePromptTokenCount);
  const input = addCounts(toCount(wire.promptTokenCount), toolPrompt);
  const [inputAudio, inputImage] = ['AUDIO', 'IMAGE'].map((name) =>
    readModality(wire.promptTokensDetails, name),
  );
  const [outputAudio, outputImage] = ['AUDIO', 'IMAGE'].map((name) =>
    readModality(wire.candidatesTokensDetails, name),
  );
  return keepKnown({
    input,
    cacheRead: readWithMedia([inputAudio, inputImage], wire.cachedContentTokenCount),
    cacheReadAudio: readModality(wire.cacheTokensDetails, 'AUDIO'),
    inputAudio,
    inputImage,
    toolPrompt,
    output: readOutput(wire, input),
    reasoning: readWithMedia([outputAudio, outputImage], wire.thoughtsTokenCount),
    outputAudio,
    outputImage,
  });
}

/** `vendorFields` are the fields besides the counts, from a provider of this protocol. */
export function encodeUsage(usage: Usage, vendorFields: Fields): Fields {
  const { input, output, reasoning, toolPrompt } = usage;
  const prompt = input === undefined ? undefined : Math.max(0, input - (toolPrompt ?? 0));
  const candidates = output === undefined ? undefined : Math.max(0, output - (reasoning ?? 0));
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: usage.cacheRead,
    candidatesTokenCount: candidates,
    toolUsePromptTokenCount: toolPrompt,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input === undefined || output === undefined ? undefined : input + output,
    promptTokensDetails: encodeModalities(prompt, { IMAGE: usage.inputImage, AUDIO: usage.inputAudio }),
    candidatesTokensDetails: encodeModalities(candidates, {
      IMAGE: usage.outputImage,
      AUDIO: usage.outputAudio,
    }),
    ...vendorFields,
  };
}

const ownWords = splitNames(`
  STOP MAX_TOKENS SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT
  IMAGE_RECITATION MODEL_ARMOR JAILBREAK CONTINUATION LANGUAGE OTHER MALFORMED_FUNCTION_CALL
  MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS IMAGE_OTHER NO_IMAGE
`);

/**
 * Gemini sends `STOP` after a tool call too, so only the content shows whether tools were called. A cut,
 * filtered or failed reply keeps its reason, since a call in it may be broken.
 */
export function decodeFinish(raw: string, calls: CallsSeen): FinishReason {
  // Only `STOP` is an end that the model chose. An unknown reason is read as a reply that broke off.
  return considerCalls(ownWords.has(raw) ? readFinish(raw) : 'error', calls);
}

const wireReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'context-length': 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
  refusal: 'SAFETY',
  // Claude's `pause_turn` asks the client to continue the turn. This protocol has no such reason.
  pause: 'MAX_TOKENS',
  error: 'OTHER',
  other: 'OTHER',
};

/** Returns the vendor's own reason if this protocol has it with the same meaning. */
export function encodeFinish({ unified, raw }: EventOf<'finish'>['reason']): string {
  return ownWords.has(raw) && readFinish(raw) === unified ? raw : wireReasons[unified];
}

/**
 * This protocol has two parallel lists, of chosen tokens and of alternatives. The canonical form has one list
 * of tokens, each with its alternatives.
 */
function decodeToken(candidate: unknown): Fields {
  const { token, logProbability } = readObject(candidate);
  const text = readText(token);
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  };
}

export function decodeLogprobs(result: Fields): Fields[] {
  const alternatives = readList(result.topCandidates);
  return readList(result.chosenCandidates).map((chosen, index) => ({
    ...decodeToken(chosen),
    top_logprobs: readList(readMember(alternatives[index], 'candidates')).map(decodeToken),
  }));
}

function encodeToken(value: unknown): Fields {
  const { token, logprob } = readObject(value);
  return { token, logProbability: logprob };
}

export function encodeLogprobs(content: readonly unknown[]): Fields {
  return {
    chosenCandidates: content.map(encodeToken),
    topCandidates: content.map((each) => ({
      candidates: readList(readMember(each, 'top_logprobs')).map(encodeToken),
    })),
  };
}

/**
 * Maps characters to bytes of UTF-8 and back, in tables, since a text may have thousands of passages. Google
 * counts positions in bytes, canonical annotations count characters of the entire answer.
 */
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
  const cited = readObjects(metadata.citationSources ?? metadata.citations);
  if (cited.length === 0) return [];
  const places = new BytePositions(answer.transcript.text);
  return cited.map((citation) => ({
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
