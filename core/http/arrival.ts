/** A request when its headers have arrived: its id, its client's address, and what it calls. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { type Principal, type Received, Trace } from '../exchange.ts';
import type { Match, Operation, Protocol } from '../protocol.ts';
import { Cancellation } from '../util/cancellation.ts';

/**
 * Creates the id of a request, sent with its reply and logged in every line about it: a UUID version 7.
 * Ordered ids keep ledger rows of one time close together on disk.
 */
export function createRequestId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The headers that carry the id. Anthropic's SDKs read the second. */
export function buildIdHeaders(id: string): Record<string, string> {
  return { 'x-request-id': id, 'request-id': id };
}

/** Strips brackets and ports: `[::1]:443`, `10.0.0.1:5000`. Returns undefined if no address remains. */
function parseAddress(written: string): string | undefined {
  const text = written.trim();
  const inner = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(inner) === 0 ? undefined : inner;
}

/**
 * Finds the IP address of a client. `forwarded` is the `x-forwarded-for` header, `remote` the address of the
 * connection, and `proxies` the number of own proxies in front of the gateway. Each proxy appends the address
 * of its caller, but the client can send that header too. So only as many entries from the right are trusted.
 */
export function resolveClientAddress(
  forwarded: string | readonly string[] | undefined,
  remote: string,
  proxies: number,
): string {
  if (proxies === 0 || forwarded === undefined) return remote;
  const entries = String(forwarded).split(',');
  // With fewer entries than proxies, the call entered behind some of them.
  return parseAddress(entries[Math.max(0, entries.length - proxies)] ?? '') ?? remote;
}

type Route = Pick<Received, 'family' | 'operation' | 'transport'> & Partial<Pick<Received, 'access'>>;

interface Target extends Pick<Received, 'method' | 'path'> {
  readonly querystring: string;
}

interface HttpRequest extends Target {
  readonly req: Pick<IncomingMessage, 'headers'> & {
    readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
  };
}

export interface ListenerFacts {
  readonly logger: Logger;
  /** Number of our own proxies that append to `x-forwarded-for`. */
  readonly trustedProxies: number;
}

/**
 * What few requests need is made on demand. An object with getters of its own would not keep its shape, and
 * everything that reads it would be slow.
 */
export class Arrival implements Received {
  readonly id: string;
  readonly receivedAt = Date.now();
  readonly startedAt = performance.now();
  readonly family: string;
  readonly operation: Operation;
  readonly access: Principal['kind'];
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly transport: Received['transport'];
  readonly cancellation = new Cancellation();
  readonly trace = new Trace();
  readonly #logger: Logger;
  readonly #querystring: string;
  readonly #remote: string;
  readonly #proxies: number;

  constructor(
    core: ListenerFacts,
    request: HttpRequest,
    { family, operation, access = 'user', transport }: Route,
    id = createRequestId(),
  ) {
    this.id = id;
    this.family = family;
    this.operation = operation;
    this.access = access;
    this.method = request.method;
    this.path = request.path;
    this.headers = request.req.headers;
    this.transport = transport;
    this.#logger = core.logger;
    this.#querystring = request.querystring;
    this.#remote = request.req.socket.remoteAddress ?? '';
    this.#proxies = core.trustedProxies;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#querystring);
  }

  get logger(): Logger {
    return this.#logger.child({ call: this.id });
  }

  get address(): string {
    return resolveClientAddress(this.headers['x-forwarded-for'], this.#remote, this.#proxies);
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }
}

/**
 * The path and query of a target, which for a proxy is a whole URL. Koa would throw for a malformed one, and
 * again for each look at its path.
 */
export function readTarget(target: string): string {
  if (target.startsWith('/')) return target;
  const { pathname, search } = URL.parse(target) ?? { pathname: target, search: '' };
  return (pathname.startsWith('/') ? '' : '/') + pathname + search;
}

/** The path of a call as protocols match it: decoded, and without one slash at its end, like a route's. */
export function readCallPath(path: string): string {
  const bare = path.endsWith('/') ? path.slice(0, -1) : path;
  if (!bare.includes('%')) return bare;
  try {
    return decodeURIComponent(bare);
  } catch {
    return bare;
  }
}

/** What a request calls: a protocol, and what it read of the target. */
export interface Call {
  readonly protocol: Protocol;
  readonly match: Match;
}

export function createMatcher(
  protocols: readonly Protocol[],
  prefixes: readonly string[],
): (target: Target) => Call | undefined {
  return ({ method, path, querystring }) => {
    for (const prefix of prefixes) {
      if (!path.startsWith(`${prefix}/`)) continue;
      const own = readCallPath(path.slice(prefix.length));
      for (const protocol of protocols) {
        const match = protocol.client.match(method, own, querystring);
        if (match) return { protocol, match };
      }
    }
    return undefined;
  };
}
