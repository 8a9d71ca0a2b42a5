/**
 * The default dispatcher. http-proxy-3 takes over the client's request and supervises the exchange, through
 * its `fetch` option. It does not open the connection, build headers or pipe the reply: undici does that with
 * the finished `UpstreamRequest` (see decisions/2).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import httpProxy from 'http-proxy-3';
import type { Dispatcher as UndiciDispatcher } from 'undici';
import Agent from 'undici/lib/dispatcher/agent.js';
import { GatewayError } from './errors.ts';
import { advance, type Received, type Routed } from './exchange.ts';
import type { UpstreamRequest, UpstreamResponse } from './provider.ts';
import { decompress } from './upstream/decompress.ts';
import { openOutgoing } from './upstream/outgoing-proxy.ts';
import { endpointAt, send, smallReads, wasReused } from './upstream/transport.ts';

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
export function arriveBy(
  received: Received,
  request: IncomingMessage,
  response: ServerResponse,
): Received & Connected {
  return advance(received, { [connectionOf]: { request, response } });
}

function isConnected<Known extends Received>(exchange: Known): exchange is Known & Connected {
  return connectionOf in exchange;
}

/**
 * Given to http-proxy-3 in place of the reply: it would read, and lose, a real body. It is made for the first
 * call, because it loads Node's fetch, which takes 18 MB.
 */
let standIn: Response | undefined;

/** The request already has its headers. Without this http-proxy-3 would copy the client's. */
const noHeaders = { requestOptions: { headers: [] } };

/** Milliseconds for which an idle connection to a provider is kept. */
const keepAliveTimeout = 30_000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  // The variable would route every other user of http-proxy-3 in this process through our fetch.
  delete process.env.FORCE_FETCH_PATH;
  const agent = new Agent({
    connect: { timeout: options.connect, ...smallReads },
    headersTimeout: 0,
    bodyTimeout: options.idle,
    keepAliveTimeout,
  });
  const outgoing = openOutgoing({ ...options, keepAlive: keepAliveTimeout });
  const proxy = httpProxy.createProxyServer({ selfHandleResponse: true, ignorePath: true, agent });

  return {
    dispatch(request, exchange) {
      if (!isConnected(exchange))
        throw new GatewayError('internal', 'This exchange came in by no connection that could be proxied.');
      const { attempt, [connectionOf]: connection } = exchange;
      const sendBy = (way: UndiciDispatcher): Promise<UpstreamResponse> =>
        send(way, request, attempt.cancellation, () => (attempt.sent = true));
      const ask = (): Promise<UpstreamResponse> =>
        outgoing?.find(endpointAt(request.url).url)?.then(sendBy) ?? sendBy(agent);
      return new Promise((resolve, reject) => {
        const failed = (error: Error): void => reject(unreachable(error, exchange));
        const proxied = async (): Promise<Response> => {
          resolve(
            decompress(
              await ask().catch((error: unknown) =>
                maySendAgain(error, exchange) ? ask() : Promise.reject(error),
              ),
            ),
          );
          return (standIn ??= new Response(null));
        };
        proxy.web(
          connection.request,
          connection.response,
          {
            target: endpointAt(request.url).url,
            method: request.method,
            fetch: proxied,
            fetchOptions: noHeaders,
          },
          failed,
        );
      });
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

function unreachable(error: Error, { attempt, cancellation }: Routed): GatewayError {
  if (cancellation.cancelled)
    return new GatewayError('client_gone', 'The client left before the provider answered.', { cause: error });
  if (attempt.cancellation.cancelled)
    return new GatewayError('timeout', 'The provider did not begin to answer in time.', { cause: error });
  if (isConnectTimeout(error))
    return new GatewayError('timeout', 'The provider did not accept a connection in time.', { cause: error });
  return new GatewayError('upstream_failed', 'The provider could not be reached.', { cause: error });
}

function isConnectTimeout(error: Error): boolean {
  return 'code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT';
}
