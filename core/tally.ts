/**
 * Keeps count of one reply while it goes by, in either lane: what the vendor says it used, how much was
 * delivered, and whether the reply is whole. Metering and the written settlement policy stand on this alone.
 */
import type { CanonicalEvent } from './canonical/events.ts';
import type { Usage } from './canonical/usage.ts';
import { GatewayError } from './errors.ts';
import type { Loss } from './loss.ts';

/** A reply is told to have lost so many kinds of things at most: no vendor's stream fills the memory. */
const mostLosses = 50;

/** Statuses that are about the caller's own content: only then may the vendor's words be shown. */
const callersFault = new Set([400, 413, 422]);

export class Tally {
  /** The vendor's figures so far: a later one overrides an earlier one, field by field. */
  usage: Usage = {};
  /** UTF-8 bytes of text, reasoning and tool arguments. */
  deliveredBytes = 0;
  /** Whether `response-end` came. */
  complete = false;
  /** What the client's protocol had no place for. */
  readonly losses: Loss[] = [];
  readonly #finished = new Set<number>();

  lost(kind: string, reason: string): void {
    const path = `reply.${kind}`;
    if (this.losses.length < mostLosses && !this.losses.some((loss) => loss.path === path)) this.losses.push({ path, reason, code: 'reply' });
  }

  /** Whether every candidate has finished, though the stream may go on. */
  hasFinished(candidates: number): boolean {
    return this.#finished.size >= candidates;
  }

  /** Whether the client has had all there was to have, though the vendor's last frame is missing. */
  hasAll(candidates: number): boolean {
    return this.complete || (this.hasFinished(candidates) && this.usage.output !== undefined);
  }

  /** Throws where the vendor broke off with an error of its own. */
  read(event: CanonicalEvent): void {
    if (event.type === 'block-delta') {
      this.deliveredBytes += Buffer.byteLength(event.text);
    } else if (event.type === 'usage') {
      this.usage = { ...this.usage, ...event.usage };
    } else if (event.type === 'finish') {
      this.#finished.add(event.candidate);
    } else if (event.type === 'response-end') {
      this.complete = true;
    } else if (event.type === 'error') {
      throw brokenOff(event);
    }
  }
}

function brokenOff({ message, code, status }: Extract<CanonicalEvent, { type: 'error' }>): GatewayError {
  const shown = status !== undefined && callersFault.has(status);
  return new GatewayError('upstream_failed', shown ? message : 'The provider broke off its reply with an error of its own.', {
    vendor: { code },
    cause: message,
  });
}
