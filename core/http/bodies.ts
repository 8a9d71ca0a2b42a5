/**
 * Reads request bodies whole, within one limit for each body and one for all bodies held at once, of which
 * each key and each account has a share. A body stays in memory until its call ends. A body that is too long
 * is refused before it is read, and one that arrives too slowly is cut. Small bodies have a reserve. What
 * counts is the length of the decoded body.
 */
import type { IncomingMessage } from 'node:http';
import type { Principal } from '../exchange.ts';
import type { FormReading, LargeForms } from '../protocol.ts';
import { Chunks } from '../util/chunks.ts';
import { GatewayError, isGatewayError } from '../util/errors.ts';
import { decodeBody, isEncoded, toBrokenError } from './encoded-body.ts';
import { describeMachine, type Machine } from './reply-memory.ts';

/** Bytes of all bodies, if the machine has enough memory. */
const defaultLimit = 512 * 1024 * 1024;
/** The share of memory for bodies. Each exists several times while it is parsed and encoded. */
const memoryShare = 1 / 8;
/** Bytes of the heap that the gateway itself and V8's young generation need, and the share of the rest. */
const ownHeap = 160 * 1024 * 1024;
const heapShare = 1 / 4;
/** A body limit below this would refuse usual calls. */
const leastLimit = 1024 * 1024;
const defaultBodyLimit = 32 * 1024 * 1024;

interface GivenLimits {
  readonly workers: number;
  readonly bodyLimit?: number | undefined;
  readonly bodiesLimit?: number | undefined;
}

/** The limits of one body and of all that are not given. Workers share the memory, but each has a heap. */
export function computeBodyLimits(
  { workers, bodyLimit, bodiesLimit }: GivenLimits,
  { memory, heap }: Machine = describeMachine(),
): { readonly bodyLimit: number; readonly bodiesLimit: number } {
  const room = Math.min(defaultLimit, (memory * memoryShare) / workers, (heap - ownHeap) * heapShare);
  const all = bodiesLimit ?? Math.max(bodyLimit ?? leastLimit, Math.floor(room));
  return { bodyLimit: bodyLimit ?? Math.min(defaultBodyLimit, all), bodiesLimit: all };
}

export interface BodyLimits {
  readonly bodyLimit: number;
  /** Bytes of all bodies together. */
  readonly bodiesLimit: number;
  /** Bytes of all bodies of one key, and of one account. A single body is accepted whatever its size. */
  readonly bodiesPerKey?: number | undefined;
  readonly bodiesPerAccount?: number | undefined;
  /** Bytes a second at which a body has to arrive. */
  readonly bodyRate: number;
}

const [keyShare, accountShare] = [1 / 4, 1 / 2];
/** Bytes of a small body: it may arrive slowly, and has a reserve beyond each limit. */
const smallBody = 64 * 1024;
const withReserve = 9 / 8;
/** Milliseconds in which a body has to make progress. */
const rateWindow = 10_000;

type Owner = Pick<Principal, 'key' | 'account'>;

/** What is held beneath one limit: by everybody, by a key or by an account. */
class Holding {
  readonly #most: number;
  readonly #toError: () => GatewayError;
  readonly #held = new Map<string, number>();

  constructor(most: number, toError: () => GatewayError) {
    this.#most = most;
    this.#toError = toError;
  }

  /** Throws if `owner` would hold too much. `own` is what the same call holds already. */
  check(
    owner: string,
    bytes: number,
    { own, factor }: { readonly own: number; readonly factor: number },
  ): void {
    const held = this.#held.get(owner) ?? 0;
    if (held > own && held + bytes > this.#most * factor) throw this.#toError();
  }

  add(owner: string, bytes: number): void {
    const held = (this.#held.get(owner) ?? 0) + bytes;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }
}

export class BodyBudget {
  readonly limits: BodyLimits;
  readonly #keys: Holding;
  readonly #accounts: Holding;
  readonly #all: Holding;

  constructor(limits: BodyLimits) {
    const { bodiesLimit, bodiesPerKey = bodiesLimit * keyShare } = limits;
    const { bodiesPerAccount = bodiesLimit * accountShare } = limits;
    this.limits = limits;
    this.#keys = new Holding(bodiesPerKey, () => toShareError('API key'));
    this.#accounts = new Holding(bodiesPerAccount, () => toShareError('account'));
    this.#all = new Holding(bodiesLimit, toFullError);
  }

  get small(): number {
    return Math.min(smallBody, this.limits.bodyLimit / 8);
  }

  /** Opens the share of one call. The call releases it when it ends. */
  openShare(owner: Owner): BodyShare {
    return new BodyShare(this, owner);
  }

  /**
   * Throws `rate_limited` if the key or account would exceed its share, and `overloaded` if all bodies
   * together would exceed their limit. `own` is what the call holds already.
   */
  hold(bytes: number, own: number, owner: Owner): void {
    const factor = own + bytes <= this.small ? withReserve : 1;
    this.#keys.check(owner.key, bytes, { own, factor });
    this.#accounts.check(owner.account, bytes, { own, factor });
    this.#all.check('', bytes, { own, factor });
    this.#count(bytes, owner);
  }

  release(bytes: number, owner: Owner): void {
    this.#count(-bytes, owner);
  }

  #count(bytes: number, { key, account }: Owner): void {
    this.#all.add('', bytes);
    this.#keys.add(key, bytes);
    this.#accounts.add(account, bytes);
  }
}

function toFullError(): GatewayError {
  return new GatewayError(
    'overloaded',
    'The gateway has reached its limit for large requests; try again soon.',
    { retryAfter: 2 },
  );
}

function toShareError(owner: string): GatewayError {
  return new GatewayError(
    'rate_limited',
    `This ${owner} holds its share of large requests; send fewer of them at once.`,
    { retryAfter: 2 },
  );
}

export class BodyShare {
  readonly #bodies: BodyBudget;
  readonly #owner: Owner;
  #taken = 0;
  form: FormReading | undefined;

  constructor(bodies: BodyBudget, owner: Owner) {
    this.#bodies = bodies;
    this.#owner = owner;
  }

  take(bytes: number): void {
    this.#bodies.hold(bytes, this.#taken, this.#owner);
    this.#taken += bytes;
  }

  /** Takes a body that grew, or that did not arrive by itself. Throws if it is longer than a body may be. */
  takeWhole({ length }: Uint8Array): void {
    const { bodyLimit: limit } = this.#bodies.limits;
    if (length > limit) throw toTooLargeError(limit);
    this.take(Math.max(0, length - this.#taken));
  }

  release(): void {
    this.form?.close();
    this.#bodies.release(this.#taken, this.#owner);
    this.#taken = 0;
  }

  /** Calls `cut` if a body arrives too slowly, until the returned function is called. */
  #watchRate(request: IncomingMessage, cut: (error: GatewayError) => void): () => void {
    const { small, limits } = this.#bodies;
    const { bodyRate: rate } = limits;
    const { socket, headers } = request;
    // A small body may become a large one when it is decoded.
    const declared = isEncoded(request) ? 0 : Number(headers['content-length'] ?? 0);
    if (declared > 0 && declared <= small) return () => undefined;
    const begun = socket.bytesRead;
    let seen = begun;
    const look = (): void => {
      const arrived = socket.bytesRead;
      const isSlow = arrived - seen < (rate * rateWindow) / 1000;
      seen = arrived;
      const isLarge = declared > 0 || Math.max(arrived - begun, this.#taken) > small;
      if (isSlow && !request.complete && isLarge) cut(toSlowError(rate));
    };
    // What came while the process was busy is read before the look.
    const timer = setInterval(() => setImmediate(look), rateWindow).unref();
    return () => clearInterval(timer);
  }

  /**
   * Reads the whole body of a request, decoded. Throws before it holds more than the limits allow. With
   * `forms`, all of it goes to `form`.
   */
  read(request: IncomingMessage, forms?: LargeForms): Promise<Buffer> {
    const { most: limit, held } = forms ?? { most: this.#bodies.limits.bodyLimit, held: Infinity };
    if (Number(request.headers['content-length'] ?? 0) > limit) throw toTooLargeError(limit);
    // If the client disconnected during authentication, the request emits no further event, not even an
    // error.
    if (request.destroyed) throw toClientGoneError();
    const body = isEncoded(request) ? decodeBody(request, { limit, toError: toTooLargeError }) : request;
    const form = (this.form = forms?.open(request.headers['content-type'] ?? '', this.#owner));
    return new Promise((resolve, reject) => {
      const chunks = new Chunks<Buffer>();
      let length = 0;
      const refuse = (error: unknown): void => {
        stopWatching();
        if (body !== request) body.destroy();
        request.unpipe().removeAllListeners('data').resume();
        reject(error);
      };
      const stopWatching = this.#watchRate(request, refuse);
      body.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > limit) return refuse(toTooLargeError(limit));
        try {
          this.take(Math.min(chunk.length, held - this.#taken));
        } catch (error) {
          return refuse(error);
        }
        if (!form) return chunks.push(chunk);
        body.pause();
        form.write(chunk).then(() => body.resume(), refuse);
      });
      body.on('end', () => {
        stopWatching();
        resolve(chunks.join());
      });
      body.on('error', (error) => {
        if (!request.errored) return refuse(isGatewayError(error) ? error : toBrokenError(request, error));
        stopWatching();
        reject(toClientGoneError(error));
      });
    });
  }
}

/** Reads a body to its end, and keeps nothing of it. */
export function dropBody(request: IncomingMessage, limit: number): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw toTooLargeError(limit);
  if (request.destroyed) throw toClientGoneError();
  return new Promise((resolve, reject) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) reject(toTooLargeError(limit));
    });
    request.on('end', resolve).on('error', (error) => reject(toClientGoneError(error)));
  });
}

function toSlowError(rate: number): GatewayError {
  return new GatewayError(
    'request_timeout',
    `The body arrives too slowly: it takes at least ${rate} bytes a second.`,
    // The rest of the body would arrive as slowly.
    { headers: { connection: 'close' } },
  );
}

function toTooLargeError(limit: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is larger than the ${limit} bytes this gateway accepts.`,
  );
}

function toClientGoneError(cause?: unknown): GatewayError {
  return new GatewayError('client_gone', 'The client disconnected before its request was complete.', {
    cause,
  });
}

/** The error for a body of the wrong type; `expected` names the accepted one. */
export function toWrongBodyError(expected: string): GatewayError {
  return new GatewayError('unsupported_media_type', `The body must be sent as ${expected}.`);
}
