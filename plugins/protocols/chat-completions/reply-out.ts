/**
 * Writes canonical events as a client's stream of chunks: first the role, then deltas, a finish reason for
 * each candidate, the usage if the client requested it, and `[DONE]`. A JSON reply merges the same deltas.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type EventEncoder,
  type ReplyContext,
  type Usage,
  type EventOf,
  type Annotation,
} from '../../../core/index.ts';
import { encodeAnnotation } from '../../shared/openai/citations.ts';
import { encodeStreamError } from '../../shared/openai/errors.ts';
import { seal } from '../../shared/wire-kit/envelope.ts';
import { loseForeignFields } from '../../shared/wire-kit/losses.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, dialect, protocolName, makeCallId } from './encoding.ts';
import { markAsTextState, sealDetails, writeSignatures } from './reasoning.ts';
import { encodeUsage, encodeFinish, isApproximated } from './reply-facts.ts';

export const terminator = 'data: [DONE]\n\n';

/** Fields that may come before text or without it. */
const textlessFields = ['tool_calls', 'reasoning_content', 'reasoning_details'] as const;

/** Builds a candidate's first delta. Without text its content is null: some clients show an empty string. */
function openMessage({ candidate, delta }: ChoicePart): ChoicePart {
  const content = textlessFields.some((field) => field in delta) ? null : '';
  return { candidate, delta: { role: 'assistant', content, refusal: null } };
}

type Start = EventOf<'response-start'>;

function buildHead(
  { id, created, model }: ReplyContext,
  object: string,
  start?: Start,
): Record<string, unknown> {
  return { ...bag.getFields(start), id: `chatcmpl-${id}`, object, created, model };
}

export class ChunkEncoder implements EventEncoder {
  readonly #context: ReplyContext;
  readonly #parts: ChoiceParts;
  readonly #opened = new Set<number>();
  readonly #end: string;
  #start = '';
  #usage: Usage | undefined;

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#parts = new ChoiceParts(context);
    this.#end = context.call.usageWanted ? '],"usage":null}\n\n' : ']}\n\n';
    this.#setHead();
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'response-start':
        this.#setHead(event);
        this.#parts.push(event);
        return '';
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        return '';
      case 'response-end':
        return this.#encodeUsage() + terminator;
      case 'error':
        return encodeStreamError(new GatewayError('upstream_failed', event.message));
      default: {
        const part = this.#parts.push(event);
        return part ? this.#open(part) + this.#encodeChunk(part) : '';
      }
    }
  }

  /** All chunks start alike, so their start is serialized only here. */
  #setHead(start?: Start): void {
    const head = JSON.stringify(buildHead(this.#context, 'chat.completion.chunk', start));
    this.#start = `data: ${head.slice(0, -1)},"choices":[`;
  }

  #open(part: ChoicePart): string {
    if (this.#opened.has(part.candidate)) return '';
    this.#opened.add(part.candidate);
    return this.#encodeChunk(openMessage(part));
  }

  #encodeChunk({ candidate, delta, logprobs, finish, native }: ChoicePart): string {
    const probabilities = logprobs ? `,"logprobs":${JSON.stringify(logprobs)}` : '';
    const reason = finish === undefined ? 'null' : `"${finish}"`;
    const nativeReason = native === undefined ? '' : `,"native_finish_reason":${JSON.stringify(native)}`;
    const content = `{"index":${candidate},"delta":${JSON.stringify(delta)}${probabilities}`;
    return `${this.#start}${content},"finish_reason":${reason}${nativeReason}}${this.#end}`;
  }

  #encodeUsage(): string {
    if (!this.#context.call.usageWanted || !this.#usage) return '';
    return `${this.#start}],"usage":${JSON.stringify(encodeUsage(this.#usage))}}\n\n`;
  }
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const parts = new ChoiceParts(context);
  const choices = new Map<number, Record<string, unknown>>();
  let usage: Usage | undefined;
  for (const event of events) {
    if (event.type === 'usage') usage = { ...usage, ...event.usage };
    const part = parts.push(event);
    if (!part) continue;
    const { candidate, ...said } = part;
    const choice = choices.get(candidate) ?? {};
    choices.set(candidate, choice);
    mergeDelta(choice, said);
  }
  const start = events.find((event) => event.type === 'response-start');
  return {
    ...buildHead(context, 'chat.completion', start),
    choices: [...choices]
      .toSorted(([first], [second]) => first - second)
      .map(([index, choice]) => writeChoice(index, choice)),
    ...(usage ? { usage: encodeUsage(usage) } : {}),
  };
}

/** Merges a delta: appends strings and lists, merges calls by index, and sets other values. */
function mergeDelta(into: Record<string, unknown>, delta: Fields): void {
  for (const [name, value] of Object.entries(delta)) {
    // A provider's member with this name would be merged into the prototype of every object.
    if (name === '__proto__') continue;
    const before = into[name];
    if (typeof before === 'string' && typeof value === 'string') into[name] = before + value;
    else if (Array.isArray(value))
      into[name] = name === 'tool_calls' ? mergeCalls(before, value) : appendItems(before, value);
    else if (isObject(value)) mergeDelta(isObject(before) ? before : (into[name] = {}), value);
    else if (value !== null || before === undefined) into[name] = value;
  }
}

/** Copies the list only at first and then appends to it: a copy for each citation takes quadratic time. */
function appendItems(before: unknown, items: readonly unknown[]): unknown[] {
  if (!Array.isArray(before)) return [...items];
  for (const item of items) before.push(item);
  return before;
}

function mergeCalls(before: unknown, fragments: readonly unknown[]): unknown[] {
  const calls: unknown[] = Array.isArray(before) ? before : [];
  for (const fragment of fragments) {
    if (!isObject(fragment)) continue;
    const { index, ...fields } = fragment;
    const call: unknown = calls[Number(index)];
    if (isObject(call)) mergeDelta(call, fields);
    else calls[Number(index)] = fields;
  }
  return calls;
}

function writeChoice(index: number, { delta, logprobs = null, finish, native }: Fields): unknown {
  const { content, refusal = null, ...rest } = readObject(delta);
  // The content of an empty message is an empty string, not null.
  const isEmpty = refusal === null && rest.tool_calls === undefined && rest.audio === undefined;
  return {
    index,
    message: { role: 'assistant', content: content ?? (isEmpty ? '' : null), refusal, ...rest },
    logprobs,
    finish_reason: finish ?? null,
    ...(native === undefined ? {} : { native_finish_reason: native }),
  };
}

interface ChoicePart {
  readonly candidate: number;
  readonly delta: Fields;
  readonly logprobs?: Fields;
  readonly finish?: string;
  /** The provider's own finish reason, if this protocol has no name for it. */
  readonly native?: string;
}

interface Candidate {
  calls: number;
  entries: number;
  /** Whether it refuses in words. */
  refuses: boolean;
  /** Characters of text so far, for the offsets of citations. */
  length: number;
  /** Citations are sent all at once, at the end: of several lists the `openai` package keeps the last. */
  readonly annotations: Fields[];
  /** Log probabilities come before their text, and are sent with it. */
  logprobs: Fields | undefined;
}

interface OpenBlock {
  readonly start: EventOf<'block-start'>;
  /** If the block is a tool call: its index in the candidate. */
  readonly call: number;
  /** Characters of the message before this block. */
  readonly offset: number;
  /** Data that is sent only when the block ends: an image, or reasoning together with its seal. */
  readonly transcript: Transcript;
  /** Citations without offsets span the block's entire text. Anthropic streams them before the text. */
  readonly pendingCitations: Annotation[];
  isOver: boolean;
}

class ChoiceParts {
  readonly #context: ReplyContext;
  readonly #candidates = new Map<number, Candidate>();
  readonly #blocks = new Map<number, OpenBlock>();

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  /** Returns the part that an event adds to its candidate's message, if any. */
  push(event: CanonicalEvent): ChoicePart | undefined {
    switch (event.type) {
      case 'block-delta':
        return this.#add(event);
      case 'block-start':
        return this.#start(event);
      case 'block-end':
        return this.#end(event);
      case 'annotation':
        this.#cite(event);
        return undefined;
      case 'logprobs': {
        const refused = this.#blocks.get(event.block)?.start.kind === 'refusal';
        this.#ensureCandidate(event.candidate).logprobs = refused
          ? { content: null, refusal: event.content }
          : { content: event.content, refusal: null };
        return undefined;
      }
      case 'finish':
        return this.#finish(event);
      case 'response-start':
        loseForeignFields(this.#context, event, protocolName);
        return undefined;
      default:
        return undefined;
    }
  }

  #ensureCandidate(index: number): Candidate {
    const known = this.#candidates.get(index);
    if (known) return known;
    const candidate: Candidate = {
      calls: 0,
      entries: 0,
      refuses: false,
      length: 0,
      annotations: [],
      logprobs: undefined,
    };
    this.#candidates.set(index, candidate);
    return candidate;
  }

  #start(start: EventOf<'block-start'>): ChoicePart | undefined {
    const candidate = this.#ensureCandidate(start.candidate);
    const call = candidate.calls;
    this.#blocks.set(start.block, {
      start,
      call,
      offset: candidate.length,
      transcript: new Transcript(),
      pendingCitations: [],
      isOver: false,
    });
    candidate.refuses ||= start.kind === 'refusal';
    if (start.kind === 'audio')
      return { candidate: start.candidate, delta: { audio: this.#buildAudioHead(start) } };
    if (start.kind === 'server-tool' || start.kind === 'code')
      this.#context.reportLoss?.(start.kind, 'chat-completions has no field for it');
    if (start.kind !== 'tool-call') return undefined;
    candidate.calls += 1;
    const {
      id = makeCallId(this.#context.id, start.candidate, call),
      name = '',
      custom,
      opaque = [],
    } = start;
    const called = custom
      ? { type: 'custom', custom: { name, input: '' } }
      : { type: 'function', function: { name, arguments: '' } };
    return {
      candidate: start.candidate,
      delta: { tool_calls: [{ index: call, id, ...called, ...writeSignatures(opaque, seal) }] },
    };
  }

  /** Clients expect an id, a transcript and an expiry with audio. Other protocols send none of them. */
  #buildAudioHead({ id }: EventOf<'block-start'>): Fields {
    return id === undefined
      ? { id: `audio_${this.#context.id}`, transcript: '', expires_at: this.#context.created }
      : { id };
  }

  #add({ candidate: index, block: number, text, vendor }: EventOf<'block-delta'>): ChoicePart | undefined {
    const block = this.#blocks.get(number);
    if (!block) return undefined;
    switch (block.start.kind) {
      case 'text': {
        const candidate = this.#ensureCandidate(index);
        candidate.length += text.length;
        return this.#attachLogprobs(index, candidate, { content: text });
      }
      case 'refusal':
        return this.#attachLogprobs(index, this.#ensureCandidate(index), { refusal: text });
      case 'reasoning':
        block.transcript.add(text);
        return { candidate: index, delta: { reasoning_content: text } };
      case 'tool-call': {
        return { candidate: index, delta: { tool_calls: [encodeFragment(block, text)] } };
      }
      case 'audio':
        return {
          candidate: index,
          delta: { audio: { ...bag.getFields({ vendor }), ...(text === '' ? {} : { data: text }) } },
        };
      case 'image':
        block.transcript.add(text);
        return undefined;
      default:
        // This protocol cannot express hosted search and code.
        return undefined;
    }
  }

  #cite({ candidate, block: number, annotation }: EventOf<'annotation'>): void {
    const block = this.#blocks.get(number);
    if (block && !block.isOver && annotation.start === undefined) block.pendingCitations.push(annotation);
    else this.#addAnnotation(annotation, candidate, block);
  }

  #addAnnotation(annotation: Annotation, index: number, block: OpenBlock | undefined): void {
    const { annotations, length } = this.#ensureCandidate(index);
    const written = encodeAnnotation(annotation, [block?.offset ?? 0, length], dialect);
    if (written) annotations.push(written);
    else
      this.#context.reportLoss?.(`annotations.${annotation.kind}`, 'chat-completions only cites web pages');
  }

  #attachLogprobs(index: number, candidate: Candidate, delta: Fields): ChoicePart {
    const { logprobs } = candidate;
    candidate.logprobs = undefined;
    return logprobs ? { candidate: index, delta, logprobs } : { candidate: index, delta };
  }

  #end({ candidate: index, block: number, opaque = [] }: EventOf<'block-end'>): ChoicePart | undefined {
    const block = this.#blocks.get(number);
    if (!block) return undefined;
    const { start, transcript, pendingCitations } = block;
    block.isOver = true;
    for (const annotation of pendingCitations) this.#addAnnotation(annotation, index, block);
    if (start.kind === 'image') {
      const url = start.url ?? `data:${start.mediaType ?? 'image/png'};base64,${transcript.text}`;
      return {
        candidate: index,
        delta: { images: [{ type: 'image_url', image_url: { url }, ...writeSignatures(opaque, seal) }] },
      };
    }
    if (opaque.length === 0) return undefined;
    if (start.kind === 'tool-call') {
      const late = opaque.slice(start.opaque?.length ?? 0);
      return late.length > 0
        ? {
            candidate: index,
            delta: { tool_calls: [{ ...encodeFragment(block, ''), ...writeSignatures(late, seal) }] },
          }
        : undefined;
    }
    if (start.kind !== 'reasoning' && start.kind !== 'text') {
      this.#context.reportLoss?.(
        `${start.kind}.opaque`,
        'chat-completions has no field for its sealed state',
      );
      return undefined;
    }
    const candidate = this.#ensureCandidate(index);
    // Sealed state of text travels in `reasoning_details` too, with a mark.
    const details =
      start.kind === 'reasoning'
        ? sealDetails({ text: transcript.text, opaque }, candidate.entries)
        : sealDetails({ text: '', opaque: opaque.map(markAsTextState) }, candidate.entries);
    candidate.entries += 1;
    return { candidate: index, delta: { reasoning_details: details } };
  }

  #finish(event: EventOf<'finish'>): ChoicePart {
    const { candidate: index, reason } = event;
    loseForeignFields(this.#context, event, protocolName);
    if (event.stopSequence !== undefined)
      this.#context.reportLoss?.('stopSequence', 'chat-completions does not name the stop sequence');
    const candidate = this.#ensureCandidate(index);
    // As at OpenAI. SDKs that parse replies throw at a filtered one, and its refusal is not read.
    const unified = reason.unified === 'refusal' && candidate.refuses ? 'stop' : reason.unified;
    return {
      ...this.#attachLogprobs(
        index,
        candidate,
        candidate.annotations.length > 0 ? { annotations: candidate.annotations } : {},
      ),
      finish: encodeFinish(unified, candidate.calls > 0),
      ...(isApproximated(unified) ? { native: reason.raw } : {}),
    };
  }
}

/** Clients that validate chunks require the object named by the call's type, even if it is empty. */
function encodeFragment({ start, call }: OpenBlock, text: string): Fields {
  return { index: call, ...(start.custom ? { custom: { input: text } } : { function: { arguments: text } }) };
}
