/**
 * One request over undici's pool, at its lowest level: the reply's chunks come straight from the socket, in the
 * order they arrive, and the socket is paused while nobody takes them. A Readable in between would cost a third
 * of the time a call takes here.
 */
import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import type { UpstreamRequest, UpstreamResponse } from '../provider.ts';
import type { Cancellation } from '../util/cancellation.ts';

/** Bytes that may wait to be taken before the vendor is slowed down; a slow client costs some of these, and no more. */
const mostWaiting = 8 * 1024;

/** All vendors' sockets are read by it, since each read is over before the next begins. */
const read = new Uint8Array(8 * 1024);

/**
 * How a vendor's socket is read. Node would set 64 kB aside for each read; for a slow client several such buffers wait,
 * as many again are not collected yet, and the text made of them is as long.
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

/** A reply's body while it arrives: taken by one reader, let go of by ending the iteration. */
class Body implements AsyncIterableIterator<Uint8Array> {
  readonly #controller: Dispatcher.DispatchController;
  #chunks: Uint8Array[] = [];
  #waiting = 0;
  #reader: { resolve(result: IteratorResult<Uint8Array>): void; reject(error: Error): void } | undefined;
  #scheduled = false;
  #end: { readonly error: Error | undefined } | undefined;

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#waiting += chunk.length;
    if (this.#waiting >= mostWaiting) this.#controller.pause();
    if (!this.#reader || this.#scheduled) return;
    // Not at once: a vendor sends each event as a chunk, and the socket holds many of them, to be read now in a few goes.
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    const reader = this.#reader;
    if (!reader || this.#chunks.length === 0) return;
    this.#reader = undefined;
    reader.resolve({ value: this.#take(), done: false });
  }

  /** All that waits, in one piece. */
  #take(): Uint8Array {
    const [only] = this.#chunks;
    const value = only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#waiting = 0;
    if (this.#controller.paused) this.#controller.resume();
    return value;
  }

  end(error?: Error): void {
    this.#end ??= { error };
    // A reply that is there whole is handed on at once.
    this.#deliver();
    const reader = this.#reader;
    this.#reader = undefined;
    if (!reader) return;
    if (error) reader.reject(error);
    else reader.resolve({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#chunks.length > 0) return Promise.resolve({ value: this.#take(), done: false });
    if (this.#end?.error) return Promise.reject(this.#end.error);
    if (this.#end) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#end) this.#controller.abort(new Error('the rest of the reply is not wanted'));
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

const givenUp = 'the call was given up';

const addresses = new LRUCache<string, { readonly origin: string; readonly path: string }>({ max: 1000 });

/** A gateway calls the same few addresses all its life. */
function addressOf(url: string): { readonly origin: string; readonly path: string } {
  const known = addresses.get(url);
  if (known) return known;
  const { origin, pathname, search } = new URL(url);
  const address = { origin, path: pathname + search };
  addresses.set(url, address);
  return address;
}

/** Whether the other side closed a connection on which it had sent something before, if only the reply to another request. */
export function wasKept(error: unknown): boolean {
  if (
    !(error instanceof Error) ||
    !('code' in error) ||
    error.code !== 'UND_ERR_SOCKET' ||
    !('socket' in error)
  )
    return false;
  const { socket } = error;
  return (
    typeof socket === 'object' && socket !== null && 'bytesRead' in socket && Number(socket.bytesRead) > 0
  );
}

/**
 * Sends a request; resolves with the head of its reply. Rejects, or breaks the body off, when the call is cancelled.
 * `onSent` is called when the request goes on a connection: until then the vendor knows nothing of it.
 */
export function send(
  dispatcher: Dispatcher,
  { url, method, headers, body }: UpstreamRequest,
  cancellation: Cancellation,
  onSent: () => void,
): Promise<UpstreamResponse> {
  const { origin, path } = addressOf(url);
  return new Promise((resolve, reject) => {
    let connection: Dispatcher.DispatchController | undefined;
    let reply: Body | undefined;
    const over = (error?: Error): void => {
      release();
      reply?.end(error);
      if (error) reject(error);
    };
    const stop = (): void => {
      const error = new Error(givenUp);
      if (connection) connection.abort(error);
      else over(error);
    };
    if (cancellation.cancelled) return reject(new Error(givenUp));
    const release = cancellation.onCancel(stop);
    dispatcher.dispatch(
      { origin, path, method, headers, body },
      {
        onRequestStart(controller) {
          connection = controller;
          if (cancellation.cancelled) return stop();
          onSent();
        },
        onResponseStart(controller, status, responseHeaders) {
          // 1xx replies come before the real one.
          if (status < 200) return;
          reply = new Body(controller);
          resolve({ status, headers: responseHeaders, body: reply });
        },
        onResponseData: (_, chunk) => reply?.push(chunk),
        onResponseEnd: () => over(),
        onResponseError: (_, error) => over(error),
      },
    );
  });
}
