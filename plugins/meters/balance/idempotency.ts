/**
 * A call with an `Idempotency-Key` is charged once, however often it is sent. The transaction that reserves
 * claims the key, and the one that posts stores the outcome under it. The same call then gets the same bytes
 * again, and a different call with the same key is refused. A call that cost nothing leaves its key free.
 */
import { createHash, hash } from 'node:crypto';
import { z } from 'zod';
import { GatewayError, type Parsed, type Replay } from '../../../core/index.ts';
import type { Claim, ClaimRecord, Store } from './store.ts';

export const idempotencyOptions = z.strictObject({
  /** Seconds for which an outcome is stored. */
  ttl: z
    .int()
    .positive()
    .default(24 * 3600),
  /**
   * The most bytes of a reply that are stored. A retry of a longer stream gets its beginning and then an
   * error.
   */
  largest: z
    .int()
    .min(0)
    .default(8 * 1024 * 1024),
});

export type IdempotencyOptions = z.output<typeof idempotencyOptions>;

const header = 'idempotency-key';
const longestKey = 255;
/** Seconds after which a client may retry while the first call still runs. */
const retryAfter = 1;

/** Milliseconds between two sweeps of expired outcomes, and how many one statement deletes. */
const sweepEvery = 60_000;
const sweepSize = 500;

/** Deletes expired outcomes from time to time. Returns a function that stops it. */
export function keepSweeping(store: Store): () => void {
  const sweep = async (): Promise<void> => {
    while ((await store.sweep({ at: Date.now(), limit: sweepSize })) === sweepSize);
  };
  const timer = setInterval(() => void sweep().catch(() => undefined), sweepEvery).unref();
  return () => clearInterval(timer);
}

/**
 * The claim of a call; undefined if the client sent no key. Throws `invalid_request` for a malformed key.
 */
export function readClaim(parsed: Parsed, { ttl }: IdempotencyOptions): Claim | undefined {
  const key = parsed.headers[header];
  if (key === undefined || parsed.operation === 'count') return undefined;
  if (typeof key !== 'string' || key.length > longestKey || !/^[\x20-\x7e]+$/.test(key)) {
    throw new GatewayError(
      'invalid_request',
      `An Idempotency-Key has 1 to ${longestKey} printable ASCII characters.`,
      { param: header },
    );
  }
  return {
    name: hash('sha256', JSON.stringify([parsed.principal.account, key]), 'hex'),
    fingerprint: computeFingerprint(parsed),
    expires: parsed.receivedAt + ttl * 1000,
  };
}

/**
 * JSON bodies are compared as text. The text of a form lacks its files, and boundaries differ each time,
 * so a form is compared by what it decodes to.
 */
function computeFingerprint({ protocol, operation, call, ownText, text: whole, getRequest }: Parsed): string {
  // What a conversation holds may have changed since the first call.
  const text = ownText ?? whole;
  const { model, stream, framing } = call;
  const digest = createHash('sha256')
    .update(JSON.stringify([protocol.name, operation, model, stream, framing, text.length]))
    .update(text);
  if (protocol.body === 'multipart') digest.update(JSON.stringify(getRequest()));
  return digest.digest('hex');
}

export function buildClaimError(held: ClaimRecord, wanted: Claim | undefined): GatewayError {
  if (held.fingerprint !== wanted?.fingerprint) {
    return new GatewayError(
      'idempotency_mismatch',
      'This Idempotency-Key belongs to a call with another body; send this one with its own key.',
      { param: header },
    );
  }
  return new GatewayError(
    'conflict',
    'The first call with this Idempotency-Key still runs; send it again soon for its outcome.',
    { retryAfter },
  );
}

/**
 * The stored outcome to send again; undefined if no call holds the claim, so this call's outcome will be
 * stored. Throws if the outcome cannot be sent.
 */
export async function findReplay(
  parsed: Parsed,
  claim: Claim,
  store: Store,
  { largest }: IdempotencyOptions,
): Promise<Replay | undefined> {
  const held = await store.findClaim({ name: claim.name, at: parsed.receivedAt });
  if (!held) {
    parsed.record(largest);
    return undefined;
  }
  if (held.state === 'running' || held.fingerprint !== claim.fingerprint) throw buildClaimError(held, claim);
  const { outcome } = held;
  if (!outcome || (!outcome.whole && !parsed.call.stream)) throw buildLossError(held);
  return {
    status: outcome.status,
    headers: { ...outcome.headers, 'idempotent-replayed': 'true' },
    body: outcome.whole ? outcome.body : appendError(outcome.body, buildLossError(held), parsed),
  };
}

/** The stored beginning of a stream, which ends with a complete frame, followed by the error. */
function appendError(body: Uint8Array, error: GatewayError, { protocol, call }: Parsed): Uint8Array {
  const text = Buffer.from(body).toString('utf8');
  const places = { first: text, last: text };
  const frames = protocol.client.encodeStreamError(error, call, body.length > 0, places);
  return Buffer.concat([body, Buffer.from(frames)]);
}

function buildLossError({ call }: ClaimRecord): GatewayError {
  return new GatewayError(
    'outcome_not_kept',
    `The first call with this Idempotency-Key (${call}) was charged, and not all of its reply could be ` +
      'kept. It is not made again; use another key for a new call.',
  );
}
