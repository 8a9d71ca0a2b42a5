/** The end of a reply that has no finish reason. */
import type { CanonicalEvent, ClientCall, Usage } from '../../../core/index.ts';

/**
 * Some vendors never say why a reply ended: OpenRouter by way of Nebius and Novita, Snowflake, LiteLLM. JSON that can be
 * parsed is complete all the same, and so is a stream whose last chunk reports usage before `[DONE]`.
 */
export class SilentEnd {
  readonly #call: ClientCall;
  #output = 0;
  /** Whether the latest chunk with anything in it reported usage. */
  isMarked = false;
  /** Whether an event could not be read, and was skipped. */
  isLost = false;

  constructor(call: ClientCall) {
    this.#call = call;
  }

  count(usage: Usage | undefined): void {
    this.isMarked = usage !== undefined && !this.isLost;
    this.#output = usage?.output ?? this.#output;
  }

  /** An event could not be read. It may have held the reason: from here on usage is no sign of the end. */
  lose(): CanonicalEvent {
    this.isLost = true;
    return { type: 'unreadable' };
  }

  /** A reply as long as it may be was cut by its limit. */
  get reason(): 'length' | 'stop' {
    const { outputLimit = Infinity, candidates } = this.#call;
    return candidates === 1 && this.#output >= outputLimit ? 'length' : 'stop';
  }
}
