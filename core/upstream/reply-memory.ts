/**
 * The memory that vendors' replies take while they are held: a JSON reply until its client has it, an event until it is
 * whole, what opens a stream until there is output. All calls share one budget, which follows from the heap and from the
 * machine or container. So hostile vendors cost the calls that ask them, and not the process.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { GatewayError } from '../errors.ts';

/** Of the memory and of the heap: a reply exists several times over while it is read, translated and sent. */
const part = 1 / 32;
/** Bytes that each call has for nothing: replies of usual size are served however full the budget is. */
const free = 64 * 1024;
/** The share of the budget from which on new calls are turned away. */
const nearlyAll = 0.9;

interface Machine {
  readonly memory: number;
  readonly heap: number;
}

function thisMachine(): Machine {
  return {
    memory: Math.min(totalmem(), process.constrainedMemory() || Infinity),
    heap: getHeapStatistics().heap_size_limit,
  };
}

/** Bytes of all replies where the configuration does not say. Workers share the memory, and each has a heap. */
export function mostReplies(
  { workers }: { readonly workers: number },
  { memory, heap }: Machine = thisMachine(),
): number {
  return Math.max(free, Math.floor(Math.min((memory * part) / workers, heap * part)));
}

function overloaded(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway holds as many large replies as it can at the moment; try again soon.',
    { retryAfter: 2 },
  );
}

/** What all calls hold. */
export class ReplyBudget {
  readonly limit: number;
  #held = 0;

  constructor({ repliesLimit }: { readonly repliesLimit: number }) {
    this.limit = repliesLimit;
  }

  /** Throws `overloaded` where there is no room for the reply of a new call. */
  checkRoom(): void {
    if (this.#held > this.limit * nearlyAll) throw overloaded();
  }

  /** Throws `overloaded` where so many bytes more are too many. */
  hold(bytes: number): void {
    if (this.#held + bytes > this.limit) throw overloaded();
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}

/** What one call holds. */
export class ReplyMemory {
  readonly #budget: ReplyBudget;
  #size = 0;
  #charged = 0;
  #isReleased = false;

  constructor(budget: ReplyBudget) {
    this.#budget = budget;
  }

  /** Throws `upstream_failed` where the reply by itself is too large, and `overloaded` where all replies together are. */
  add(bytes: number): void {
    if (this.#isReleased || bytes === 0) return;
    const size = this.#size + bytes;
    const charge = Math.max(0, size - free);
    if (charge > this.#budget.limit) throw tooLong();
    if (charge !== this.#charged) this.#budget.hold(charge - this.#charged);
    this.#size = size;
    this.#charged = charge;
  }

  /** A part of it that grows and shrinks. */
  slot(): Slot {
    return new Slot(this);
  }

  /** Gives everything back. What is added later, as a reply is broken off, counts for nothing. */
  release(): void {
    this.#isReleased = true;
    this.#budget.release(this.#charged);
    this.#charged = 0;
  }

  /** Gives everything back, for another attempt of the same call. */
  reset(): void {
    if (!this.#isReleased) this.add(-this.#size);
  }
}

export class Slot {
  readonly #memory: ReplyMemory;
  #size = 0;

  constructor(memory: ReplyMemory) {
    this.#memory = memory;
  }

  /** Throws as `add` does. */
  set(bytes: number): void {
    if (bytes === this.#size) return;
    this.#memory.add(bytes - this.#size);
    this.#size = bytes;
  }
}

export function tooLong(): GatewayError {
  return new GatewayError('upstream_failed', 'The provider sent a longer reply than the gateway accepts.');
}

const [brace, bracket, comma] = [0x7b, 0x5b, 0x2c];
/** Bytes of text that an object or list, and a member, take as much memory as. */
const perContainer = 16;
const perMember = 4;

/** What parsed JSON takes beyond its text, in bytes of text: three bytes can be an object of fifty. */
export function structureOf(bytes: Uint8Array): number {
  let weight = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === comma) weight += perMember;
    else if (byte === brace || byte === bracket) weight += perContainer;
  }
  return weight;
}

/** The same of text: as long texts are rare, they are looked through and short ones are not. */
export function structureOfText(text: string): number {
  if (text.length < free) return 0;
  let weight = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === comma) weight += perMember;
    else if (code === brace || code === bracket) weight += perContainer;
  }
  return weight;
}
