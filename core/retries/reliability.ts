/** Tracks how reliable a target has been lately. Only reliable targets accept retried calls freely. */

/** The weight of the last call in the average, and the average from which a target is reliable. */
const newest = 0.2;
const reliableShare = 0.9;

export class Reliability {
  /** The weighted share of calls that succeeded; undefined before the first result. */
  #share: number | undefined;
  /** Resolves with the first result of a target that had none. */
  #firstResult: PromiseWithResolvers<void> | undefined;

  /** Records that a call was sent. */
  begin(): void {
    if (this.#share === undefined) this.#firstResult ??= Promise.withResolvers();
  }

  /** Records the result of a call; `undefined` if it shows nothing about the target. */
  record(hasSucceeded: boolean | undefined): void {
    if (hasSucceeded !== undefined)
      this.#share =
        this.#share === undefined
          ? Number(hasSucceeded)
          : this.#share * (1 - newest) + Number(hasSucceeded) * newest;
    this.#firstResult?.resolve();
    this.#firstResult = undefined;
  }

  /** The pending first result of a target; undefined if a result is known or no call was sent. */
  getFirstResult(): Promise<void> | undefined {
    return this.#share === undefined ? this.#firstResult?.promise : undefined;
  }

  get isUnknown(): boolean {
    return this.#share === undefined;
  }

  get isReliable(): boolean {
    return this.#share !== undefined && this.#share >= reliableShare;
  }
}
