/** The calls a gateway is answering: a configuration that was replaced is let go of with the last of them, and a stop waits. */
import { GatewayError } from '../errors.ts';
import type { Received } from '../exchange.ts';
import { Running } from '../util/slots.ts';

export class Calls {
  /** Whether the gateway stops, and should be given no more. */
  draining = false;
  readonly #running = new Running<Received>();
  #idle: (() => void)[] = [];

  get count(): number {
    return this.#running.size;
  }

  /** Answers what to say at its end. */
  begin(call: Received): number {
    return this.#running.add(call);
  }

  end(call: number): void {
    this.#running.remove(call);
    if (this.#running.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Resolves when no call is running. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idle.push(resolve));
  }

  /** Ends every call that has taken longer than so many milliseconds, with an error in its own protocol. */
  endOlderThan(milliseconds: number): void {
    const now = performance.now();
    for (const { cancellation, startedAt } of this.#running) {
      if (now - startedAt < milliseconds) continue;
      cancellation.cancel(
        new GatewayError(
          'timeout',
          `The call was ended after ${milliseconds / 1000} s, the longest that this gateway lets one take.`,
        ),
      );
    }
  }

  /** Ends every call that still runs with an error in its own protocol; what was delivered is settled. */
  stop(): void {
    for (const { cancellation } of this.#running) {
      cancellation.cancel(
        new GatewayError(
          'shutting_down',
          'The gateway is stopping and could not wait for the end of this call; send it again.',
          { retryAfter: 1 },
        ),
      );
    }
  }
}
