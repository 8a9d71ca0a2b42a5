/**
 * The WebSockets of one listener: lets them in as plugins ask, counts them, makes their calls, and ends them
 * when the gateway stops. They follow a reload with their next call.
 */
import {
  ServerResponse,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
} from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Core } from './core.ts';
import type { Principal } from './exchange.ts';
import { checkPermits, requireAccess } from './http/access.ts';
import { Arrival, buildIdHeaders, createRequestId, readCallPath, readTarget } from './http/arrival.ts';
import { buildErrorHeaders } from './http/reply-headers.ts';
import type { Upgrade, UpgradedConnection } from './plugin.ts';
import type { ErrorReply } from './protocol.ts';
import { postCall, type CallOrigin } from './take-call.ts';
import { GatewayError, toGatewayError } from './util/errors.ts';

/** A request to upgrade, with the socket that Node no longer manages. */
interface Pending {
  readonly upgrade: Upgrade;
  readonly socket: Socket;
  readonly head: Buffer;
}

interface Opened {
  readonly name: string;
  readonly key: string;
  readonly socket: Socket;
  drain(): void;
}

/** Koa's context, as far as an upgrade needs it. */
interface Context {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  readonly path: string;
  respond?: boolean | undefined;
  set(headers: Record<string, string>): void;
}

/** What the calls of a connection have in common. */
interface Origin extends Pick<CallOrigin, 'path' | 'headers' | 'remoteAddress'> {
  readonly upgrade: Upgrade;
}

/**
 * Headers of the upgrade that its calls do not repeat: those about the connection and a body. An idempotency
 * key would make all calls one. A browser sends its cookies for pages of any site.
 */
const ownHeaders = new RegExp(
  '^(?:connection|upgrade|keep-alive|proxy-connection|te|trailer|transfer-encoding|expect|origin|cookie|' +
    'accept|accept-encoding|content-length|content-type|content-encoding|idempotency-key|sec-websocket-.*)$',
);

function selectHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.test(name)));
}

function readPath(request: IncomingMessage): string {
  return readCallPath(readTarget(request.url ?? '').replace(/\?.*$/s, ''));
}

export class Upgrades {
  #core: Core;
  readonly #pending = new WeakMap<IncomingMessage, Pending>();
  readonly #open = new Set<Opened>();
  readonly #answer: RequestListener;

  /** `answer` answers every request of the listener. */
  constructor(core: Core, answer: RequestListener) {
    this.#core = core;
    this.#answer = answer;
  }

  /** Switches to another gateway. Connections of a plugin that it lacks are ended. */
  serve(core: Core): void {
    this.#core = core;
    for (const opened of this.#open) if (!core.upgrades.find(opened.name)) opened.drain();
  }

  /** Whether a plugin takes the WebSocket that a request asks for. Any other request is answered as usual. */
  takes(request: IncomingMessage): boolean {
    return this.#findUpgrade(request) !== undefined;
  }

  #findUpgrade(request: IncomingMessage): Upgrade | undefined {
    if (request.method !== 'GET' || request.headers.upgrade?.toLowerCase() !== 'websocket') return undefined;
    const path = readPath(request);
    return [...this.#core.upgrades.list()].find((upgrade) => upgrade.matches(path));
  }

  /** Receives a request to upgrade, and answers it like any other until it is accepted. */
  receive(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Node has removed its own listener. The plugin that gets the socket learns of its end by `close`.
    socket.on('error', () => undefined);
    const upgrade = this.#findUpgrade(request);
    const response = new ServerResponse(request);
    try {
      if (!upgrade || !(socket instanceof Socket)) throw new TypeError('there is nothing to upgrade');
      response.assignSocket(socket);
      this.#pending.set(request, { upgrade, socket, head });
    } catch {
      // The reply to an earlier request of this connection is still being sent.
      return void socket.destroy();
    }
    response.shouldKeepAlive = false;
    response.on('finish', () => socket.destroySoon());
    void this.#answer(request, response);
  }

  isPending(request: IncomingMessage): boolean {
    return this.#pending.has(request);
  }

  /** Hands the connection of a pending request to its plugin, or answers why not. */
  async answer(context: Context): Promise<void> {
    const pending = this.#pending.get(context.req);
    if (!pending) return;
    const { upgrade } = pending;
    const id = createRequestId();
    try {
      this.#giveConnection(pending, context, await this.#admit(upgrade, context, id));
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (error.code === 'internal')
        this.#core.logger.error({ error: thrown, request: id }, 'an upgrade failed');
      const { client } = this.#core.protocols.get(upgrade.protocol);
      const { status, body } = client.encodeError(error, id, { operation: 'generate' });
      context.set({ ...buildIdHeaders(id), ...buildErrorHeaders(error), connection: 'close' });
      Object.assign(context, { status, body });
    }
  }

  /** Resolves with who connects. Throws if the client may not have a connection now. */
  async #admit(upgrade: Upgrade, context: Context, id: string): Promise<Principal> {
    const { origin } = context.req.headers;
    if (origin !== undefined && !upgrade.origins.includes(origin))
      throw new GatewayError('forbidden', `WebSockets are not open to pages of ${origin.slice(0, 200)}.`);
    if (this.#core.calls.stopping)
      throw new GatewayError('shutting_down', 'The gateway is stopping; connect again.', { retryAfter: 1 });
    const request = { method: context.method, path: context.path, querystring: '', req: context.req };
    const principal = await this.#authenticate(upgrade, request, id);
    const { key } = principal;
    const { all, perKey } = upgrade.limits;
    const open = [...this.#open].filter(({ name }) => name === upgrade.name);
    if (open.filter((opened) => opened.key === key).length >= perKey)
      throw new GatewayError('rate_limited', `This API key may have ${perKey} open WebSockets.`);
    if (open.length >= all)
      throw new GatewayError('overloaded', 'The gateway has no room for another WebSocket; try again soon.', {
        retryAfter: 5,
      });
    return principal;
  }

  async #authenticate(
    { protocol }: Upgrade,
    request: ConstructorParameters<typeof Arrival>[1],
    id?: string,
  ): Promise<Principal> {
    const route = { family: protocol, operation: 'generate' } as const;
    const received = new Arrival(this.#core, request, route, id);
    const principal = requireAccess(await this.#core.hooks.authenticate.promise(received), 'user', 'GET');
    checkPermits(principal, received);
    return principal;
  }

  #giveConnection({ upgrade, socket, head }: Pending, context: Context, principal: Principal): void {
    const { req: request, res: response } = context;
    const { remoteAddress } = socket;
    context.respond = false;
    response.detachSocket(socket);
    if (socket.destroyed) return;
    const origin: Origin = {
      upgrade,
      path: context.path,
      headers: selectHeaders(request.headers),
      remoteAddress,
    };
    const { bodies, logger, longestStall } = this.#core;
    const connection: UpgradedConnection = {
      request,
      socket,
      head,
      longestStall,
      logger,
      holdBytes: () => bodies.openShare(principal),
      check: (body) => this.#check(origin, body),
      post: (posted) => {
        const protocol = this.#core.protocols.get(upgrade.protocol);
        return postCall(this.#core, { ...origin, protocol, transport: 'websocket' }, posted);
      },
    };
    try {
      const drain = upgrade.take(connection);
      const opened = { name: upgrade.name, key: principal.key, socket, drain };
      this.#open.add(opened);
      socket.on('close', () => this.#open.delete(opened));
    } catch (error) {
      logger.error({ error, upgrade: upgrade.name }, 'an upgrade failed');
      socket.destroy();
    }
  }

  async #check(origin: Origin, body: string): Promise<ErrorReply | undefined> {
    const { upgrade, path, headers, remoteAddress } = origin;
    const protocol = this.#core.protocols.get(upgrade.protocol);
    // An operation that takes an empty input, because nothing is generated.
    const match = { operation: 'count' } as const;
    try {
      const req = { headers, socket: { remoteAddress } };
      const principal = await this.#authenticate(upgrade, { method: 'POST', path, querystring: '', req });
      const { rehearseCall } = await import('./rehearsal.ts');
      const call = { protocol, match, path, query: '', headers, body, principal };
      return (await rehearseCall(this.#core, call)).error;
    } catch (thrown) {
      return protocol.client.encodeError(toGatewayError(thrown), createRequestId(), match);
    }
  }

  /** Lets the calls of all connections finish, and closes each after its last. */
  drain(): void {
    for (const { drain } of this.#open) drain();
  }

  disconnect(): void {
    for (const { socket } of this.#open) socket.destroy();
  }
}
