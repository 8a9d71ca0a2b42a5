/**
 * Sends one request through undici's dispatcher, its lowest level. The chunks of the reply come straight from
 * the socket, which is paused while nothing reads them. A Readable in between would cost a third of the time
 * a call takes here.
 */
import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import type { UpstreamRequest, UpstreamResponse } from '../provider.ts';
import type { Cancellation } from '../util/cancellation.ts';

/** Bytes to buffer before the socket is paused. A slow client costs a few such buffers, no more. */
const mostWaiting = 8 * 1024;

/** One buffer for all sockets, since each read finishes before the next begins. */
const read = new Uint8Array(8 * 1024);

/**
 * Options for provider sockets. Node would allocate 64 kB for each read. With a slow client several such
 * buffers wait, as many more are not yet collected, and the text decoded from them is as long again.
 */
export const smallReads = {
  highWaterMark: read.length,
  onread: {
    buffer: read,
    callback(this: Readable, length: number): boolean {
      return this.push(read.slice(0, length));
    },
  },
};

const arrived = Promise.resolve();

/**
 * The body of a reply as it arrives. It has one reader, which closes the connection by ending the iteration.
 */
class Body implements AsyncIterableIterator<Uint8Array> {
  readonly #controller: Dispatcher.DispatchController;
  #chunks: Uint8Array[] = [];
  #waiting = 0;
  /** Continues the reader, which waits for a chunk or the end. */
  #wake: (() => void) | undefined;
  #end: { readonly error: Error | undefined } | undefined;

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller;
  }

  push(chunk: Uint8Array): void {
    // A provider sends each event as a chunk, and the socket may hold many: the reader gets them together.
    if (this.#chunks.length === 0 && this.#wake) setImmediate(this.#wake);
    // To push to an empty array makes room for 17.
    if (this.#chunks.length > 0) this.#chunks.push(chunk);
    else this.#chunks = [chunk];
    this.#waiting += chunk.length;
    if (this.#waiting >= mostWaiting) this.#controller.pause();
  }

  /** Returns all buffered chunks as one, or else the end. */
  #take(): IteratorResult<Uint8Array> {
    this.#wake = undefined;
    const [only] = this.#chunks;
    if (!only && this.#end?.error) throw this.#end.error;
    if (!only) return { value: undefined, done: true };
    const value = this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#waiting = 0;
    if (this.#controller.paused) this.#controller.resume();
    return { value, done: false };
  }

  end(error?: Error): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const isReady = this.#chunks.length > 0 || this.#end;
    const arrival = isReady ? arrived : new Promise<void>((resolve) => void (this.#wake = resolve));
    return arrival.then(() => this.#take());
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#end) this.#controller.abort(new Error('the rest of the reply is not needed'));
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

const cancelledText = 'the call was cancelled';

interface Endpoint {
  readonly url: URL;
  readonly origin: string;
  readonly path: string;
}

const endpoints = new LRUCache<string, Endpoint>({ max: 1000 });

/** Caches parsed URLs, since a gateway calls few endpoints. */
export function getEndpoint(address: string): Endpoint {
  const known = endpoints.get(address);
  if (known) return known;
  const url = new URL(address);
  const endpoint = { url, origin: url.origin, path: url.pathname + url.search };
  endpoints.set(address, endpoint);
  return endpoint;
}

/**
 * True if the provider closed a connection on which it had sent something before, if only the reply to
 * another request or, with HTTP/2, its settings. undici itself closes a connection with another message:
 * `bad upgrade`, `bad response`.
 */
export function wasReused(error: unknown): boolean {
  if (
    !(error instanceof Error) ||
    !('code' in error) ||
    error.code !== 'UND_ERR_SOCKET' ||
    !error.message.endsWith('closed') ||
    !('socket' in error)
  )
    return false;
  const { socket } = error;
  return (
    typeof socket === 'object' && socket !== null && 'bytesRead' in socket && Number(socket.bytesRead) > 0
  );
}

/**
 * Sends a request. Resolves with the head of the reply. When the call is cancelled, it rejects or breaks off
 * the body. `onSent` is called when the request is assigned to a connection; before that, the provider knows
 * nothing of it.
 */
export function send(
  dispatcher: Dispatcher,
  { url, method, headers, body }: UpstreamRequest,
  cancellation: Cancellation,
  onSent: () => void,
): Promise<UpstreamResponse> {
  const { origin, path } = getEndpoint(url);
  return new Promise((resolve, reject) => {
    let connection: Dispatcher.DispatchController | undefined;
    let reply: Body | undefined;
    const finish = (error?: Error): void => {
      cancellation.dropCallback(stop);
      reply?.end(error);
      if (error) reject(error);
    };
    const stop = (): void => {
      const error = new Error(cancelledText);
      if (connection) connection.abort(error);
      else finish(error);
    };
    if (cancellation.cancelled) return reject(new Error(cancelledText));
    cancellation.onCancel(stop);
    dispatcher.dispatch(
      { origin, path, method, headers, body },
      {
        onRequestStart(controller) {
          connection = controller;
          if (cancellation.cancelled) return stop();
          onSent();
        },
        onResponseStart(controller, status, responseHeaders) {
          // Informational (1xx) replies precede the real one.
          if (status < 200) return;
          reply = new Body(controller);
          resolve({ status, headers: responseHeaders, body: reply });
        },
        onResponseData: (_, chunk) => reply?.push(chunk),
        onResponseEnd: () => finish(),
        onResponseError: (_, error) => finish(error),
      },
    );
  });
}
