/**
 * The reply to a request that nothing serves: 405 if its path takes other methods, otherwise 404 with a hint.
 * A `HEAD` of a base URL gets 200, because clients ask with it whether a gateway is there. An attempt at a
 * WebSocket gets 426.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type Router from '@koa/router';
import type { Core } from './core.ts';
import { readCallPath, type createMatcher } from './http/arrival.ts';
import { isServed } from './http/routes.ts';
import type { ClientAddress, ErrorReply } from './protocol.ts';
import { GatewayError } from './util/errors.ts';

/** How many ends of a path are looked for below each base URL. */
const mostEnds = 4;

/** What some SDKs expect at the end of their base URL, and others add to it. */
const versions = ['/v1beta', '/v1'];

const otherVersion = /^\/v\d+(?:(?:alpha|beta)\d*)?(?=\/)/;

/**
 * Returns where the call is served, as the end of a sentence; an empty string if no base URL serves it. Most
 * often the client's base URL has a version too many or another one: `POST /v1/v1/chat/completions`.
 */
function findRightBase({ addresses, protocols }: Core, method: string, path: string): string {
  // Somebody who looks at an endpoint of calls in a browser sends GET.
  const serves = (protocol: string, at: string): boolean =>
    [method, 'POST'].some((each) => protocols.find(protocol)?.client.match(each, at, ''));
  // Below the mounts and at the root.
  for (const { path: mount, protocol } of addresses)
    for (const base of [mount, '']) {
      const end = path.startsWith(`${base}/`) ? path.slice(base.length) : '';
      if (!otherVersion.test(end)) continue;
      const rest = end.replace(otherVersion, '');
      const version = versions.find((each) => serves(protocol, base + each + rest));
      if (version) return advise(protocol, base + version, rest);
    }
  let end = path;
  for (let tried = 0; tried < mostEnds && end !== ''; tried += 1) {
    for (const { path: base, protocol } of addresses)
      if (serves(protocol, base + end)) return advise(protocol, base, end);
    const next = end.indexOf('/', 1);
    end = next < 0 ? '' : end.slice(next);
  }
  return '';
}

function advise(protocol: string, base: string, end: string): string {
  return `; ${protocol} is served at ${base}${end}: the base URL of its clients ends in ${base}`;
}

/** What follows the gateway's own address or a mount in a base URL. */
const version = /^(?:\/v1(?:beta)?)?$/;

/** Whether a path is a base URL of clients: pages are served below it. */
function isBase({ core: { addresses, routes } }: Listener, path: string): boolean {
  const base = path.endsWith('/') ? path.slice(0, -1) : path;
  const isNamed = ['', ...addresses.map((address) => address.path)].some(
    (mount) => base.startsWith(mount) && version.test(base.slice(mount.length)),
  );
  return (
    isNamed && [...routes.list()].some((route) => isServed(route, false) && route.path.startsWith(`${base}/`))
  );
}

const callMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

interface Listener {
  readonly core: Core;
  readonly router: Router;
  readonly findCall: ReturnType<typeof createMatcher>;
  readonly isPublic: boolean;
}

function findMethods({ router, findCall }: Listener, path: string, takesAny: boolean): string[] {
  const calls = callMethods.filter((method) => findCall({ method, path, querystring: '' }));
  const routes = router
    .match(path, '')
    .path.filter((layer) => takesAny || !String(layer.path).includes('*'))
    .flatMap(({ methods }) => methods);
  return [...new Set([...calls, ...routes])].toSorted();
}

/** The longest base URL above a path is the nearest, but what a protocol also names is its own. */
function rank({ path: base, also }: ClientAddress, path: string): number {
  return also?.test(path) === true ? Infinity : base.length;
}

function encodeError(message: string, code: string): object {
  return { error: { message, type: 'invalid_request_error', param: null, code } };
}

/** Clients that try a WebSocket first (Codex does) fall back to HTTP on this reply, and wait without it. */
const noWebSockets = {
  status: 426,
  headers: { connection: 'close' },
  body: encodeError(
    'This gateway supports HTTP and server-sent events, but not WebSockets.',
    'upgrade_not_supported',
  ),
};

interface Unserved {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** The error is in the format of the protocol whose base URL is the nearest above the path. */
export function answerUnserved(
  listener: Listener,
  { method, path, headers: { upgrade = '' } }: Unserved,
  id: string,
): ErrorReply & { readonly headers: Readonly<Record<string, string>> } {
  const { core, isPublic } = listener;
  // Java's client offers HTTP/2 in this header of every request; that offer is ignored.
  if (/websocket/i.test(upgrade)) return noWebSockets;
  if (isPublic && method === 'HEAD' && isBase(listener, path)) return { status: 200, headers: {}, body: '' };
  const { addresses, protocols } = core;
  const [base] = addresses
    .filter((address) => path.startsWith(`${address.path}/`) || address.also?.test(path))
    .toSorted((one, other) => rank(other, path) - rank(one, path));
  // Where calls are methods of a model, naming those helps more than the listing's GET of any name.
  const methods = findMethods(listener, path, base?.serves === undefined);
  const served = base?.serves === undefined ? '' : `: ${base.serves}`;
  const right = isPublic ? findRightBase(core, method, readCallPath(path)) : '';
  const wanted = methods.filter((each) => each !== 'HEAD').join(' or ');
  const error =
    methods.length > 0
      ? new GatewayError('method_not_allowed', `${path} does not support ${method}: send ${wanted}.`)
      : new GatewayError('not_found', `There is nothing at ${method} ${path}${right || served}.`);
  const headers = methods.length > 0 ? { allow: methods.join(', ') } : {};
  const protocol = base && protocols.find(base.protocol);
  if (protocol) return { ...protocol.client.encodeError(error, id), headers };
  return { status: error.status, headers, body: encodeError(error.message, error.code) };
}
