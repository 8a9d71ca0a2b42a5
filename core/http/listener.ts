/**
 * The socket behind a door: Node's HTTP server, within limits on what a client may take up before it is known who
 * it is, and without WebSockets.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { headersNaming, timeOrderedId } from './request-id.ts';

/**
 * Milliseconds, bytes and counts within which a client has to speak; Node's own are either looser or, for a
 * connection that waits for its next request, shorter than a load balancer's. `highWaterMark` is what may wait for a
 * client to take it, whose vendor is slowed down beyond that.
 */
const limits = {
  highWaterMark: 16 * 1024,
  headersTimeout: 15_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: 32 * 1024,
};

/** Java's client offers HTTP/2 by the same header with every request, and is served as if it had not. */
const isWebSocket = ({ headers }: IncomingMessage): boolean => /websocket/i.test(headers.upgrade ?? '');
const longestConnection = 10_000;

export interface Address {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  readonly maxConnections?: number;
}

/** Connections that have not sent a request yet: before Node 26, `closeIdleConnections` keeps them open. */
const unused = new WeakMap<Server, Set<Socket>>();

function trackUnused(server: Server): void {
  const sockets = new Set<Socket>();
  unused.set(server, sockets);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', ({ socket }) => sockets.delete(socket));
}

/** Listens; rejects where the address is taken. */
export async function listen(
  { host, port, maxConnections }: Address,
  answer: RequestListener,
  logger: Logger,
): Promise<Server> {
  const server = createServer({ ...limits, shouldUpgradeCallback: isWebSocket }, answer);
  server.maxRequestsPerSocket = longestConnection;
  // A client may close its side once its request is sent (`nc -N` does), and still wants its reply.
  Object.assign(server, { httpAllowHalfOpen: true });
  if (Number.parseInt(process.versions.node, 10) < 26) trackUnused(server);
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  server.on('upgrade', (_request, socket) => refuseUpgrade(socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  // Where the process is out of descriptors, for example. Clients that are connected are still served.
  server
    .removeAllListeners('error')
    .on('error', (error) => logger.error({ error }, 'a connection could not be accepted'));
  return server;
}

/** Clients that try a WebSocket first (Codex does) go on over HTTP as soon as they are told; without an answer they would wait. */
function refuseUpgrade(socket: Duplex): void {
  const body =
    '{"error":{"message":"This gateway speaks HTTP and server-sent events, no WebSockets.","type":"invalid_request_error","param":null,"code":"upgrade_not_supported"}}';
  socket.on('error', () => undefined);
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    connection: 'close',
    ...headersNaming(timeOrderedId()),
  };
  socket.end(
    [
      'HTTP/1.1 426 Upgrade Required',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      '',
      body,
    ].join('\r\n'),
  );
}

/** The addresses that mean all of the machine's, and the one to call each by: not every system lets a client call the first. */
const loopbacks = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

export function urlOf(server: Server, listened: string): string {
  const bound = server.address();
  const host = loopbacks.get(listened) ?? listened;
  const port = typeof bound === 'object' && bound ? bound.port : '';
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Stops listening; resolves when the last connection is gone. */
export function closeListener(server: Server): Promise<void> {
  // A connection whose call was still running becomes idle only later, and would be kept for its next one.
  const sweep = setInterval(() => {
    server.closeIdleConnections();
    for (const socket of unused.get(server) ?? []) socket.destroy();
  }, 50);
  return new Promise((resolve) => {
    server.close(() => {
      clearInterval(sweep);
      resolve();
    });
  });
}
