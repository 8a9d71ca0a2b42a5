/** An HTTP listener: Node's server with limits on what an unauthenticated client may use. */
import cluster from 'node:cluster';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Logger } from 'pino';

/**
 * Limits on clients. Node's own are looser, or for idle connections shorter than a load balancer's.
 * `highWaterMark` bounds the bytes buffered for a slow client; beyond that the provider is paused.
 */
const limits = {
  highWaterMark: 16 * 1024,
  headersTimeout: 15_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: 32 * 1024,
};

/**
 * Connections that the system may complete before the gateway accepts them. With Node's 511, it would drop or
 * reset some of a thousand clients that connect while the event loop is busy.
 */
const backlog = 4096;

const longestConnection = 10_000;

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly maxConnections?: number;
  /** A socket that listens already. Host and port are not used then. */
  readonly fd?: number | undefined;
}

const firstDescriptor = 3;

/**
 * The descriptor of a socket that systemd opened for this process and keeps over a restart, so that no
 * connection is refused meanwhile; undefined: the listener opens its own. The first one is for the public
 * listener, one named `admin` for the admin listener.
 */
export function findInheritedSocket(
  name: 'public' | 'admin',
  { LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES = '' }: NodeJS.ProcessEnv = process.env,
): number | undefined {
  // Workers inherit the variables, and listen through their parent.
  if (Number(LISTEN_PID) !== (cluster.isWorker ? process.ppid : process.pid)) return undefined;
  const names = LISTEN_FDNAMES.split(':');
  const sockets = Array.from({ length: Number(LISTEN_FDS) || 0 }, (_, index) => index);
  const index = sockets.find((each) => (names[each] === 'admin') === (name === 'admin'));
  return index === undefined ? undefined : firstDescriptor + index;
}

/** Connections without a request so far. Before Node 26, `closeIdleConnections` keeps them open. */
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

export async function listen(
  { host, port, maxConnections, fd }: Address,
  answer: RequestListener,
  logger: Logger,
  shouldUpgradeCallback?: (request: IncomingMessage) => boolean,
): Promise<Server> {
  const server = createServer({ ...limits, shouldUpgradeCallback }, answer);
  server.maxRequestsPerSocket = longestConnection;
  // A client may half-close after its request (`nc -N` does) and still wants its reply.
  Object.assign(server, { httpAllowHalfOpen: true });
  if (Number.parseInt(process.versions.node, 10) < 26) trackUnused(server);
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(fd === undefined ? { host, port, backlog } : { fd }, resolve);
  });
  // For example, the process may run out of file descriptors. Connected clients are still served.
  server
    .removeAllListeners('error')
    .on('error', (error) => logger.error({ error }, 'a connection could not be accepted'));
  return server;
}

/** Maps wildcard addresses to an address that clients can call; some systems refuse calls to the wildcard. */
const loopbacks = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

export function formatUrl(server: Server, listened?: string): string {
  const bound = server.address();
  if (typeof bound === 'string') return `unix:${bound}`;
  const address = listened ?? bound?.address ?? '';
  const host = loopbacks.get(address) ?? address;
  const port = bound?.port ?? '';
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Stops listening. Resolves when the last connection has closed. Idle connections stay open for `grace`
 * milliseconds, because a request may be on its way on each of them.
 */
export function closeListener(server: Server, grace = 0): Promise<void> {
  const began = performance.now();
  // A connection with a running call becomes idle only later, and would then be kept alive.
  const closeIdle = (): void => {
    server.closeIdleConnections();
    for (const socket of unused.get(server) ?? []) socket.destroy();
  };
  // After the sockets were read: a connection whose request arrived while this process was busy is not idle.
  const sweep = setInterval(() => {
    if (performance.now() - began >= grace) setImmediate(closeIdle);
  }, 50);
  return new Promise((resolve) => {
    const finish = (): void => {
      clearInterval(sweep);
      resolve();
    };
    // The HTTP server's own `close` closes idle connections at once.
    if (grace > 0) NetServer.prototype.close.call(server, finish);
    else server.close(finish);
  });
}
