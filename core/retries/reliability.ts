/** Tracks how often a target has answered lately, to decide whether calls of failing targets may go there. */

/** The weight of the last call in the average, once there are as many results as this makes. */
const newest = 0.1;
/** So many failures without an answer show that a target fails; fewer may be bad luck. */
const fewest = 3;

export class Reliability {
  /** The weighted share of calls that succeeded. */
  #share = 0;
  #results = 0;
  /** Resolves with the next result of a target that is unknown. */
  #nextResult: PromiseWithResolvers<void> | undefined;

  /** Records that a call was sent. */
  begin(): void {
    if (this.isUnknown) this.#nextResult ??= Promise.withResolvers();
  }

  /** Records the result of a call; `undefined` if it shows nothing about the target. */
  record(hasSucceeded: boolean | undefined): void {
    if (hasSucceeded !== undefined) {
      this.#results += 1;
      this.#share += (Number(hasSucceeded) - this.#share) * Math.max(newest, 1 / this.#results);
    }
    this.#nextResult?.resolve();
    this.#nextResult = undefined;
  }

  /** The pending result of a target that is unknown; undefined if a call may find it out. */
  getNextResult(): Promise<void> | undefined {
    return this.#nextResult?.promise;
  }

  get isUnknown(): boolean {
    return this.#share === 0 && this.#results < fewest;
  }

  /** Whether it fails more often than it answers. */
  get isFailing(): boolean {
    return !this.isUnknown && this.#share < 0.5;
  }
}
