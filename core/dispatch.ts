/**
 * The default dispatcher. http-proxy-3 takes over the client's request and runs its passes over it. A pass of
 * ours replaces its last one, which would copy headers and pipe the bodies: undici sends the finished
 * `UpstreamRequest` (see decisions/2).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import httpProxy from 'http-proxy-3';
import Agent from 'undici/lib/dispatcher/agent.js';
import { advance, type Received, type Routed } from './exchange.ts';
import type { UpstreamRequest, UpstreamResponse } from './provider.ts';
import { decompress } from './upstream/decompress.ts';
import { shareLookups } from './upstream/lookup.ts';
import { openOutgoing } from './upstream/outgoing-proxy.ts';
import { getEndpoint, send, smallReads, wasReused } from './upstream/transport.ts';
import { GatewayError } from './util/errors.ts';

export interface DispatcherOptions {
  /** Milliseconds to connect, and between two chunks of a body. */
  readonly connect: number;
  readonly idle: number;
}

export interface Dispatcher {
  dispatch(request: UpstreamRequest, exchange: Routed): Promise<UpstreamResponse>;
  close(): Promise<void>;
}

interface Connection {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Key of the client connection on an exchange. http-proxy-3 needs the connection, plugins must not have it. A
 * symbol, because values of a WeakMap outlive every minor garbage collection.
 */
const connectionOf = Symbol('connection');

interface Connected {
  readonly [connectionOf]: Connection;
}

/** The exchange, with its client connection. */
export function attachConnection(
  received: Received,
  request: IncomingMessage,
  response: ServerResponse,
): Received & Connected {
  return advance(received, { [connectionOf]: { request, response } });
}

function isConnected<Known extends Received>(exchange: Known): exchange is Known & Connected {
  return connectionOf in exchange;
}

/** Options of one call, with what sends its request. */
export interface Sending extends httpProxy.ServerOptions {
  readonly send: () => void;
}

function isSending(options: httpProxy.ServerOptions): options is Sending {
  return 'send' in options;
}

/**
 * A proxy whose last pass calls `send`. http-proxy-3's own pass, even with its `fetch` option, allocates 6 kB
 * more for each call and loads Node's fetch: 18 MB.
 */
export function createProxy(): Pick<httpProxy.ProxyServer, 'web'> {
  const proxy = httpProxy.createProxyServer();
  proxy.before('web', 'stream', (_request, _response, each) => {
    if (isSending(each)) each.send();
    return true;
  });
  return proxy;
}

/** Milliseconds for which an idle connection to a provider is kept. */
const keepAliveTimeout = 30_000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  // The variable would route every other user of http-proxy-3 in this process through our fetch.
  delete process.env.FORCE_FETCH_PATH;
  const agent = new Agent({
    connect: { timeout: options.connect, lookup: shareLookups(), ...smallReads },
    headersTimeout: 0,
    bodyTimeout: options.idle,
    keepAliveTimeout,
  });
  /** When a connection to each origin was last opened. */
  const openedAt = new Map<string, number>();
  const noteOpened = ({ origin }: URL): void => void openedAt.set(origin, performance.now());
  agent.on('connect', noteOpened);
  const outgoing = openOutgoing({ ...options, keepAlive: keepAliveTimeout, onConnect: noteOpened });
  const proxy = createProxy();

  /** Sends a request, and once more if its kept connection was closed meanwhile. */
  async function ask(request: UpstreamRequest, exchange: Routed): Promise<UpstreamResponse> {
    const { attempt } = exchange;
    const { url, origin } = getEndpoint(request.url);
    const found = outgoing?.find(url);
    const way = found ? await found : agent;
    let isKept = false;
    const noteSent = (): void => {
      attempt.sent = true;
      isKept = (openedAt.get(origin) ?? 0) < attempt.startedAt;
    };
    for (let isFirst = true; ; isFirst = false) {
      try {
        return decompress(await send(way, request, attempt.cancellation, noteSent));
      } catch (error) {
        if (!isFirst || !isKept || !maySendAgain(error, exchange)) throw toUnreachableError(error, exchange);
      }
    }
  }

  return {
    dispatch(request, exchange) {
      if (!isConnected(exchange))
        throw new GatewayError('internal', 'This exchange came in by no connection that could be proxied.');
      const { [connectionOf]: connection } = exchange;
      let response: Promise<UpstreamResponse> | undefined;
      const sending: Sending = {
        target: getEndpoint(request.url).url,
        send() {
          response = ask(request, exchange);
        },
      };
      // All passes run before it returns.
      proxy.web(connection.request, connection.response, sending);
      if (!response) throw new GatewayError('internal', 'The proxy did not send the request.');
      return response;
    },
    async close() {
      await Promise.all([agent.close(), outgoing?.close()]);
    },
  };
}

/**
 * Milliseconds in which a kept connection shows that it is closed. A later failure happens while the provider
 * works.
 */
const longestClose = 1000;

/**
 * A provider may close a kept connection just as it is used again. A picture may be in the making all the
 * same, so image calls are not sent again.
 */
function maySendAgain(error: unknown, { attempt }: Routed): boolean {
  return (
    wasReused(error) &&
    performance.now() - attempt.startedAt < longestClose &&
    !attempt.target.model.output.includes('image')
  );
}

function toUnreachableError(error: unknown, { attempt, cancellation }: Routed): GatewayError {
  if (cancellation.cancelled)
    return new GatewayError('client_gone', 'The client left before the provider answered.', { cause: error });
  if (attempt.cancellation.cancelled)
    return new GatewayError('timeout', 'The provider did not begin to answer in time.', { cause: error });
  if (isConnectTimeout(error))
    return new GatewayError('timeout', 'The provider did not accept a connection in time.', { cause: error });
  return new GatewayError('upstream_failed', 'The provider could not be reached.', { cause: error });
}

function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT';
}
