/**
 * Limits the memory of provider replies: a JSON reply until its client has it, an event until it is whole,
 * the opening of a stream until there is output. All calls share one budget, derived from the heap and the
 * machine or container. So a hostile provider fails its own calls, not the process.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { GatewayError } from '../util/errors.ts';
import { quote } from '../util/json-text.ts';
import { findStringEnd } from './json-body.ts';

/** The share of memory and heap. A reply exists several times while it is read, translated and sent. */
const memoryShare = 1 / 32;
/** Bytes of each call that are not counted: ordinary replies are served however full the budget is. */
const uncounted = 64 * 1024;
/** New calls are refused above this share of the budget. */
const nearlyAll = 0.9;
/** Above this share nothing is held that a call can do without. */
const spare = 0.5;

export interface Machine {
  readonly memory: number;
  readonly heap: number;
}

/** Bytes of memory, of which a container may have less than its machine, and of the heap. */
export function describeMachine(): Machine {
  return {
    memory: Math.min(totalmem(), process.constrainedMemory() || Infinity),
    heap: getHeapStatistics().heap_size_limit,
  };
}

/** The default for bytes of all replies. Workers share the memory, but each has a heap. */
export function computeRepliesLimit(
  { workers }: { readonly workers: number },
  { memory, heap }: Machine = describeMachine(),
): number {
  return Math.max(uncounted, Math.floor(Math.min((memory * memoryShare) / workers, heap * memoryShare)));
}

function toOverloadedError(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway has reached its limit for large replies in memory; try again soon.',
    { retryAfter: 2 },
  );
}

export class ReplyBudget {
  readonly limit: number;
  #held = 0;

  constructor({ repliesLimit }: { readonly repliesLimit: number }) {
    this.limit = repliesLimit;
  }

  /** Throws `overloaded` if there is no room for another reply. */
  checkRoom(): void {
    if (this.#held > this.limit * nearlyAll) throw toOverloadedError();
  }

  /** Whether so many more bytes leave the larger part of the budget to replies. */
  canSpare(bytes: number): boolean {
    return this.#held + bytes <= this.limit * spare;
  }

  /** Throws `overloaded` if the budget cannot hold so many more bytes. */
  hold(bytes: number): void {
    if (this.#held + bytes > this.limit) throw toOverloadedError();
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}

export class ReplyMemory {
  readonly #budget: ReplyBudget;
  #size = 0;
  #charged = 0;
  #isReleased = false;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  /** Throws `upstream_failed` if this reply alone is too large, `overloaded` if all together are. */
  add(bytes: number): void {
    if (this.#isReleased || bytes === 0) return;
    const size = this.#size + bytes;
    const charge = Math.max(0, size - uncounted);
    if (charge > this.#budget.limit) throw toTooLongError();
    if (charge !== this.#charged) this.#budget.hold(charge - this.#charged);
    this.#size = size;
    this.#charged = charge;
  }

  /** Adds bytes that the call can do without. Returns false if replies may need the room. */
  addSpare(bytes: number): boolean {
    const more = this.#size + bytes - uncounted - this.#charged;
    if (more > 0 && !this.#budget.canSpare(more)) return false;
    this.add(bytes);
    return true;
  }

  /** Opens a part that grows and shrinks. Returns what sets its size, and throws as `add` does. */
  openSlot(): (bytes: number) => void {
    let size = 0;
    return (bytes) => {
      this.add(bytes - size);
      size = bytes;
    };
  }

  /** Releases everything. What a cancelled reply adds later is not counted. */
  release(): void {
    this.#isReleased = true;
    this.#budget.release(this.#charged);
    this.#charged = 0;
  }

  /** Releases everything for another attempt of the same call. */
  reset(): void {
    if (!this.#isReleased) this.add(-this.#size);
  }
}

export function toTooLongError(): GatewayError {
  return new GatewayError('upstream_failed', 'The provider sent a longer reply than the gateway accepts.');
}

const [brace, bracket, comma] = [0x7b, 0x5b, 0x2c];
/** The memory of an object or list, and of a member, in bytes of text. */
const perContainer = 16;
const perMember = 4;

/** The memory of parsed JSON beyond its text, in bytes of text: three bytes can make an object of fifty. */
export function weighBytes(bytes: Uint8Array, from = 0, end = bytes.length): number {
  let weight = 0;
  for (let index = from; index < end; index += 1) {
    const byte = bytes[index];
    if (byte === comma) weight += perMember;
    else if (byte === brace || byte === bracket) weight += perContainer;
  }
  return weight;
}

/** The same for whole JSON: nothing in its strings, which are most of what is long, is looked at. */
export function weighWhole(bytes: Uint8Array): number {
  let weight = 0;
  for (let at = 0, end = 0; at < bytes.length; at = findStringEnd(bytes, end) + 1) {
    end = bytes.indexOf(quote, at);
    if (end < 0) end = bytes.length;
    weight += weighBytes(bytes, at, end);
  }
  return weight;
}
