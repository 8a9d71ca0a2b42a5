/** How well a target did lately, as far as it decides whether calls that failed elsewhere may go there freely. */

/** The weight of the last call in the average, and the share of calls that have to go well. */
const newest = 0.2;
const reliable = 0.9;

export class Standing {
  /** The share of its last calls that went well, in which later calls count more; undefined before the first result. */
  #share: number | undefined;
  /** Resolves with the first result of a target that had none. */
  #firstResult: PromiseWithResolvers<void> | undefined;

  /** Records that a call is sent. */
  begin(): void {
    if (this.#share === undefined) this.#firstResult ??= Promise.withResolvers();
  }

  /** Records how a call went; `undefined` where it says nothing about the target. */
  record(isWell: boolean | undefined): void {
    if (isWell !== undefined)
      this.#share =
        this.#share === undefined ? Number(isWell) : this.#share * (1 - newest) + Number(isWell) * newest;
    this.#firstResult?.resolve();
    this.#firstResult = undefined;
  }

  /** The first result of a target whose first call still runs; undefined where a result is known, or no call was sent. */
  firstResult(): Promise<void> | undefined {
    return this.#share === undefined ? this.#firstResult?.promise : undefined;
  }

  get isUnknown(): boolean {
    return this.#share === undefined;
  }

  get doesWell(): boolean {
    return this.#share !== undefined && this.#share >= reliable;
  }
}
