/**
 * The bodies of calls: read whole, within a limit for each and one for all that are held at once, since a body stays
 * with its call to the end. One that is too long is refused before it is held.
 */
import type { IncomingMessage } from 'node:http';
import { totalmem } from 'node:os';
import { GatewayError } from '../errors.ts';

/** Bytes that all bodies may have together, where there is memory enough. */
const usual = 512 * 1024 * 1024;
/** The part of the memory they may take: each exists several times over while it is read and written anew for its vendor. */
const part = 1 / 8;

/** Bytes of all bodies where the configuration does not say; workers have each their own. A container's memory may be less than the machine's. */
export function mostBodies(
  { bodyLimit, workers }: { readonly bodyLimit: number; readonly workers: number },
  memory = Math.min(totalmem(), process.constrainedMemory() || Infinity),
): number {
  return Math.max(bodyLimit, Math.min(usual, Math.floor((memory * part) / workers)));
}

interface Limits {
  /** Bytes of one body. */
  readonly bodyLimit: number;
  /** Bytes of all. */
  readonly bodiesLimit: number;
}

export class Bodies {
  readonly #limits: Limits;
  #held = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Bytes that one body may have. */
  get limit(): number {
    return this.#limits.bodyLimit;
  }

  /** What one call holds, nothing yet; to be given back at the call's end. */
  share(): Share {
    return new Share(this);
  }

  /** Throws `overloaded` where all bodies together would be too much. */
  hold(bytes: number): void {
    if (this.#held + bytes > this.#limits.bodiesLimit) {
      throw new GatewayError(
        'overloaded',
        'The gateway holds as many large requests as it can at the moment; try again soon.',
        { retryAfter: 2 },
      );
    }
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}

/** What one call holds. */
export class Share {
  readonly #bodies: Bodies;
  #taken = 0;

  constructor(bodies: Bodies) {
    this.#bodies = bodies;
  }

  take(bytes: number): void {
    this.#bodies.hold(bytes);
    this.#taken += bytes;
  }

  giveBack(): void {
    this.#bodies.release(this.#taken);
  }

  /** The whole body of a request. Throws before it holds more than it may. */
  async read(request: IncomingMessage): Promise<Buffer> {
    const { limit } = this.#bodies;
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
    // A client that left while its key was looked up sends no further event, not even an error.
    if (request.destroyed) throw clientGone();
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const refuse = (error: unknown): void => {
        request.removeAllListeners('data').resume();
        reject(error);
      };
      request.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > limit) return refuse(tooLarge(limit));
        try {
          this.take(chunk.length);
        } catch (error) {
          return refuse(error);
        }
        chunks.push(chunk);
      });
      request.on('end', () => resolve(Buffer.concat(chunks)));
      request.on('error', (error) => reject(clientGone(error)));
    });
  }
}

/** Throws where the body of a request is compressed. */
export function refuseCompressed({ headers }: IncomingMessage): void {
  const transfer = headers['transfer-encoding'] || 'chunked';
  // A proxy may see another end of such a body than we do, so nothing behind it counts.
  if (transfer.toLowerCase() !== 'chunked') {
    throw new GatewayError(
      'unsupported_media_type',
      `The body is sent as "${transfer}"; send it as it is, or chunked.`,
      { headers: { connection: 'close' } },
    );
  }
  const encoding = headers['content-encoding'] || 'identity';
  if (encoding.toLowerCase() !== 'identity')
    throw new GatewayError(
      'unsupported_media_type',
      `The body is sent as "${encoding}"; send it uncompressed.`,
    );
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is larger than the ${limit} bytes this gateway accepts.`,
  );
}

export function clientGone(cause?: unknown): GatewayError {
  return new GatewayError('client_gone', 'The client left before its request was complete.', { cause });
}

/** The refusal of a body of another type; `send` names the type that is taken. */
export function wrongBody(send: string): GatewayError {
  return new GatewayError('unsupported_media_type', `The body has to be sent as ${send}.`);
}
