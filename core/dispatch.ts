/**
 * The default dispatcher: http-proxy-3, with undici as the `fetch` it proxies through. http-proxy-3 takes the
 * client's request over and supervises the hand-off; what reaches the vendor is the finished `UpstreamRequest`
 * and nothing of the client's own head, and its reply is kept for the lanes instead of being piped.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import httpProxy from 'http-proxy-3';
import Agent from 'undici/lib/dispatcher/agent.js';
import { GatewayError } from './errors.ts';
import { advance, type Received, type Routed } from './exchange.ts';
import type { UpstreamRequest, UpstreamResponse } from './provider.ts';
import { unpacked } from './upstream/decompress.ts';
import { send, smallReads, wasKept } from './upstream/transport.ts';

export interface DispatcherOptions {
  /** Milliseconds to establish a connection, and between two pieces of a body. */
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
 * Where an exchange keeps the connection it came in by: http-proxy-3 wants it, and no plugin should have it. A
 * symbol and not a WeakMap, whose values outlive every minor collection.
 */
const connectionOf = Symbol('connection');

interface Connected {
  readonly [connectionOf]: Connection;
}

/** The exchange, with the connection it came in by. */
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

/** What http-proxy-3 is handed in place of the vendor's reply: it would read, and lose, a real body. */
const standIn = new Response(null);

/** The finished request has its headers; without this http-proxy-3 would copy the client's for its `fetch`. */
const noHeaders = { requestOptions: { headers: [] } };

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  // The variable would send everyone who uses http-proxy-3 in this process through its own fetch.
  delete process.env.FORCE_FETCH_PATH;
  const agent = new Agent({
    connect: { timeout: options.connect, ...smallReads },
    headersTimeout: 0,
    bodyTimeout: options.idle,
    keepAliveTimeout: 30_000,
  });
  const proxy = httpProxy.createProxyServer({ selfHandleResponse: true, ignorePath: true, agent });

  return {
    dispatch(request, exchange) {
      if (!isConnected(exchange))
        throw new GatewayError('internal', 'This exchange came in by no connection that could be proxied.');
      const { attempt, [connectionOf]: connection } = exchange;
      const ask = (): Promise<UpstreamResponse> =>
        send(agent, request, attempt.cancellation, () => (attempt.sent = true));
      return new Promise((resolve, reject) => {
        const failed = (error: Error): void => reject(unreachable(error, exchange));
        const proxied = async (): Promise<Response> => {
          resolve(
            unpacked(
              await ask().catch((error: unknown) =>
                mayAskAnew(error, exchange) ? ask() : Promise.reject(error),
              ),
            ),
          );
          return standIn;
        };
        proxy.web(
          connection.request,
          connection.response,
          { target: request.url, method: request.method, fetch: proxied, fetchOptions: noHeaders },
          failed,
        );
      });
    },
    close: () => agent.close(),
  };
}

/** Milliseconds in which a connection shows that it is closed; what breaks later breaks while the vendor works. */
const atOnce = 1000;

/** A vendor may close a connection it kept in the moment it is used again; a picture may be in the making all the same. */
function mayAskAnew(error: unknown, { attempt }: Routed): boolean {
  return (
    wasKept(error) &&
    performance.now() - attempt.startedAt < atOnce &&
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
