/**
 * Cancels work in progress, like an `AbortSignal`. A signal costs more than the rest of a call's bookkeeping,
 * so one is created only on demand; core registers callbacks.
 */
import type { GatewayError } from './errors.ts';

export class Cancellation {
  cancelled = false;
  /** Why the gateway cancelled a call; undefined if its client disconnected. An attempt's has none. */
  reason: GatewayError | undefined;
  #callbacks: (() => void)[] = [];
  #controller: AbortController | undefined;

  get clientLeft(): boolean {
    return this.cancelled && this.reason === undefined;
  }

  /** The same as an `AbortSignal`, for plugins and libraries. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.cancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Calls back once on cancellation, immediately if it is cancelled already. */
  onCancel(callback: () => void): void {
    if (this.cancelled) callback();
    // To push to an array makes room for 16 more, and `concat` is slow. Nearly always there is one callback.
    else this.#callbacks = this.#callbacks.length > 0 ? this.#callbacks.concat(callback) : [callback];
  }

  dropCallback(callback: () => void): void {
    const place = this.#callbacks.indexOf(callback);
    if (place >= 0) this.#callbacks.splice(place, 1);
  }

  cancel(reason?: GatewayError): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.reason = reason;
    this.#controller?.abort();
    for (const callback of this.#callbacks.splice(0)) callback();
  }
}
