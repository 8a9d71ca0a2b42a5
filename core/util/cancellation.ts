/**
 * Whether something is still wanted. An `AbortSignal` says the same to plugins and libraries, but costs more than
 * the rest of a call's bookkeeping, so one is made only for whoever asks; core itself registers callbacks.
 */
import type { GatewayError } from '../errors.ts';

export class Cancellation {
  cancelled = false;
  /** Why the gateway itself ended it; undefined where the client left or time ran out. */
  reason: GatewayError | undefined;
  #callbacks: (() => void)[] = [];
  #controller: AbortController | undefined;

  /** Whether it was the client who gave up. */
  get left(): boolean {
    return this.cancelled && this.reason === undefined;
  }

  /** The same as a signal, for whoever needs one. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.cancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Calls back once when it is cancelled, at once if it is; the answer takes the callback back. */
  onCancel(callback: () => void): () => void {
    if (this.cancelled) callback();
    else this.#callbacks.push(callback);
    return () => {
      this.#callbacks = this.#callbacks.filter((other) => other !== callback);
    };
  }

  cancel(reason?: GatewayError): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.reason = reason;
    this.#controller?.abort();
    for (const callback of this.#callbacks.splice(0)) callback();
  }
}
