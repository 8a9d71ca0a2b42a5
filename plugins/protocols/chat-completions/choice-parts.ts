/**
 * Turns canonical events into parts of a candidate's message, in the shape of a chunk's delta. A stream sends
 * the parts one by one; a whole reply joins them.
 */
import type { CanonicalEvent, ReplyContext, EventOf, Annotation } from '../../../core/index.ts';
import { seal } from '../../shared/wire-kit/envelope.ts';
import { loseForeignFields } from '../../shared/wire-kit/losses.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeAnnotation } from './annotations.ts';
import { bag, protocolName } from './bag.ts';
import { encodeFinish, isApproximated } from './finish.ts';
import { markAsTextState, sealDetails } from './reasoning.ts';
import { writeSignatures } from './signatures.ts';
import { makeCallId } from './tool-names.ts';

export interface ChoicePart {
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
  /** Log probabilities that wait for their text. */
  logprobs: Fields | undefined;
}

interface OpenBlock {
  readonly start: EventOf<'block-start'>;
  /** The index of a tool call in its candidate. */
  readonly call: number;
  /** Characters of the message before this block. */
  readonly offset: number;
  /** Data that is only sent at the block's end: an image, or reasoning with its seal. */
  readonly said: Transcript;
  /** Citations of the block's whole text: they have no offsets, and Anthropic streams them first. */
  readonly cited: Annotation[];
  isOver: boolean;
}

export class ChoiceParts {
  readonly #context: ReplyContext;
  readonly #candidates = new Map<number, Candidate>();
  readonly #blocks = new Map<number, OpenBlock>();

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  /** Returns what an event adds to its candidate's message, if anything. */
  push(event: CanonicalEvent): ChoicePart | undefined {
    switch (event.type) {
      case 'block-delta':
        return this.#add(event);
      case 'block-start':
        return this.#start(event);
      case 'block-end':
        return this.#end(event);
      case 'annotation':
        return this.#cite(event);
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
    const candidate: Candidate = { calls: 0, entries: 0, refuses: false, length: 0, logprobs: undefined };
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
      said: new Transcript(),
      cited: [],
      isOver: false,
    });
    candidate.refuses ||= start.kind === 'refusal';
    if (start.kind === 'audio')
      return { candidate: start.candidate, delta: { audio: this.#buildAudioHead(start) } };
    if (start.kind === 'server-tool' || start.kind === 'code')
      this.#context.reportLoss?.(start.kind, 'chat-completions does not show what a vendor ran itself');
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

  /** Audio of other protocols has no id, transcript or expiry, which clients expect next to its data. */
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
        block.said.add(text);
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
        block.said.add(text);
        return undefined;
      default:
        // This protocol has no place for hosted search and code.
        return undefined;
    }
  }

  #cite({ candidate, block: number, annotation }: EventOf<'annotation'>): ChoicePart | undefined {
    const block = this.#blocks.get(number);
    if (block && !block.isOver && annotation.start === undefined) {
      block.cited.push(annotation);
      return undefined;
    }
    const annotations = this.#encodeAnnotations([annotation], candidate, block);
    return annotations.length > 0 ? { candidate, delta: { annotations } } : undefined;
  }

  #encodeAnnotations(
    annotations: readonly Annotation[],
    candidate: number,
    block: OpenBlock | undefined,
  ): Fields[] {
    return annotations.flatMap((annotation) => {
      const written = encodeAnnotation(
        annotation,
        block?.offset ?? 0,
        this.#ensureCandidate(candidate).length,
      );
      if (!written)
        this.#context.reportLoss?.(`annotations.${annotation.kind}`, 'chat-completions cites web pages only');
      return written ? [written] : [];
    });
  }

  #attachLogprobs(index: number, candidate: Candidate, delta: Fields): ChoicePart {
    const { logprobs } = candidate;
    candidate.logprobs = undefined;
    return logprobs ? { candidate: index, delta, logprobs } : { candidate: index, delta };
  }

  #end({ candidate: index, block: number, opaque = [] }: EventOf<'block-end'>): ChoicePart | undefined {
    const block = this.#blocks.get(number);
    if (!block) return undefined;
    const { start, said, cited } = block;
    block.isOver = true;
    const annotations = this.#encodeAnnotations(cited, index, block);
    const citing = annotations.length > 0 ? { annotations } : undefined;
    if (start.kind === 'image') {
      const url = bag.getFields(start).url ?? `data:${start.mediaType ?? 'image/png'};base64,${said.text}`;
      return {
        candidate: index,
        delta: { images: [{ type: 'image_url', image_url: { url }, ...writeSignatures(opaque, seal) }] },
      };
    }
    if (opaque.length === 0) return citing && { candidate: index, delta: citing };
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
      this.#context.reportLoss?.(`${start.kind}.opaque`, 'chat-completions has no place for what seals it');
      return undefined;
    }
    const candidate = this.#ensureCandidate(index);
    // State of the text is sent with the reasoning, and marked.
    const details =
      start.kind === 'reasoning'
        ? sealDetails({ text: said.text, opaque }, candidate.entries)
        : sealDetails({ text: '', opaque: opaque.map(markAsTextState) }, candidate.entries);
    candidate.entries += 1;
    return { candidate: index, delta: { ...citing, reasoning_details: details } };
  }

  #finish(event: EventOf<'finish'>): ChoicePart {
    const { candidate: index, reason } = event;
    loseForeignFields(this.#context, event, protocolName);
    if (event.stopSequence !== undefined)
      this.#context.reportLoss?.('stopSequence', 'chat-completions does not say at which one it stopped');
    const candidate = this.#ensureCandidate(index);
    // As at OpenAI. SDKs that parse replies throw at a filtered one, and its refusal is not read.
    const unified = reason.unified === 'refusal' && candidate.refuses ? 'stop' : reason.unified;
    return {
      ...this.#attachLogprobs(index, candidate, {}),
      finish: encodeFinish(unified, candidate.calls > 0),
      ...(isApproximated(unified) ? { native: reason.raw } : {}),
    };
  }
}

/** A fragment of a call. Clients that validate chunks require the object of its type, even if it is empty. */
function encodeFragment({ start, call }: OpenBlock, text: string): Fields {
  return { index: call, ...(start.custom ? { custom: { input: text } } : { function: { arguments: text } }) };
}
