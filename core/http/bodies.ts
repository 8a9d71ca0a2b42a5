/**
 * Reads request bodies whole, within one limit for each body and one for all bodies held at once. A body
 * stays in memory until its call ends. A body that is too long is refused before it is read.
 */
import type { IncomingMessage } from 'node:http';
import { totalmem } from 'node:os';
import { GatewayError } from '../errors.ts';
import { Chunks } from '../util/chunks.ts';

/** Bytes of all bodies, if the machine has enough memory. */
const defaultLimit = 512 * 1024 * 1024;
/**
 * The share of memory for bodies. Each exists several times while it is parsed and encoded for the provider.
 */
const memoryShare = 1 / 8;

/**
 * The default for bytes of all bodies. Each worker has its own share. A container may have less memory than
 * its machine.
 */
export function computeBodiesLimit(
  { bodyLimit, workers }: { readonly bodyLimit: number; readonly workers: number },
  memory = Math.min(totalmem(), process.constrainedMemory() || Infinity),
): number {
  return Math.max(bodyLimit, Math.min(defaultLimit, Math.floor((memory * memoryShare) / workers)));
}

interface Limits {
  /** Bytes of one body. */
  readonly bodyLimit: number;
  /** Bytes of all bodies together. */
  readonly bodiesLimit: number;
}

export class BodyBudget {
  readonly #limits: Limits;
  #held = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Bytes of one body at most. */
  get limit(): number {
    return this.#limits.bodyLimit;
  }

  /** Opens the share of one call. The call releases it when it ends. */
  openShare(): BodyShare {
    return new BodyShare(this);
  }

  /** Throws `overloaded` if all bodies together would exceed their limit. */
  hold(bytes: number): void {
    if (this.#held + bytes > this.#limits.bodiesLimit) {
      throw new GatewayError(
        'overloaded',
        'The gateway has reached its limit for large requests in memory; try again soon.',
        { retryAfter: 2 },
      );
    }
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}

/** The bytes that one call holds. */
export class BodyShare {
  readonly #bodies: BodyBudget;
  #taken = 0;

  constructor(bodies: BodyBudget) {
    this.#bodies = bodies;
  }

  take(bytes: number): void {
    this.#bodies.hold(bytes);
    this.#taken += bytes;
  }

  release(): void {
    this.#bodies.release(this.#taken);
  }

  /** Reads the whole body of a request. Throws before it holds more than the limits allow. */
  read(request: IncomingMessage): Promise<Buffer> {
    const { limit } = this.#bodies;
    if (Number(request.headers['content-length'] ?? 0) > limit) throw toTooLargeError(limit);
    // If the client disconnected during authentication, the request emits no further event, not even an
    // error.
    if (request.destroyed) throw toClientGoneError();
    return new Promise((resolve, reject) => {
      const chunks = new Chunks<Buffer>();
      let length = 0;
      const refuse = (error: unknown): void => {
        request.removeAllListeners('data').resume();
        reject(error);
      };
      request.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > limit) return refuse(toTooLargeError(limit));
        try {
          this.take(chunk.length);
        } catch (error) {
          return refuse(error);
        }
        chunks.push(chunk);
      });
      request.on('end', () => resolve(chunks.join()));
      request.on('error', (error) => reject(toClientGoneError(error)));
    });
  }
}

/** Throws if the body of a request is compressed. */
export function refuseCompressed({ headers }: IncomingMessage): void {
  const transfer = headers['transfer-encoding'] || 'chunked';
  // A proxy may disagree with us about where such a body ends, so the connection closes (request smuggling).
  if (transfer.toLowerCase() !== 'chunked') {
    throw new GatewayError(
      'unsupported_media_type',
      `The body uses the transfer encoding "${transfer}"; send it plain or chunked.`,
      { headers: { connection: 'close' } },
    );
  }
  const encoding = headers['content-encoding'] || 'identity';
  if (encoding.toLowerCase() !== 'identity')
    throw new GatewayError(
      'unsupported_media_type',
      `The body uses the content encoding "${encoding}"; send it uncompressed.`,
    );
}

function toTooLargeError(limit: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is larger than the ${limit} bytes this gateway accepts.`,
  );
}

export function toClientGoneError(cause?: unknown): GatewayError {
  return new GatewayError('client_gone', 'The client disconnected before its request was complete.', {
    cause,
  });
}

/** The error for a body of the wrong type; `expected` names the accepted one. */
export function toWrongBodyError(expected: string): GatewayError {
  return new GatewayError('unsupported_media_type', `The body must be sent as ${expected}.`);
}
