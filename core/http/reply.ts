/**
 * What one client is sent: a head once, text with back-pressure, a sign of life while the vendor is silent. A
 * head is kept back until there is something to say, so that an error before the first byte still has its own status.
 */
import type { ServerResponse } from 'node:http';
import type { Core } from '../core.ts';
import type { Recording } from '../exchange.ts';
import { releaseAfter } from '../process/memory.ts';
import { ReplyMemory } from '../upstream/reply-memory.ts';
import { headersNaming } from './request-id.ts';

/** Milliseconds between two probes of a client that has closed its side: soon at first, for those that are near. */
const firstProbe = 10;
const longestProbe = 5000;

export class Reply {
  /** The id of the exchange, for whoever asks after it. */
  readonly id: string;
  readonly #response: ServerResponse;
  readonly #core: Pick<Core, 'calls' | 'longestStall' | 'replies'>;
  readonly #headers: Record<string, string>;
  #status = 200;
  #beat: NodeJS.Timeout | undefined;
  /** What the vendor's reply takes, until the client has it or is gone. */
  readonly memory: ReplyMemory;
  /** What is kept of the reply, while someone asked for it. */
  #tape: { bytes: Buffer[]; room: number; whole: boolean } | undefined;

  constructor(response: ServerResponse, id: string, core: Pick<Core, 'calls' | 'longestStall' | 'replies'>) {
    this.id = id;
    this.#core = core;
    this.#response = response;
    this.memory = new ReplyMemory(core.replies);
    response.once('close', () => this.memory.release());
    this.#headers = headersNaming(id);
  }

  /** Whether the head is on its way: from then on an error has to be told inside the stream. */
  get started(): boolean {
    return this.#response.headersSent;
  }

  /** Sets the head; it goes out with the first text. Later calls before that override earlier ones. */
  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#status = status;
    Object.assign(this.#headers, headers);
  }

  /** Answers a promise only where the client is slower than the vendor; it resolves when it caught up, or left. */
  write(text: string): Promise<void> | undefined {
    if (this.#response.destroyed) return undefined;
    if (!this.started) this.#begin();
    this.#keep(text);
    this.#beat?.refresh();
    return this.#response.write(bytesOf(text)) ? undefined : this.#drained();
  }

  /** Sends the last text and ends; a reply that is all in this call states its length. */
  finish(text: string | Uint8Array): void {
    clearInterval(this.#beat);
    if (this.#response.destroyed) return;
    if (!this.started) {
      this.#headers['content-length'] = String(Buffer.byteLength(text));
      this.#begin();
    }
    this.#keep(text);
    this.#response.end(bytesOf(text));
    if (this.#response.writableLength > 0) this.#watchStall();
  }

  /** From now on a silence of `milliseconds` is filled with `text`, the head sent early if need be. */
  keepAlive(text: string, milliseconds: number): void {
    this.#beat = setInterval(() => {
      // A client that is behind has enough to take.
      if (!this.#response.writableNeedDrain) void this.write(text);
    }, milliseconds).unref();
  }

  /**
   * The client has closed its side. It may be gone, or only have nothing more to say. Where it is gone, what it is sent
   * comes back as a reset, which the next write reports. Every client of HTTP/1.1 skips an interim reply, and every one of
   * a stream its keep-alive.
   */
  probe(httpVersion: string, keepAlive: string, pause = firstProbe): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (!this.started && httpVersion === '1.1') this.#response.writeContinue();
    else if (this.started && keepAlive !== '' && !this.#response.writableNeedDrain)
      void this.write(keepAlive);
    // Nothing can be sent between two events of such a stream. A client that withstood a probe before its first is there.
    else if (this.started && keepAlive === '')
      return pause === firstProbe ? void this.#response.destroy() : undefined;
    setTimeout(() => this.probe(httpVersion, keepAlive, Math.min(pause * 4, longestProbe)), pause).unref();
  }

  /** From now on keeps what is sent, up to `limit` bytes. */
  record(limit: number): void {
    this.#tape = { bytes: [], room: limit, whole: true };
  }

  /**
   * What was kept, with the last word that is still held back; nothing is kept any more. Its head is without the call's id,
   * and without what it told of allowances: both are true of this call alone.
   */
  recording(lastWord: string, allowances: Readonly<Record<string, string>> = {}): Recording | undefined {
    this.#keep(lastWord);
    const tape = this.#tape;
    this.#tape = undefined;
    if (!tape) return undefined;
    const own = { ...headersNaming(this.id), ...allowances };
    const headers = Object.fromEntries(
      Object.entries(this.#headers).filter(([name]) => own[name] === undefined),
    );
    return { status: this.#status, headers, body: Buffer.concat(tape.bytes), whole: tape.whole };
  }

  #keep(text: string | Uint8Array): void {
    const tape = this.#tape;
    if (!tape?.whole) return;
    const bytes = Buffer.from(text);
    tape.room -= bytes.length;
    tape.whole = tape.room >= 0;
    if (tape.whole) tape.bytes.push(bytes);
  }

  #begin(): void {
    // Who is about to go takes no further call by this connection.
    if (this.#core.calls.draining) this.#response.shouldKeepAlive = false;
    this.#response.writeHead(this.#status, this.#headers);
  }

  /** A client that takes nothing at all for so long is cut off: sockets know whether what they hold gets less. */
  #watchStall(): void {
    this.#response.setTimeout(this.#core.longestStall);
  }

  #drained(): Promise<void> {
    const response = this.#response;
    this.#watchStall();
    return new Promise((resolve) => {
      const settle = (): void => {
        response.setTimeout(0);
        response.off('drain', settle);
        response.off('close', settle);
        resolve();
      };
      response.on('drain', settle);
      response.on('close', settle);
    });
  }
}

/** From this length on a text is turned into bytes here, once: Node would join it with the head first, and copy both. */
const longText = 1024 * 1024;

function bytesOf(text: string | Uint8Array): string | Uint8Array {
  if (typeof text !== 'string' || text.length < longText) return text;
  const bytes = Buffer.from(text);
  releaseAfter(bytes.length);
  return bytes;
}
