/**
 * Sign-in in a browser, on each listener that has a configured address. All addresses come from the
 * configuration. One cookie holds what a sign-in needs until it ends, sealed, and then the session.
 */
import {
  GatewayError,
  type Principal,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../../core/index.ts';
import { checkOrigin, findCookie, formatCookie, type Headers } from '../../shared/cookies.ts';
import { NetworkCounts } from '../../shared/network.ts';
import { buildErrorReply, noStore } from '../../shared/operator-routes.ts';
import { isSecret } from '../../shared/secret.ts';
import { hour, identify, settle, type SignIn } from './check.ts';
import { toPersonId } from './options.ts';
import { buildErrorPage, buildPage, escapeHtml } from './pages.ts';
import type { PersonRow, SessionRow } from './people.ts';
import { flowSchema, type Flow } from './provider.ts';

/** One listener, as browsers see it. */
export interface Place {
  /** Its origin. */
  readonly base: string;
  readonly isAdmin: boolean;
}

/** Milliseconds that a sign-in may take. */
const longestFlow = 10 * 60_000;
const longestCookie = 4096;
const purpose = 'sign-in';
/** Where a sign-in begins, on both listeners, and where the identity provider sends the browser back. */
export const start = '/sign-in';
const callback = `${start}/callback`;

/** Browsers share cookies among the ports of a host, so the name has the port. */
function nameCookie({ base }: Place): string {
  const { protocol, port } = new URL(base);
  return `${protocol === 'https:' ? '__Host-' : ''}tollgate-person-${port || 'default'}`;
}

function buildCookie(place: Place, value: string, seconds: number, site: 'Lax' | 'Strict'): string {
  const isSecure = place.base.startsWith('https:');
  return formatCookie({ name: nameCookie(place), value, seconds, site, isSecure });
}

function readCookie(place: Place, headers: Headers): string | undefined {
  const value = findCookie(headers, nameCookie(place));
  return value !== undefined && value.length <= longestCookie ? value : undefined;
}

/** The session of the cookie; undefined without one that is in force. */
export async function findSession(
  { people }: SignIn,
  place: Place,
  headers: Headers,
  method: string,
): Promise<SessionRow | undefined> {
  const cookie = readCookie(place, headers);
  if (cookie === undefined || !isSecret(cookie, 'browser')) return undefined;
  checkOrigin(headers, method, [place.base]);
  return people.open(cookie);
}

/** A person as an operator. */
export function toOperator({ holder, name, role, accounts }: PersonRow): Principal {
  const person = { role, accounts };
  return { kind: 'operator', account: '', key: holder, holder, name, readOnly: role === 'viewer', person };
}

/** A path of ours, or else the usual one, since links from elsewhere can name any address. */
function readTarget({ base, isAdmin }: Place, to: string | null): string {
  const url = to !== null && to.length <= 500 && to.startsWith('/') ? URL.parse(to, base) : null;
  if (url?.origin === base) return url.pathname + url.search;
  return isAdmin ? '/' : '/device';
}

function openFlow({ ring }: SignIn, place: Place, headers: Headers): Flow {
  const cookie = readCookie(place, headers) ?? '';
  const text = ring.openText(purpose, place.base, cookie);
  const flow = text && flowSchema.parse(JSON.parse(text.toString()));
  if (flow && flow.until > Date.now()) return flow;
  throw new GatewayError(
    'forbidden',
    'This sign-in took too long, or began in another browser. Begin again.',
  );
}

async function beginSignIn(signIn: SignIn, place: Place, { query }: RouteRequest): Promise<RouteReply> {
  const to = readTarget(place, query.get('to'));
  const { url, flow } = await signIn.provider.begin(place.base + callback, to, Date.now() + longestFlow);
  const sealed = signIn.ring.sealText(purpose, place.base, Buffer.from(JSON.stringify(flow)));
  // The reply comes from another site, so the cookie cannot be strict yet.
  const cookie = buildCookie(place, sealed, longestFlow / 1000, 'Lax');
  return { status: 302, headers: { ...noStore, location: url, 'set-cookie': cookie }, body: null };
}

async function finishSignIn(signIn: SignIn, place: Place, request: RouteRequest): Promise<RouteReply> {
  const { options, provider, people, logger } = signIn;
  const { query, headers, address } = request;
  const flow = openFlow(signIn, place, headers);
  const identity = await provider.finish(place.base + callback, query, flow).catch((error: unknown) => {
    logger.warn({ error, address }, 'a sign-in failed');
    throw error;
  });
  const known = identify(signIn, identity);
  if (!known) throw new GatewayError('forbidden', 'You are known, but have no role here. Ask an operator.');
  const person = await people.admit(known);
  if (!person) throw new GatewayError('forbidden', 'An operator has removed you. Ask an operator.');
  await settle(signIn, person);
  // Without a way to ask whether the person left, they sign in again within the hour.
  const duration = Math.min(options.session * hour, person.refresh === null ? hour : Infinity);
  const ends = Date.now() + duration;
  const token = await people.start({ person: person.id, sid: identity.sid, ends });
  logger.info({ address, person: person.holder, role: person.role }, 'a person signed in');
  const cookie = buildCookie(place, token, Math.floor(duration / 1000), 'Strict');
  return buildPage({
    title: 'You are signed in',
    body: `<p><a href="${escapeHtml(flow.to)}">Continue</a></p>`,
    next: flow.to,
    headers: { 'set-cookie': cookie },
  });
}

/** Ends the session of a browser, and the cookie. */
export async function endSession(signIn: SignIn, place: Place, { headers }: RouteRequest): Promise<string> {
  const session = await findSession(signIn, place, headers, 'POST');
  if (session) await signIn.people.end({ by: 'id', value: session.session });
  return buildCookie(place, '', 0, 'Strict');
}

export function buildRoute(
  place: Place,
  method: Route['method'],
  path: string,
  handle: (request: RouteRequest) => Promise<RouteReply>,
): Route {
  const name = `sign-in${place.isAdmin ? ' for operators' : ''} ${method} ${path}`;
  const where = place.isAdmin ? { adminOnly: true as const } : {};
  return {
    ...where,
    name,
    method,
    path,
    access: 'public',
    describe: false,
    encodeError: buildErrorPage,
    handle,
  };
}

/** The operations that a role may run, so that the console shows no others. */
function listAllowed({ routes }: SignIn, role: PersonRow['role']): string[] {
  return [...routes.list()]
    .filter(({ access, roles = ['owner'] }) => access === 'operator' && roles.includes(role))
    .map(({ method, path }) => `${method} ${path}`);
}

/** What the console asks about its session, for browsers whose cookie is a person's. */
function buildConsoleRoutes(signIn: SignIn, place: Place): Route[] {
  const when: Route['when'] = ({ headers }) => isSecret(readCookie(place, headers) ?? '', 'browser');
  const ofConsole = { when, encodeError: buildErrorReply };
  return [
    {
      ...buildRoute(place, 'GET', '/console/session', async ({ headers }) => {
        const session = await findSession(signIn, place, headers, 'GET');
        if (!session) {
          const cookie = buildCookie(place, '', 0, 'Strict');
          const body = { signedIn: false, signIn: start, readOnly: false };
          return { status: 200, headers: { ...noStore, 'set-cookie': cookie }, body };
        }
        const { key, name, readOnly } = toOperator(session);
        const { role, ends } = session;
        const may = listAllowed(signIn, role);
        const expires = new Date(ends).toISOString();
        const body = { signedIn: true, key, name, role, may, readOnly, signIn: start, expires };
        return { status: 200, headers: noStore, body };
      }),
      ...ofConsole,
    },
    {
      ...buildRoute(place, 'DELETE', '/console/session', async (request) => {
        const cookie = await endSession(signIn, place, request);
        return { status: 204, headers: { ...noStore, 'set-cookie': cookie }, body: null };
      }),
      ...ofConsole,
    },
  ];
}

export function buildBrowserRoutes(signIn: SignIn, place: Place): Route[] {
  return [
    buildRoute(place, 'GET', start, (request) => beginSignIn(signIn, place, request)),
    buildRoute(place, 'GET', callback, (request) => finishSignIn(signIn, place, request)),
    ...(place.isAdmin ? buildConsoleRoutes(signIn, place) : []),
  ];
}

/** Characters of a logout token. */
const longestToken = 16_384;
/** Logouts of one address in a minute: an identity provider ends many sessions at once. */
const mostLogouts = 600;

/** The back-channel logout of OpenID Connect: the identity provider posts whom it has logged out. */
export function buildLogoutRoute(signIn: SignIn, place: Place): Route {
  const { provider, options, logger } = signIn;
  const counts = new NetworkCounts(mostLogouts, 60);
  async function end({ text, address }: RouteRequest): Promise<RouteReply> {
    counts.add(address, 'Too many logouts. Wait a minute.');
    const token = new URLSearchParams(text).get('logout_token');
    if (token === null || token.length > longestToken)
      throw new GatewayError('invalid_request', 'A logout has a logout_token.');
    const { sub, sid, jti, until } = await provider.verifyLogout(token);
    const value = sid ?? toPersonId(options.issuer, sub ?? '');
    if (!(await signIn.people.logOut({ by: sid === undefined ? 'person' : 'sid', value }, jti, until)))
      throw new GatewayError('invalid_request', 'This logout token was used before.');
    logger.info({ sid, sub }, 'the identity provider ended sessions');
    return { status: 200, headers: noStore, body: null };
  }
  return {
    ...buildRoute(place, 'POST', `${start}/logout`, end),
    takesForm: true,
    encodeError(error) {
      logger.warn({ error }, 'a logout was refused');
      const { status, body } = buildErrorReply(error);
      return { status: status === 503 ? 503 : 400, headers: noStore, body };
    },
  };
}
