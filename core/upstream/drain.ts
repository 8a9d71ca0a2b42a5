/**
 * A vendor that bills a whole reply though its client has left can be read on, for the figures it ends with: as long
 * and as much as its provider allows, and not for more than a few at once. Beyond that it is let go of, like all others.
 */
import { z } from 'zod';
import { longestDeadline, setDeadline } from '../util/deadlines.ts';

export const drainSchema = z.strictObject({
  /** Seconds, and bytes of text, that are read on at most. */
  seconds: z.number().positive().max(longestDeadline).default(60),
  bytes: z
    .int()
    .positive()
    .default(4 * 1024 * 1024),
  /** How many replies of the provider at once. */
  atOnce: z.int().positive().default(20),
});

export type DrainLimits = z.output<typeof drainSchema>;

const running = new Map<string, number>();

export class Drain {
  readonly #provider: string;
  readonly #stop: () => void;
  readonly #clearDeadline: () => void;
  #left: number;

  private constructor(provider: string, limits: DrainLimits, stop: () => void) {
    this.#provider = provider;
    this.#stop = stop;
    this.#left = limits.bytes;
    this.#clearDeadline = setDeadline(limits.seconds * 1000, stop);
    running.set(provider, (running.get(provider) ?? 0) + 1);
  }

  /** Undefined where as many are read on as may be; `stop` lets go of the vendor. */
  static begin(provider: string, limits: DrainLimits, stop: () => void): Drain | undefined {
    return (running.get(provider) ?? 0) < limits.atOnce ? new Drain(provider, limits, stop) : undefined;
  }

  took(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) this.#stop();
  }

  end(): void {
    this.#clearDeadline();
    running.set(this.#provider, (running.get(this.#provider) ?? 1) - 1);
  }
}
