/** A request when its headers have arrived. */
import type { IncomingMessage } from 'node:http';
import type { Core } from '../core.ts';
import type { Principal, Received } from '../exchange.ts';
import type { Operation } from '../protocol.ts';
import { Cancellation } from '../util/cancellation.ts';
import { Trace } from '../util/trace.ts';
import { resolveClientAddress } from './client-address.ts';
import { createRequestId } from './request-id.ts';

/** What the listener knows of a request by its path. */
interface Route {
  readonly family: string;
  readonly operation: Operation;
  readonly access?: Principal['kind'];
}

interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly querystring: string;
  readonly req: IncomingMessage;
}

/**
 * A class with all later fields, because V8 is slow to make and read objects that grow, and gives each object
 * literal with an accessor a shape of its own.
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
  readonly cancellation = new Cancellation();
  readonly trace = new Trace();
  readonly principal = undefined;
  readonly protocol = undefined;
  readonly bytes = undefined;
  readonly text = undefined;
  readonly call = undefined;
  readonly canonical = undefined;
  readonly record = undefined;
  readonly targets = undefined;
  readonly grant = undefined;
  readonly attempt = undefined;
  readonly #logger: Core['logger'];
  readonly #querystring: string;
  readonly #remote: string;
  readonly #proxies: number;

  constructor(
    core: Core,
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

  get logger(): Core['logger'] {
    return this.#logger.child({ call: this.id });
  }

  get address(): string {
    return resolveClientAddress(this.headers['x-forwarded-for'], this.#remote, this.#proxies);
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }
}
