/** What happened at one target since the process started, for people to look at. */
import { z } from 'zod';
import type { Attempt, GatewayError } from '../../../core/index.ts';

/** Times to the first event that are kept, and errors. */
const mostTimes = 50;
const mostErrors = 5;
const longestMessage = 300;

export const pastErrorSchema = z.object({
  /** Milliseconds since the epoch. */
  at: z.number(),
  code: z.string(),
  status: z.number().nullable(),
  message: z.string(),
});

type PastError = z.output<typeof pastErrorSchema>;

/** Why no connection came about: for operators, since it may name hosts of their network. */
function describeCause({ cause, code }: GatewayError): string | undefined {
  if (code === 'client_gone' || !(cause instanceof Error)) return undefined;
  // Where several addresses of a host fail, only the code says why.
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

export class AttemptRecord {
  attempts = 0;
  failed = 0;
  retries = 0;
  readonly firstEvents: number[] = [];
  #errors: PastError[] = [];

  /** The last errors, newest first. */
  get errors(): readonly PastError[] {
    return this.#errors;
  }

  /** Reads the end of an attempt. One that was not let in says nothing about its target. */
  read({ sent, status, isRetry, firstEventAfter, error }: Attempt): void {
    const cause = error && status === undefined ? describeCause(error) : undefined;
    if (!sent && status === undefined && cause === undefined) return;
    this.attempts += 1;
    if (isRetry) this.retries += 1;
    if (firstEventAfter !== undefined) {
      this.firstEvents.push(firstEventAfter);
      if (this.firstEvents.length > mostTimes) this.firstEvents.shift();
    }
    if (!error || error.code === 'client_gone') return;
    this.failed += 1;
    const { code } = error;
    const message = cause === undefined ? error.message : `${error.message} (${cause})`;
    const past = { at: Date.now(), code, status: status ?? null, message: message.slice(0, longestMessage) };
    this.#errors = [past, ...this.#errors.slice(0, mostErrors - 1)];
  }
}
