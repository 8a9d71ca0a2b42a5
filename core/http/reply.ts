/**
 * Sends one reply: its head once, text with back-pressure, and keep-alives while the provider is silent. The
 * head waits for the first text, so that an error before it can still have its own status.
 */
import type { ServerResponse } from 'node:http';
import type { Recording } from '../exchange.ts';
import { releaseAfter } from '../util/memory.ts';
import { formatUsd, type Nano } from '../util/money.ts';
import { buildIdHeaders } from './arrival.ts';
import { ReplyMemory, type ReplyBudget } from './reply-memory.ts';
import { costHeader } from './request-headers.ts';

/** The memory that each piece takes beyond its bytes. */
const perPiece = 100;

/** Copies a reply for `replay`, up to a limit. It takes only memory that other replies can spare. */
export class Tape {
  readonly #memory: ReplyMemory;
  #pieces: Buffer[] = [];
  #room: number;
  #whole = true;
  #stopped = false;

  constructor(budget: ReplyBudget, limit: number) {
    this.#memory = new ReplyMemory(budget);
    this.#room = limit;
  }

  /** Keeps a piece, unless one did not fit before. Without memory it drops the earlier pieces too. */
  add(text: string | Uint8Array): void {
    if (this.#stopped || !this.#whole) return;
    const bytes = Buffer.from(text);
    this.#room -= bytes.length;
    const hasMemory = this.#memory.addSpare(bytes.length + perPiece);
    this.#whole = hasMemory && this.#room >= 0;
    if (this.#whole) this.#pieces.push(bytes);
    if (hasMemory) return;
    this.#pieces = [];
    this.release();
  }

  stop(): { readonly body: Buffer; readonly whole: boolean } {
    this.#stopped = true;
    const body = Buffer.concat(this.#pieces);
    this.#pieces = [];
    return { body, whole: this.#whole };
  }

  /** Releases the memory. Call it once the copy is stored. */
  release(): void {
    this.#memory.release();
  }
}

/** Milliseconds between two probes of a half-closed client, at first short: most such clients are gone. */
const firstProbe = 10;
const longestProbe = 5000;

export interface ReplyCore {
  readonly calls: { readonly stopping: boolean };
  /** Milliseconds a client may read nothing before it is disconnected. */
  readonly longestStall: number;
  readonly replies: ReplyBudget;
}

/** The reply to one call, wherever it goes. */
export abstract class Reply {
  readonly id: string;
  /** The memory that the provider's reply takes, released when the client has the reply or disconnects. */
  readonly memory: ReplyMemory;
  /** The recording for `replay`, if one was asked for. */
  tape: Tape | undefined;
  /** True once the head was sent. From then on errors are sent inside the stream. */
  abstract readonly started: boolean;
  protected status = 200;
  protected readonly headers: Record<string, string>;
  readonly #budget: ReplyBudget;

  constructor(id: string, budget: ReplyBudget) {
    this.id = id;
    this.memory = new ReplyMemory(budget);
    this.headers = buildIdHeaders(id);
    this.#budget = budget;
  }

  /** If the client is slower than the provider, resolves when it has caught up or disconnected. */
  abstract write(text: string | Uint8Array): Promise<void> | undefined;

  /** Sends the last text and ends the reply. Without text it breaks off, so that it does not look whole. */
  abstract finish(text: string | Uint8Array | undefined): void;

  /** Sends `text` after each silence of `milliseconds`, with the head first if it was not sent. */
  abstract keepAlive(text: string, milliseconds: number): void;

  /** Sets the head. It is sent with the first text; later calls before that override earlier ones. */
  setHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.status = status;
    Object.assign(this.headers, headers);
  }

  /** Adds the cost of the call to the head, unless that was sent. */
  addCost(cost: Nano): void {
    if (!this.started) this.headers[costHeader] = formatUsd(cost);
  }

  /** Starts to record what is sent, up to `limit` bytes, and nothing if replies need the memory. */
  record(limit: number): void {
    this.tape = new Tape(this.#budget, limit);
  }

  /**
   * Ends the recording and returns it, with the last text that is still held back. It leaves out the request
   * id and the allowance headers, since both belong to this call alone.
   */
  endRecording(
    lastText: string | Uint8Array | undefined,
    allowances: Readonly<Record<string, string>> = {},
  ): Recording | undefined {
    if (!this.tape) return undefined;
    if (lastText !== undefined) this.tape.add(lastText);
    const own = { ...buildIdHeaders(this.id), ...allowances };
    const headers = Object.fromEntries(
      Object.entries(this.headers).filter(([name]) => own[name] === undefined),
    );
    const { body, whole } = this.tape.stop();
    return { status: this.status, headers, body, whole: whole && lastText !== undefined };
  }
}

/** A reply by HTTP, with a head of its own and trailers. */
export class HttpReply extends Reply {
  readonly #response: ServerResponse;
  readonly #core: ReplyCore;
  #beat: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse, id: string, core: ReplyCore) {
    super(id, core.replies);
    this.#core = core;
    this.#response = response;
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  write(text: string | Uint8Array): Promise<void> | undefined {
    if (this.#response.destroyed) return undefined;
    if (!this.started) this.#begin();
    this.tape?.add(text);
    this.#beat?.refresh();
    const hasRoom = this.#response.write(encodeText(text));
    return hasRoom ? undefined : this.#waitForDrain();
  }

  /** If nothing was sent before, it sets `content-length`. */
  finish(text: string | Uint8Array | undefined): void {
    clearInterval(this.#beat);
    if (text === undefined) return void this.#response.destroy();
    if (this.#response.destroyed) return;
    if (!this.started) {
      this.headers['content-length'] = String(Buffer.byteLength(text));
      this.#begin();
    }
    this.tape?.add(text);
    this.#response.end(encodeText(text));
    if (this.#response.writableLength > 0) this.#watchStall();
  }

  keepAlive(text: string, milliseconds: number): void {
    this.#beat = setInterval(() => {
      // A client that is behind has unread bytes already.
      if (!this.#response.writableNeedDrain) void this.write(text);
    }, milliseconds).unref();
  }

  /**
   * Finds out whether a client that closed its side is gone, or has only half-closed. A client that is gone
   * answers with a reset, which the next write reports. HTTP/1.1 clients skip an interim reply, and clients
   * of a stream skip its keep-alive.
   */
  probe(httpVersion: string, keepAlive: string, pause = firstProbe): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (!this.started && httpVersion === '1.1') this.#response.writeContinue();
    else if (this.started && keepAlive !== '' && !this.#response.writableNeedDrain)
      void this.write(keepAlive);
    // This stream has no keep-alive, so nothing can be sent between events. A client that survived a probe
    // is connected.
    else if (this.started && keepAlive === '')
      return pause === firstProbe ? void this.#response.destroy() : undefined;
    setTimeout(() => this.probe(httpVersion, keepAlive, Math.min(pause * 4, longestProbe)), pause).unref();
  }

  /** Adds the cost to the head, or to the trailers after the head if the client takes them. */
  override addCost(cost: Nano): void {
    super.addCost(cost);
    if (this.started && this.#response.hasHeader('trailer'))
      this.#response.addTrailers({ [costHeader]: formatUsd(cost) });
  }

  #begin(): void {
    // A gateway that is stopping takes no further call on this connection.
    if (this.#core.calls.stopping) this.#response.shouldKeepAlive = false;
    // Trailers follow chunks, which HTTP/1.0 lacks.
    const { req, useChunkedEncodingByDefault: isChunked } = this.#response;
    if (isChunked && req.headers.te?.includes('trailers') && !('content-length' in this.headers))
      this.#response.setHeader('trailer', costHeader);
    this.#response.writeHead(this.status, this.headers);
  }

  /** Disconnects a client that reads nothing for `longestStall` milliseconds. */
  #watchStall(): void {
    this.#response.setTimeout(this.#core.longestStall);
  }

  #waitForDrain(): Promise<void> {
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

/** Node would join a long text with the head and copy both, so it is encoded here, once. */
const longText = 1024 * 1024;

function encodeText(text: string | Uint8Array): string | Uint8Array {
  if (typeof text !== 'string' || text.length < longText) return text;
  const bytes = Buffer.from(text);
  releaseAfter(bytes.length);
  return bytes;
}
