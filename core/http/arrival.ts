/** A request when its headers have arrived. */
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { type Principal, type Received, Trace } from '../exchange.ts';
import type { Match, Operation, Protocol } from '../protocol.ts';
import { Cancellation } from '../util/cancellation.ts';
import { resolveClientAddress } from './client-address.ts';
import { createRequestId } from './request-id.ts';

/** What the listener knows of a request by its path. */
interface Route {
  readonly family: string;
  readonly operation: Operation;
  readonly access?: Principal['kind'];
}

interface Target {
  readonly method: string;
  readonly path: string;
  readonly querystring: string;
}

interface HttpRequest extends Target {
  readonly req: IncomingMessage;
}

/** What a request needs of the gateway when its headers have arrived. */
export interface ListenerFacts {
  readonly logger: Logger;
  /** Number of our own proxies that append to `x-forwarded-for`. */
  readonly trustedProxies: number;
}

/** A class, so that what few requests need is made on demand. */
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
  readonly cancellation = new Cancellation();
  readonly trace = new Trace();
  readonly #logger: Logger;
  readonly #querystring: string;
  readonly #remote: string;
  readonly #proxies: number;

  constructor(
    core: ListenerFacts,
    request: HttpRequest,
    { family, operation, access = 'user' }: Route,
    id = createRequestId(),
  ) {
    this.id = id;
    this.family = family;
    this.operation = operation;
    this.access = access;
    this.method = request.method;
    this.path = request.path;
    this.headers = request.req.headers;
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

/** Finds calls at the paths of their protocols, below the prefixes. */
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
