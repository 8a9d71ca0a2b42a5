/**
 * The default dispatcher: http-proxy-3 sends the finished `UpstreamRequest` by Node's own client, through an
 * agent that keeps connections. Its `selfHandleResponse` leaves the reply to the lanes (see decisions/2).
 */
import { IncomingMessage, ServerResponse, type ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import httpProxy, { type ProxyServer } from 'http-proxy-3';
import type { Config } from './config.ts';
import type { Attempt, Routed } from './exchange.ts';
import type { UpstreamRequest, UpstreamResponse } from './provider.ts';
import { openAgents, type Agents } from './upstream/agents.ts';
import { decompress } from './upstream/decompress.ts';
import { GatewayError, readSystemCode } from './util/errors.ts';

type Timeouts = Pick<Config['timeouts'], 'connect' | 'idle'>;

export type Dispatcher = ReturnType<typeof createDispatcher>;

export function createDispatcher(timeouts: Timeouts) {
  // The variable would route requests through Node's fetch.
  delete process.env.FORCE_FETCH_PATH;
  const agents = openAgents();
  const proxy = httpProxy.createProxyServer({ ignorePath: true, selfHandleResponse: true });
  proxy.on('proxyReq', (outgoing, request) => {
    if (request instanceof SentRequest) request.sending.begin(outgoing);
  });
  proxy.on('proxyRes', (reply, request) => {
    if (request instanceof SentRequest) request.sending.receive(reply);
  });
  return {
    async dispatch(request: UpstreamRequest, exchange: Routed): Promise<UpstreamResponse> {
      for (let isFirst = true; ; isFirst = false) {
        const sending = new Sending(request.url, exchange.attempt, timeouts);
        try {
          return decompress(await sending.send(request, proxy, agents));
        } catch (error) {
          if (!isFirst || !sending.isReused || !maySendAgain(error, exchange))
            throw toUnreachableError(error);
        }
      }
    },
    close: (): void => agents.close(),
  };
}

/** The bytes of a piece at most: text and events of several wait for each client that reads slowly. */
const longestPiece = 8 * 1024;

/**
 * A body in pieces, one in each turn of the event loop: when many streams start together, the first pieces of
 * all are sent before the rest of any. JSON is no stream and comes as it arrives.
 */
async function* readPieces(reply: IncomingMessage): AsyncGenerator<Uint8Array> {
  const longest = reply.headers['content-type']?.startsWith('application/json') ? Infinity : longestPiece;
  for await (const first of reply) {
    const joined = joinWaiting(first, reply);
    for (let at = 0; at < joined.length; at += longest) {
      if (at > 0) await nextTurn();
      yield joined.subarray(at, at + longest);
    }
  }
}

/**
 * A chunk with those behind it that have arrived, up to about a piece. Many providers send each event as an
 * HTTP chunk, and a stream's iterator would give them one by one.
 */
function joinWaiting(first: Buffer, reply: IncomingMessage): Buffer {
  const chunks = [first];
  let size = first.length;
  for (let next; size < longestPiece && (next = readChunk(reply)); size += next.length) chunks.push(next);
  return chunks.length > 1 ? Buffer.concat(chunks, size) : first;
}

function readChunk(reply: IncomingMessage): Buffer | undefined {
  const chunk: unknown = reply.read();
  return Buffer.isBuffer(chunk) ? chunk : undefined;
}

/** An error of a connection, with a code as Node's own have. */
function toConnectionError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

const cancelled = 'CANCELLED';
const connectTimeout = 'CONNECT_TIMEOUT';

/** The socket of requests that http-proxy-3 gets: it would watch the client's, and end drained replies. */
const noSocket = new Socket();

/** What http-proxy-3 gets for a client's request: our headers and our body alone. */
class SentRequest extends IncomingMessage {
  readonly sending: Sending;

  constructor(sending: Sending, { method, headers, body, source }: UpstreamRequest) {
    super(noSocket);
    const bytes = Buffer.from(body);
    const { length } = source ?? bytes;
    this.sending = sending;
    this.method = method;
    this.headers = { ...headers, ...(method === 'GET' ? {} : { 'content-length': String(length) }) };
    if (bytes.length > 0) this.push(bytes);
    this.push(null);
    // Node destroys the socket of an incomplete message.
    this.complete = true;
  }
}

class Sending {
  readonly #target: URL;
  readonly #attempt: Attempt;
  readonly #timeouts: Timeouts;
  readonly #head = Promise.withResolvers<UpstreamResponse>();
  /** Set when the request has a connection, or waits for its handshake. */
  #outgoing: ClientRequest | undefined;
  #reply: IncomingMessage | undefined;
  #source: Readable | undefined;
  /** Ends the request, or breaks off the reply, of a cancelled call. */
  readonly #stop = (): void => {
    (this.#reply ?? this.#outgoing)?.destroy(toConnectionError(cancelled, 'the call was cancelled'));
  };
  readonly #fail = (error: Error): void => {
    this.#attempt.cancellation.dropCallback(this.#stop);
    this.#head.reject(error);
  };

  constructor(url: string, attempt: Attempt, timeouts: Timeouts) {
    this.#target = new URL(url);
    this.#attempt = attempt;
    this.#timeouts = timeouts;
  }

  /** Whether the request went out on a connection that was kept from an earlier one. */
  get isReused(): boolean {
    return this.#outgoing?.reusedSocket ?? false;
  }

  /** Resolves with the head of the reply. When the call is cancelled, it rejects or breaks off the body. */
  send(request: UpstreamRequest, proxy: ProxyServer, agents: Agents): Promise<UpstreamResponse> {
    const { cancellation } = this.#attempt;
    if (cancellation.cancelled) this.#fail(toConnectionError(cancelled, 'the call was cancelled'));
    else {
      cancellation.onCancel(this.#stop);
      // Keeps no body: a short one would hold a pool of Node's until the reply has ended.
      const sent = new SentRequest(this, request);
      const buffer = request.source && Readable.from(request.source.read(), { objectMode: false });
      this.#source = buffer?.on('error', this.#fail);
      buffer?.on('close', () => buffer.readableEnded || this.#outgoing?.destroy());
      const options = { target: this.#target, agent: agents.find(this.#target), ...(buffer && { buffer }) };
      proxy.web(sent, new ServerResponse(sent), options, this.#fail);
    }
    return this.#head.promise;
  }

  /** The request has a socket. A new one still has to connect, and the provider knows nothing of the call. */
  begin(outgoing: ClientRequest): void {
    const attempt = this.#attempt;
    this.#outgoing = outgoing;
    // After a change of protocols, Node closes the connection without an error.
    outgoing.once('close', () => {
      this.#source?.destroy();
      if (!this.#reply) this.#fail(toConnectionError('ECONNRESET', 'the connection closed'));
    });
    if (attempt.cancellation.cancelled) return this.#stop();
    if (outgoing.reusedSocket) {
      attempt.sent = true;
      return;
    }
    const noteSent = (): void => {
      clearTimeout(timer);
      attempt.sent = true;
    };
    const timer = setTimeout(
      () => outgoing.destroy(toConnectionError(connectTimeout, 'the connection took too long')),
      this.#timeouts.connect,
    ).unref();
    outgoing.socket?.once(this.#target.protocol === 'https:' ? 'secureConnect' : 'connect', noteSent);
    // A tunnel through a proxy is connected before the request has it.
    outgoing.once('finish', noteSent).once('close', () => clearTimeout(timer));
  }

  receive(reply: IncomingMessage): void {
    const { cancellation } = this.#attempt;
    const { idle } = this.#timeouts;
    this.#reply = reply;
    this.#attempt.sent = true;
    reply.once('close', () => cancellation.dropCallback(this.#stop));
    // A provider may refuse a body of which it has read the beginning.
    if (this.#source) reply.once('end', () => this.#source?.destroy());
    // A reply that nothing reads is not silent: its client is slow.
    const watch = (): void => {
      if (reply.readableLength > 0) reply.setTimeout(idle);
      else reply.destroy(toConnectionError('ETIMEDOUT', 'the provider stopped sending'));
    };
    reply.setTimeout(idle, watch);
    this.#head.resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: readPieces(reply) });
  }
}

/** Milliseconds in which a kept connection shows that it is closed. Later, the provider is at work. */
const longestClose = 1000;

/**
 * A provider may close a kept connection just as it is used again: a hang-up, which no system call reports. A
 * picture may be in the making all the same, so image calls are not sent again.
 */
function maySendAgain(error: unknown, { attempt }: Routed): boolean {
  return (
    error instanceof Error &&
    readSystemCode(error) === 'ECONNRESET' &&
    !('syscall' in error) &&
    performance.now() - attempt.startedAt < longestClose &&
    !attempt.target.model.output.includes('image')
  );
}

/** `toAttemptError` knows better what became of a cancelled attempt. */
function toUnreachableError(error: unknown): GatewayError {
  if (readSystemCode(error) === connectTimeout)
    return new GatewayError('timeout', 'The provider did not accept a connection in time.', { cause: error });
  return new GatewayError('upstream_failed', 'The provider could not be reached.', { cause: error });
}
