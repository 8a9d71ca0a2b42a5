/** The canonical events of a reply that is being decoded, in order, with numbered blocks. */
import type {
  Annotation,
  BlockKind,
  CanonicalEvent,
  Opaque,
  WireEvent,
  EventOf,
} from '../../../core/index.ts';
import { canSkipEvent } from './event-data.ts';
import { JsonEnd } from './json-end.ts';
import type { Sides } from './vendor-bag.ts';

/** A block's own fields in its first event. */
export type BlockFacts = Omit<EventOf<'block-start'>, 'type' | 'candidate' | 'block' | 'kind'>;

export class ReplyLog {
  #events: CanonicalEvent[] = [];
  /** The number of blocks so far. */
  blocks = 0;
  /** Whether the reply has ended or failed, so that nothing more of it is read. */
  isOver = false;
  /** The arguments of open calls, by block; created with the first. */
  #calls: Map<number, JsonEnd> | undefined;
  /** Candidates with a call that ended in the middle of its arguments; created with the first. */
  #cut: Set<number> | undefined;

  /** Returns the events since the last call. */
  take(): CanonicalEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  emit(event: CanonicalEvent): void {
    this.#events.push(event);
  }

  /** Begins the reply. An id or a model that is no text is left out. */
  begin(id: unknown, model: unknown, created: number | undefined, sides: Sides): void {
    const start: EventOf<'response-start'> = { type: 'response-start' };
    if (typeof id === 'string') start.id = id;
    if (typeof model === 'string') start.model = model;
    if (created !== undefined) start.created = created;
    this.emit(Object.assign(start, sides));
  }

  /** Starts a block, and returns its number. */
  startBlock(candidate: number, kind: BlockKind, facts?: BlockFacts): number {
    const block = this.blocks;
    this.blocks += 1;
    this.emit({ type: 'block-start', candidate, block, kind, ...facts });
    if (kind === 'tool-call' && !facts?.custom) (this.#calls ??= new Map()).set(block, new JsonEnd());
    return block;
  }

  /** Adds a text to a block, unless it is empty. */
  addText(candidate: number, block: number, text: string): void {
    if (text === '') return;
    this.#calls?.get(block)?.add(text);
    this.emit({ type: 'block-delta', candidate, block, text });
  }

  /** Ends a block, with the sealed state that belongs to it. */
  endBlock(candidate: number, block: number, opaque: readonly Opaque[] = []): void {
    const sealed = opaque.length > 0 ? { opaque: [...opaque] } : undefined;
    if (this.#calls?.get(block)?.isOpen) (this.#cut ??= new Set()).add(candidate);
    this.#calls?.delete(block);
    this.emit({ type: 'block-end', candidate, block, ...sealed });
  }

  cite(candidate: number, block: number, annotation: Annotation): void {
    this.emit({ type: 'annotation', candidate, block, annotation });
  }

  /** Adds the log probabilities of text that follows, unless there are none. */
  addLogprobs(candidate: number, block: number, content: readonly unknown[]): void {
    if (content.length > 0) this.emit({ type: 'logprobs', candidate, block, content: [...content] });
  }

  /** Ends the reply. One that is not complete has no last event. */
  end(isComplete: boolean): void {
    this.isOver = true;
    if (isComplete) this.emit({ type: 'response-end' });
  }

  /** Ends the reply with an error, unless it is over. */
  fail(error: EventOf<'error'>): void {
    if (this.isOver) return;
    this.isOver = true;
    this.emit(error);
  }

  /** Whether the arguments of an ended call of this candidate break off. */
  isCut(candidate: number): boolean {
    return this.#cut?.has(candidate) ?? false;
  }

  /** Skips an event that cannot be read. Returns false if the reply makes no sense without it. */
  skip(event: WireEvent): boolean {
    const canSkip = canSkipEvent(event);
    if (canSkip) this.emit({ type: 'unreadable' });
    return canSkip;
  }
}
