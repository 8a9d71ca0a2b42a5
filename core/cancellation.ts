/**
 * Whether something is still wanted. An `AbortSignal` says the same to plugins and libraries, but costs more than
 * the rest of a call's bookkeeping, so one is made only for whoever asks; core itself registers callbacks.
 */
export class Cancellation {
  cancelled = false;
  #callbacks: (() => void)[] = [];
  #controller: AbortController | undefined;

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

  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#controller?.abort();
    for (const callback of this.#callbacks.splice(0)) callback();
  }
}
