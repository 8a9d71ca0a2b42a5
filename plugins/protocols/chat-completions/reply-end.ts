/**
 * Decides how a reply without a finish reason ended. OpenRouter (with Nebius and Novita), Snowflake and
 * LiteLLM send such replies. JSON that parses is complete, and so is a stream whose last chunk before
 * `[DONE]` reports usage.
 */
import type { CanonicalEvent, ClientCall, Usage } from '../../../core/index.ts';

export class SilentEnd {
  readonly #call: ClientCall;
  #output = 0;
  /** Whether the latest chunk with content reported usage. */
  isMarked = false;
  /** Whether an unreadable event was skipped. */
  isLost = false;

  constructor(call: ClientCall) {
    this.#call = call;
  }

  count(usage: Usage | undefined): void {
    this.isMarked = usage !== undefined && !this.isLost;
    this.#output = usage?.output ?? this.#output;
  }

  /** Records an unreadable event. It may have held the finish reason, so usage no longer marks the end. */
  lose(): CanonicalEvent {
    this.isLost = true;
    return { type: 'unreadable' };
  }

  /** A reply that is as long as its limit was cut by it. */
  get reason(): 'length' | 'stop' {
    const { outputLimit = Infinity, candidates } = this.#call;
    return candidates === 1 && this.#output >= outputLimit ? 'length' : 'stop';
  }
}
