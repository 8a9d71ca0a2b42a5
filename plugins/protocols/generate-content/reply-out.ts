/**
 * Encodes canonical events as a client's stream of chunks: data frames, or elements of one JSON array. Only
 * the last chunk has finish reasons, so a client that receives one has the complete reply. It also has the
 * function calls.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventEncoder,
  type ReplyContext,
  type Usage,
  type EventOf,
  type Opaque,
  type Annotation,
} from '../../../core/index.ts';
import { buildErrorBody } from '../../shared/google/errors.ts';
import { codeResult } from '../../shared/wire-kit/hosted-tools.ts';
import { loseForeignFields } from '../../shared/wire-kit/losses.ts';
import { parseArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { longestCited, Transcript } from '../../shared/wire-kit/transcript.ts';
import { type Fields, isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName, writeSignature } from './encoding.ts';
import { encodeUsage, encodeFinish, encodeGrounding, isCited, encodeLogprobs } from './reply-facts.ts';

export class ChunkEncoder implements EventEncoder {
  readonly #context: ReplyContext;
  readonly #parts: ReplyParts;
  /**
   * Each candidate's function calls and what follows them, for the last chunk. Python's google-genai 1.x runs
   * only the calls that it finds there.
   */
  readonly #held = new Map<number, Fields[]>();
  /** The end of every chunk as JSON, until there are new facts about the reply. */
  #tail: string | undefined;
  #begun = false;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#parts = new ReplyParts(context, true);
  }

  push(event: CanonicalEvent): string {
    const { type } = event;
    if (type === 'response-end') return this.#encodeLast();
    if (type === 'error')
      return encodeStreamError(
        new GatewayError('upstream_failed', event.message),
        this.#context.call,
        this.#begun,
      );
    if (type === 'response-start' || type === 'usage') this.#tail = undefined;
    const parts = this.#parts.push(event);
    if (parts.length === 0 || !('candidate' in event)) return '';
    if (this.#hold(event.candidate, parts)) return '';
    return this.#encodeChunk('candidates', [{ content: { parts, role: 'model' }, index: event.candidate }]);
  }

  #hold(candidate: number, parts: readonly Fields[]): boolean {
    const held = this.#held.get(candidate);
    if (held) for (const part of parts) held.push(part);
    else if (parts.some((part) => 'functionCall' in part)) this.#held.set(candidate, [...parts]);
    else return false;
    return true;
  }

  #encodeChunk(name: 'candidates' | 'promptFeedback', value: unknown): string {
    this.#tail ??= JSON.stringify(this.#parts.buildTail()).slice(1);
    const json = `{"${name}":${JSON.stringify(value)},${this.#tail}`;
    const before = this.#begun ? separator : opening;
    this.#begun = true;
    return this.#context.call.framing === 'array' ? before + json : encodeFrame(json);
  }

  #encodeLast(): string {
    const { endings, promptFeedback } = this.#parts;
    const candidates = [...endings].map(([index, ending]) => ({
      content: { parts: this.#held.get(index) ?? [{ text: '' }], role: 'model' },
      ...ending,
      index,
    }));
    const chunk =
      promptFeedback === undefined
        ? this.#encodeChunk('candidates', candidates)
        : this.#encodeChunk('promptFeedback', promptFeedback);
    return this.#context.call.framing === 'array' ? chunk + closing : chunk;
  }
}

const opening = '[';
const separator = ',\r\n';
const closing = ']';

function encodeFrame(json: string): string {
  return `data: ${json}\r\n\r\n`;
}

/** Encodes a chunk with the error, and closes an array. Without a finish reason, the reply looks broken. */
export function encodeStreamError(error: GatewayError, { framing }: ClientCall, begun: boolean): string {
  const json = JSON.stringify(buildErrorBody(error));
  if (framing !== 'array') return encodeFrame(json);
  return (begun ? separator : opening) + json + closing;
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const parts = new ReplyParts(context, false);
  const contents = new Map<number, Fields[]>();
  for (const event of events) {
    const added = parts.push(event);
    if (!('candidate' in event)) continue;
    const content = contents.get(event.candidate) ?? [];
    contents.set(event.candidate, content);
    for (const part of added) content.push(part);
  }
  const tail = parts.buildTail();
  if (parts.promptFeedback !== undefined) return { promptFeedback: parts.promptFeedback, ...tail };
  const candidates = [...contents]
    .toSorted(([first], [second]) => first - second)
    // Clients send the content back, and Google refuses one without parts.
    .map(([index, all]) => ({
      content: { parts: all.length > 0 ? all : [{ text: '' }], role: 'model' },
      ...parts.endings.get(index),
      index,
    }));
  return { candidates, ...tail };
}

interface Candidate {
  readonly transcript: Transcript;
  readonly annotations: Annotation[];
  readonly logprobs: unknown[];
  refused: boolean;
}

interface OpenBlock {
  readonly start: EventOf<'block-start'>;
  readonly from: number;
  /** Citations without a position. They cover the entire block. */
  readonly pendingCitations: Annotation[];
  readonly transcript: Transcript;
}

/**
 * Encodes canonical events as parts of a candidate's content, and collects the fields of its end. For a
 * stream, text becomes a part as it arrives; for a JSON reply, each block becomes one part.
 */
class ReplyParts {
  readonly #context: ReplyContext;
  /** Whether text is sent piece by piece. */
  readonly #streamed: boolean;
  /** Whether the client requested no thoughts. */
  readonly #hidesThoughts: boolean;
  /** Whether sealed state has a use: it must come back with the results of tools. */
  readonly #keepsSeals: boolean;
  readonly #candidates = new Map<number, Candidate>();
  readonly #blocks = new Map<number, OpenBlock>();
  #start: EventOf<'response-start'> | undefined;
  #usage: Usage = {};
  #usageMetadata: Fields | undefined;
  /** The fields of each finished candidate, except its content. */
  readonly endings = new Map<number, Fields>();
  /** Set if the provider refused the prompt. There are no candidates then. */
  promptFeedback: unknown;

  constructor(context: ReplyContext, streamed: boolean) {
    this.#context = context;
    this.#streamed = streamed;
    this.#hidesThoughts = context.call.reasoningWanted === false;
    this.#keepsSeals = !this.#hidesThoughts || Boolean(context.call.decode().tools?.length);
  }

  /** Builds the fields that every chunk and reply ends with, including those that the vendor added. */
  buildTail(): Fields {
    const { id, model } = this.#context;
    return {
      ...(this.#usageMetadata ? { usageMetadata: this.#usageMetadata } : {}),
      modelVersion: model,
      ...bag.getFields(this.#start),
      responseId: id,
    };
  }

  /** Returns the parts that an event adds to its candidate's content. */
  push(event: CanonicalEvent): Fields[] {
    switch (event.type) {
      case 'response-start':
        this.#start = event;
        loseForeignFields(this.#context, event, protocolName);
        return [];
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        this.#usageMetadata = encodeUsage(this.#usage, bag.getFields(event));
        return [];
      case 'block-delta':
        return this.#add(event);
      case 'block-start':
        this.#blocks.set(event.block, {
          start: event,
          from: this.#ensureCandidate(event.candidate).transcript.length,
          pendingCitations: [],
          transcript: new Transcript(),
        });
        if (event.kind === 'refusal') this.#ensureCandidate(event.candidate).refused = true;
        return [];
      case 'block-end':
        return this.#end(event);
      case 'annotation':
        this.#cite(event);
        return [];
      case 'logprobs':
        for (const each of event.content) this.#ensureCandidate(event.candidate).logprobs.push(each);
        return [];
      case 'finish':
        this.#finish(event);
        return [];
      default:
        return [];
    }
  }

  #ensureCandidate(index: number): Candidate {
    const known = this.#candidates.get(index);
    if (known) return known;
    const candidate: Candidate = {
      transcript: new Transcript(longestCited),
      annotations: [],
      logprobs: [],
      refused: false,
    };
    this.#candidates.set(index, candidate);
    return candidate;
  }

  #cite({ candidate, block: number, annotation }: EventOf<'annotation'>): void {
    const block = this.#blocks.get(number);
    if (block && annotation.start === undefined) block.pendingCitations.push(annotation);
    else this.#ensureCandidate(candidate).annotations.push(annotation);
  }

  #add({ candidate, block: number, text, vendor = {} }: EventOf<'block-delta'>): Fields[] {
    const block = this.#blocks.get(number);
    if (!block) return [];
    const { kind } = block.start;
    if (kind === 'text' || kind === 'refusal') this.#ensureCandidate(candidate).transcript.add(text);
    if (kind === 'audio' && Object.values(vendor).some(({ transcript }) => transcript))
      this.#context.reportLoss?.(
        'audio.transcript',
        'generate-content has no field for the transcript of audio',
      );
    const isText = kind === 'text' || kind === 'refusal' || (kind === 'reasoning' && !this.#hidesThoughts);
    if (isText && this.#streamed) return text === '' ? [] : [markThought(kind, { text })];
    block.transcript.add(text);
    return [];
  }

  #end({ block: number, opaque = [] }: EventOf<'block-end'>): Fields[] {
    const block = this.#blocks.get(number);
    if (!block) return [];
    this.#blocks.delete(number);
    const { start, from, pendingCitations } = block;
    const { text } = block.transcript;
    const { annotations, transcript: answer } = this.#ensureCandidate(start.candidate);
    for (const annotation of pendingCitations)
      annotations.push({ ...annotation, start: from, end: answer.length });
    switch (start.kind) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        return this.#endSpeech(start.kind, text, opaque);
      case 'tool-call':
        return addSeals([encodeCall(start, text)], opaque);
      case 'image':
      case 'audio':
        return addSeals(encodeMedia(start.kind, start, text), opaque);
      case 'code':
        return addSeals(
          [{ executableCode: { language: 'PYTHON', ...bag.getFields(start), code: text } }],
          opaque,
        );
      case 'server-tool': {
        const { part } = bag.getFields(start);
        if (isObject(part)) return [part];
        if (start.name === codeResult)
          return [{ codeExecutionResult: { outcome: 'OUTCOME_OK', output: text } }];
        this.#context.reportLoss?.('server-tool', 'generate-content has no part for it');
        return [];
      }
    }
  }

  /** A seal covers its text, so hidden thoughts lose both. */
  #endSpeech(kind: string, text: string, opaque: readonly Opaque[]): Fields[] {
    const hidden = kind === 'reasoning' && this.#hidesThoughts && (text !== '' || !this.#keepsSeals);
    if (hidden && opaque.length > 0)
      this.#context.reportLoss?.('reasoning', 'the request hides the thoughts that are sealed here');
    return hidden
      ? []
      : addSeals(text === '' ? [] : [{ text }], opaque).map((part) => markThought(kind, part));
  }

  #finish(event: EventOf<'finish'>): void {
    const { candidate: index, reason, vendor } = event;
    loseForeignFields(this.#context, event, protocolName);
    if (reason.unified === 'pause' && encodeFinish(reason) !== reason.raw)
      this.#context.reportLoss?.(
        'finish',
        'generate-content has no finish reason for a paused turn; sent as "MAX_TOKENS"',
      );
    const { promptFeedback, ...extras } = bag.getFields({ vendor });
    if (promptFeedback !== undefined) {
      this.promptFeedback = promptFeedback;
      return;
    }
    const {
      annotations,
      logprobs,
      refused,
      transcript: { text },
    } = this.#ensureCandidate(index);
    const hasOwnSources = 'groundingMetadata' in extras || 'citationMetadata' in extras;
    const grounding = hasOwnSources ? undefined : encodeGrounding(annotations, text);
    if (!hasOwnSources && !annotations.every(isCited))
      this.#context.reportLoss?.('annotations', 'generate-content only cites web pages');
    if (!hasOwnSources && annotations.some(({ start = 0 }) => start > text.length))
      this.#context.reportLoss?.('annotations.start', 'the answer is too long to locate all its citations');
    this.endings.set(index, {
      finishReason: encodeFinish(
        refused && reason.unified === 'stop' ? { unified: 'refusal', raw: '' } : reason,
      ),
      ...extras,
      ...(grounding ? { groundingMetadata: grounding } : {}),
      ...(logprobs.length > 0 ? { logprobsResult: encodeLogprobs(logprobs) } : {}),
    });
  }
}

function markThought(kind: string, part: Fields): Fields {
  return kind === 'reasoning' ? { ...part, thought: true } : part;
}

const defaultTypes = { image: 'image/png', audio: 'audio/wav' } as const;

/** A picture may be a link, and audio a transcript alone. */
function encodeMedia(
  kind: 'image' | 'audio',
  { mediaType: mimeType = defaultTypes[kind], url }: EventOf<'block-start'>,
  data: string,
): Fields[] {
  if (data !== '') return [{ inlineData: { mimeType, data } }];
  return url === undefined ? [] : [{ fileData: { fileUri: url } }];
}

/** Puts the first seal on the last part. Further seals, and a seal without any part, get empty parts. */
function addSeals(parts: readonly Fields[], opaque: readonly Opaque[]): Fields[] {
  const [first, ...others] = opaque.map(writeSignature);
  if (first === undefined) return [...parts];
  const last = parts.at(-1) ?? { text: '' };
  return [
    ...parts.slice(0, -1),
    { ...last, thoughtSignature: first },
    ...others.map((thoughtSignature) => ({ text: '', thoughtSignature })),
  ];
}

function encodeCall({ id, name = '', custom }: EventOf<'block-start'>, text: string): Fields {
  const args = custom ? { input: text } : (parseArguments(text) ?? { _raw: text });
  return { functionCall: { ...(id === undefined ? {} : { id }), name, args } };
}
