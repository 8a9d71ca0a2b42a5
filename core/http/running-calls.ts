/**
 * The calls that a gateway is running. A stop, and the release of a replaced configuration, wait for them.
 */
import type { Received } from '../exchange.ts';
import { GatewayError } from '../util/errors.ts';
import { Running } from '../util/running.ts';

export class RunningCalls {
  /** True while the gateway is stopping and should receive no new calls. */
  stopping = false;
  readonly #running = new Running<Received>();
  #idle: (() => void)[] = [];

  get count(): number {
    return this.#running.size;
  }

  /** Returns the number to pass to `end`. */
  begin(call: Received): number {
    return this.#running.add(call);
  }

  end(call: number): void {
    this.#running.remove(call);
    if (this.#running.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  waitForIdle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idle.push(resolve));
  }

  /** Ends every call that has run longer than `milliseconds`, with an error in its own protocol. */
  endOlderThan(milliseconds: number): void {
    const now = performance.now();
    for (const { cancellation, startedAt } of this.#running) {
      if (now - startedAt < milliseconds) continue;
      cancellation.cancel(
        new GatewayError('timeout', `The call reached the gateway's limit of ${milliseconds / 1000} s.`),
      );
    }
  }

  /** Ends every running call with an error in its own protocol. What was delivered is charged. */
  stop(): void {
    for (const { cancellation } of this.#running) {
      cancellation.cancel(
        new GatewayError(
          'shutting_down',
          'The gateway is stopping and cannot wait for this call to finish; send it again.',
          { retryAfter: 1 },
        ),
      );
    }
  }
}
