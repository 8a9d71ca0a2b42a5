/**
 * One WebSocket: its lanes, in each of which one response follows another, and its end. A client that does
 * not read pauses the providers, one that is gone cancels them, and nothing that it sends is held beyond a
 * limit.
 */
import type { WebSocket } from 'ws';
import {
  GatewayError,
  parseJson,
  takeTurn,
  toGatewayError,
  type HeldBytes,
  type UpgradedConnection,
} from '../../../../core/index.ts';
import type { SocketOptions } from '../web-sockets.ts';
import { encodeOwnError, encodeSteerFailure, readFrame, readLane, type CreateFrame } from './frames.ts';
import type { Memory } from './memory.ts';
import { runTurn, type TurnContext } from './turn.ts';

/** Bytes of an unfinished frame that are not counted: ordinary frames are shorter. */
const uncounted = 64 * 1024;
/** Pings without an answer after which a client counts as gone. */
const mostMissed = 2;
/** Bytes that wait for a client. Beyond that, its providers are paused. */
const mostUnread = 16 * 1024;

const codes = { leaving: 1001, unsupported: 1003, policy: 1008, again: 1013 };

interface Waiting {
  readonly frame: CreateFrame;
  readonly held: HeldBytes;
}

export class Connection {
  readonly #socket: WebSocket;
  readonly #upgraded: UpgradedConnection;
  readonly #options: SocketOptions;
  readonly #context: TurnContext;
  /** The frames that wait in each lane that is in use. */
  readonly #lanes = new Map<string, Waiting[]>();
  readonly #gone = new AbortController();
  /** The frame that is arriving: its bytes so far. */
  #arriving = 0;
  readonly #arrivingHeld: HeldBytes;
  /** Pending while frames wait for their turn to be read. */
  #reading: Promise<void> = Promise.resolve();
  #waiting = 0;
  #missedPings = 0;
  /** Pending while the client has not read most of what was sent. */
  #catchingUp: Promise<void> | undefined;
  /** Why no further response is made. */
  #ending: 'stopping' | 'expired' | undefined;
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #idle: NodeJS.Timeout;

  constructor(
    socket: WebSocket,
    upgraded: UpgradedConnection,
    options: SocketOptions,
    { memory, readCall }: { readonly memory: Memory; readonly readCall: TurnContext['readCall'] },
  ) {
    this.#socket = socket;
    this.#upgraded = upgraded;
    this.#options = options;
    this.#context = { connection: upgraded, memory, readCall, send: (frame) => this.#send(frame) };
    this.#arrivingHeld = upgraded.holdBytes();
    this.#idle = setTimeout(() => this.#closeIdle(), options.idle).unref();
    this.#timers = [
      this.#idle,
      setInterval(() => this.#sendPing(), options.ping).unref(),
      setTimeout(() => this.#end('expired'), options.life).unref(),
    ];
    upgraded.socket.prependListener('data', (chunk: Buffer) => this.#count(chunk));
    upgraded.socket.on('timeout', () => socket.terminate());
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => void (this.#missedPings = 0));
    // `ws` closes a connection that breaks its rules, with the code for it.
    socket.on('error', () => undefined);
    socket.on('close', () => this.#release());
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Lets what runs finish, then closes. */
  drain(): void {
    this.#end('stopping');
  }

  #end(ending: 'stopping' | 'expired'): void {
    this.#ending ??= ending;
    this.#closeIfEnding();
  }

  #closeIfEnding(): void {
    if (this.#ending === undefined || this.#lanes.size > 0) return;
    if (this.#ending === 'expired') this.#sendEnding(undefined);
    const reason = this.#ending === 'expired' ? 'it has lasted as long as it may' : 'the gateway is stopping';
    this.#socket.close(codes.leaving, reason);
  }

  /** Says why no response is made any more. */
  #sendEnding(streamId: string | undefined): void {
    if (this.#ending === 'stopping') {
      const message = 'The gateway is stopping: connect again, and send it there.';
      return this.#refuse(new GatewayError('shutting_down', message, { retryAfter: 1 }), streamId);
    }
    const minutes = Math.ceil(this.#options.life / 60_000);
    const message = `A connection lasts ${minutes} minutes: connect again, and send all of the conversation.`;
    const error = new GatewayError('invalid_request', message);
    this.#refuse(error, streamId, 'websocket_connection_limit_reached');
  }

  #closeIdle(): void {
    if (this.#lanes.size > 0) this.#idle.refresh();
    else this.#socket.close(codes.leaving, 'idle');
  }

  #sendPing(): void {
    // While the client takes a reply, a pong may be far behind. A stall is noticed all the same.
    if (this.#missedPings >= mostMissed && this.#lanes.size === 0) return this.#socket.terminate();
    this.#missedPings += 1;
    this.#socket.ping();
  }

  #release(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#gone.abort();
    this.#arrivingHeld.release();
    this.#context.memory.clear();
  }

  /** Counts what arrives, before `ws` has a whole frame of it. */
  #count(chunk: Buffer): void {
    this.#arriving += chunk.length;
    if (this.#arriving <= uncounted) return;
    try {
      this.#arrivingHeld.take(chunk.length);
    } catch (error) {
      this.#refuse(toGatewayError(error), undefined);
      this.#socket.close(codes.again, 'no memory for this frame');
      // The rest of the frame is not read.
      this.#socket.pause();
    }
  }

  #receive(data: unknown, isBinary: boolean): void {
    if (!this.#isOpen) return;
    this.#arriving = 0;
    this.#missedPings = 0;
    this.#arrivingHeld.release();
    this.#idle.refresh();
    if (isBinary || !Buffer.isBuffer(data)) {
      this.#refuse(new GatewayError('invalid_request', 'A frame has to be JSON text.'), undefined);
      return this.#socket.close(codes.unsupported, 'binary');
    }
    const held = this.#upgraded.holdBytes();
    try {
      held.take(data.length);
    } catch (error) {
      return this.#refuse(toGatewayError(error), undefined);
    }
    this.#reading = this.#reading.then(() => this.#read(data, held));
  }

  async #read(data: Buffer, held: HeldBytes): Promise<void> {
    let streamId: string | undefined;
    try {
      await takeTurn(data.length);
      if (!this.#isOpen) return held.release();
      const { value, text } = parseJson(data);
      streamId = readLane(value);
      const create = readFrame(value);
      if (create.type === 'response.steer') {
        const isKnown = this.#context.memory.find(create.previous_response_id) !== undefined;
        void this.#send(encodeSteerFailure(create, isKnown));
        this.#pauseReading();
        held.release();
      } else if (this.#ending === undefined) this.#enqueue(streamId ?? '', { frame: { create, text }, held });
      else {
        held.release();
        this.#sendEnding(streamId);
      }
    } catch (error) {
      held.release();
      this.#refuse(toGatewayError(error), streamId);
    }
  }

  #enqueue(lane: string, waiting: Waiting): void {
    const { lanes, waiting: mostWaiting } = this.#options;
    const queue = this.#lanes.get(lane);
    if (queue) {
      if (this.#waiting >= mostWaiting)
        throw new GatewayError('rate_limited', `At most ${mostWaiting} frames may wait on a connection.`);
      this.#waiting += 1;
      queue.push(waiting);
      return;
    }
    if (this.#lanes.size >= lanes)
      throw new GatewayError('rate_limited', `A connection may use ${lanes} lanes at once.`, {
        param: 'stream_id',
      });
    const own: Waiting[] = [];
    this.#lanes.set(lane, own);
    void this.#runLane(lane, waiting, own);
  }

  async #runLane(lane: string, first: Waiting, queue: Waiting[]): Promise<void> {
    for (let next: Waiting | undefined = first; next; next = queue.shift()) {
      if (next !== first) this.#waiting -= 1;
      await this.#run(next);
    }
    this.#lanes.delete(lane);
    if (!this.#isOpen) return;
    this.#idle.refresh();
    this.#closeIfEnding();
  }

  async #run({ frame, held }: Waiting): Promise<void> {
    const { signal } = this.#gone;
    try {
      if (!this.#isOpen) return;
      if (this.#ending === 'stopping') return this.#sendEnding(readLane(frame.create));
      // A long frame was just parsed, which alone holds the event loop for a while.
      await takeTurn(frame.text.length);
      const isValid = await runTurn(this.#context, frame, signal);
      if (!isValid) this.#socket.close(codes.policy, 'the key is no longer valid');
    } catch (error) {
      if (signal.aborted) return;
      const known = toGatewayError(error);
      if (known.code === 'internal') this.#upgraded.logger.error({ error }, 'a response by WebSocket failed');
      this.#refuse(known, readLane(frame.create));
    } finally {
      held.release();
    }
  }

  #refuse(error: GatewayError, streamId: string | undefined, code?: string): void {
    void this.#send(encodeOwnError(error, streamId, code));
    this.#pauseReading();
  }

  /** Reads no further frames until the client has read what answers those before. */
  #pauseReading(): void {
    if (!this.#catchingUp || this.#socket.isPaused) return;
    this.#socket.pause();
    void this.#catchingUp.then(() => this.#socket.resume());
  }

  /** If the client is behind, resolves when it has caught up or is gone. */
  #send(frame: string): Promise<void> | undefined {
    if (!this.#isOpen) return undefined;
    const isBehind = this.#socket.bufferedAmount + frame.length > mostUnread;
    if (this.#catchingUp || !isBehind) this.#socket.send(frame);
    else this.#catchingUp = this.#sendAndWait(frame);
    return this.#catchingUp;
  }

  /** A client that reads nothing for long is disconnected. */
  async #sendAndWait(frame: string): Promise<void> {
    const { socket, longestStall } = this.#upgraded;
    socket.setTimeout(longestStall);
    await new Promise((resolve) => this.#socket.send(frame, resolve));
    socket.setTimeout(0);
    this.#catchingUp = undefined;
  }
}
