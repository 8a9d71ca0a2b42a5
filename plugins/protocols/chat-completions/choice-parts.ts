/**
 * Canonical events as parts of a candidate's message, the way a chunk's delta holds them. A stream sends the parts
 * one by one, a whole reply joins them: what there is to say is decided here for both.
 */
import type { CanonicalEvent, Opaque, ReplyContext } from '../../../core/index.ts';
import { seal } from '../../shared/wire-kit/envelope.ts';
import { loseForeign, loseForeignStart } from '../../shared/wire-kit/losses.ts';
import { Transcript } from '../../shared/wire-kit/transcript.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { encodeAnnotation, type Annotation } from './annotations.ts';
import { bag, protocolName } from './bag.ts';
import { makeCallId } from './call-id.ts';
import { encodeFinish, isApproximated } from './finish.ts';
import { envelopeDetails, ofText } from './reasoning.ts';

export interface ChoicePart {
  readonly candidate: number;
  readonly delta: Fields;
  readonly logprobs?: Fields;
  readonly finish?: string;
  /** What the vendor called the end, where this wire has no word for it. */
  readonly native?: string;
}

type Event<Type extends CanonicalEvent['type']> = Extract<CanonicalEvent, { type: Type }>;

interface Candidate {
  calls: number;
  entries: number;
  /** Characters of text so far: citations are placed by them. */
  length: number;
  /** Log probabilities that wait for the text they belong to. */
  logprobs: Fields | undefined;
}

interface OpenBlock {
  readonly start: Event<'block-start'>;
  /** Of a tool call: which of the candidate's calls it is. */
  readonly call: number;
  /** Characters of the message before this block. */
  readonly offset: number;
  /** What is only told at the block's end: an image, and reasoning that is sealed then. */
  readonly said: Transcript;
  /** Citations that do not say where they stand: they are of all its text, which Anthropic's stream brings behind them. */
  readonly cited: Annotation[];
  over: boolean;
}

export class ChoiceParts {
  readonly #context: ReplyContext;
  readonly #candidates = new Map<number, Candidate>();
  readonly #blocks = new Map<number, OpenBlock>();

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  /** Passed one event; the answer is what it adds to its candidate's message, if anything. */
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
        this.#candidate(event.candidate).logprobs = refused
          ? { content: null, refusal: event.content }
          : { content: event.content, refusal: null };
        return undefined;
      }
      case 'finish':
        return this.#finish(event);
      case 'response-start':
        loseForeignStart(this.#context, event, protocolName);
        return undefined;
      default:
        return undefined;
    }
  }

  #candidate(index: number): Candidate {
    const known = this.#candidates.get(index);
    if (known) return known;
    const candidate: Candidate = { calls: 0, entries: 0, length: 0, logprobs: undefined };
    this.#candidates.set(index, candidate);
    return candidate;
  }

  #start(start: Event<'block-start'>): ChoicePart | undefined {
    const candidate = this.#candidate(start.candidate);
    const call = candidate.calls;
    this.#blocks.set(start.block, {
      start,
      call,
      offset: candidate.length,
      said: new Transcript(),
      cited: [],
      over: false,
    });
    if (start.kind === 'audio')
      return { candidate: start.candidate, delta: { audio: this.#audioHead(start) } };
    if (start.kind === 'server-tool' || start.kind === 'code')
      this.#context.lost?.(start.kind, 'chat-completions does not show what a vendor ran itself');
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
      delta: { tool_calls: [{ index: call, id, ...called, ...signatures(opaque) }] },
    };
  }

  /** What a sound is called; one of another vendor has none of what clients expect beside its data. */
  #audioHead({ id }: Event<'block-start'>): Fields {
    return id === undefined
      ? { id: `audio_${this.#context.id}`, transcript: '', expires_at: this.#context.created }
      : { id };
  }

  #add({ candidate: index, block: number, text, vendor }: Event<'block-delta'>): ChoicePart | undefined {
    const block = this.#blocks.get(number);
    if (!block) return undefined;
    switch (block.start.kind) {
      case 'text': {
        const candidate = this.#candidate(index);
        candidate.length += text.length;
        return this.#weighed(index, candidate, { content: text });
      }
      case 'refusal':
        return this.#weighed(index, this.#candidate(index), { refusal: text });
      case 'reasoning':
        block.said.add(text);
        return { candidate: index, delta: { reasoning_content: text } };
      case 'tool-call': {
        return { candidate: index, delta: { tool_calls: [callPiece(block, text)] } };
      }
      case 'audio':
        return {
          candidate: index,
          delta: { audio: { ...bag.fields({ vendor }), ...(text === '' ? {} : { data: text }) } },
        };
      case 'image':
        block.said.add(text);
        return undefined;
      default:
        // What a vendor runs itself (its search, its code) has no place in this wire.
        return undefined;
    }
  }

  #cite({ candidate, block: number, annotation }: Event<'annotation'>): ChoicePart | undefined {
    const block = this.#blocks.get(number);
    if (block && !block.over && annotation.start === undefined) {
      block.cited.push(annotation);
      return undefined;
    }
    const annotations = this.#written([annotation], candidate, block);
    return annotations.length > 0 ? { candidate, delta: { annotations } } : undefined;
  }

  #written(annotations: readonly Annotation[], candidate: number, block: OpenBlock | undefined): Fields[] {
    return annotations.flatMap((annotation) => {
      const written = encodeAnnotation(annotation, block?.offset ?? 0, this.#candidate(candidate).length);
      if (!written)
        this.#context.lost?.(`annotations.${annotation.kind}`, 'chat-completions cites web pages only');
      return written ? [written] : [];
    });
  }

  #weighed(index: number, candidate: Candidate, delta: Fields): ChoicePart {
    const { logprobs } = candidate;
    candidate.logprobs = undefined;
    return logprobs ? { candidate: index, delta, logprobs } : { candidate: index, delta };
  }

  #end({ candidate: index, block: number, opaque = [] }: Event<'block-end'>): ChoicePart | undefined {
    const block = this.#blocks.get(number);
    if (!block) return undefined;
    const { start, said, cited } = block;
    block.over = true;
    const annotations = this.#written(cited, index, block);
    const citing = annotations.length > 0 ? { annotations } : undefined;
    if (start.kind === 'image') {
      const url = bag.fields(start).url ?? `data:${start.mediaType ?? 'image/png'};base64,${said.text}`;
      return {
        candidate: index,
        delta: { images: [{ type: 'image_url', image_url: { url }, ...signatures(opaque) }] },
      };
    }
    if (opaque.length === 0) return citing && { candidate: index, delta: citing };
    if (start.kind === 'tool-call') {
      const late = opaque.slice(start.opaque?.length ?? 0);
      return late.length > 0
        ? { candidate: index, delta: { tool_calls: [{ ...callPiece(block, ''), ...signatures(late) }] } }
        : undefined;
    }
    if (start.kind !== 'reasoning' && start.kind !== 'text') {
      this.#context.lost?.(`${start.kind}.opaque`, 'chat-completions has no place for what seals it');
      return undefined;
    }
    const candidate = this.#candidate(index);
    // What seals text travels beside the thoughts, and says so.
    const details =
      start.kind === 'reasoning'
        ? envelopeDetails({ text: said.text, opaque }, candidate.entries)
        : envelopeDetails({ text: '', opaque: opaque.map(ofText) }, candidate.entries);
    candidate.entries += 1;
    return { candidate: index, delta: { ...citing, reasoning_details: details } };
  }

  #finish(event: Event<'finish'>): ChoicePart {
    const { candidate: index, reason } = event;
    loseForeign(this.#context, event, protocolName);
    if (event.stopSequence !== undefined)
      this.#context.lost?.('stopSequence', 'chat-completions does not say at which one it stopped');
    const candidate = this.#candidate(index);
    return {
      ...this.#weighed(index, candidate, {}),
      finish: encodeFinish(reason.unified, candidate.calls > 0),
      ...(isApproximated(reason.unified) ? { native: reason.raw } : {}),
    };
  }
}

/** A piece of a call: clients that check chunks take none without the object of its kind, though there is nothing in it. */
function callPiece({ start, call }: OpenBlock, text: string): Fields {
  return { index: call, ...(start.custom ? { custom: { input: text } } : { function: { arguments: text } }) };
}

/** What seals a call or a picture, in the slot Google's chat layer has for it. */
function signatures(opaque: readonly Opaque[]): Fields {
  return opaque.length > 0
    ? {
        extra_content: Object.fromEntries(
          opaque.map((state) => [state.vendor, { thought_signature: seal(state) }]),
        ),
      }
    : {};
}
