/**
 * Limits draining: reading a reply to its end after the client has disconnected, for the usage at its end. It
 * pays only with providers that bill the whole reply. Beyond the limits the connection is closed.
 */
import type { DrainLimits } from '../provider.ts';
import { setDeadline } from '../util/timeouts.ts';

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

  /**
   * Returns undefined if `atOnce` replies are being drained already. `stop` closes the connection to the
   * provider.
   */
  static begin(provider: string, limits: DrainLimits, stop: () => void): Drain | undefined {
    return (running.get(provider) ?? 0) < limits.atOnce ? new Drain(provider, limits, stop) : undefined;
  }

  count(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) this.#stop();
  }

  end(): void {
    this.#clearDeadline();
    running.set(this.#provider, (running.get(this.#provider) ?? 1) - 1);
  }
}
