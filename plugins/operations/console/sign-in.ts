/**
 * Signs operators in and out. A session is a cookie that scripts cannot read and other sites cannot send. It
 * is accepted for operator routes, which only the admin listener serves. A browser sends a cookie to every
 * port of a host, and to a name that an attacker has pointed at this machine, so `SameSite` alone is not
 * enough.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import {
  GatewayError,
  type Host,
  type Principal,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../../core/index.ts';
import { checkOrigin, findCookie, formatCookie, type Headers } from '../../shared/cookies.ts';
import { NetworkCounts } from '../../shared/network.ts';
import { buildErrorReply, noStore } from '../../shared/operator-routes.ts';
import type { Session, Sessions } from './sessions.ts';

/** Failed attempts of one address in a window of seconds. */
const mostFailures = 10;
const failureWindow = 300;

const order = z.strictObject({ secret: z.string().min(1).max(1000) });

function readHostName(host: string): string {
  return URL.parse(`http://${host}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
}

/**
 * Throws `forbidden` for a host name that is neither an IP address, nor `localhost`, nor named in the
 * options: a site could have pointed its own name at this address (DNS rebinding).
 */
export function checkHost({ host }: Headers, hosts: readonly string[]): void {
  const name = readHostName(String(host ?? ''));
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || hosts.includes(name)) return;
  throw new GatewayError(
    'forbidden',
    `The console does not know the host name "${name.slice(0, 100)}". ` +
      'Name it in the option "hosts" of the plugin "console".',
  );
}

const listOrigins = ({ host }: Headers): string[] => [`http://${host}`, `https://${host}`];

/** Browsers share the cookies of all ports, so the name holds the port: two gateways do not collide. */
function buildCookieName({ host }: Headers): string {
  return `tollgate-console-${/:(\d+)$/.exec(String(host))?.[1] ?? 'default'}`;
}

function readCookie(headers: Headers): string | undefined {
  return findCookie(headers, buildCookieName(headers));
}

function buildCookie(headers: Headers, value: string, seconds: number): string {
  const isSecure = String(headers['origin']).startsWith('https:');
  return formatCookie({ name: buildCookieName(headers), value, seconds, isSecure });
}

interface SignIn extends Pick<Host, 'keyrings' | 'logger'> {
  readonly hosts: readonly string[];
  readonly openSessions: () => Sessions;
  /** Where people sign in at an identity provider; undefined if they cannot. */
  readonly findSignIn: () => string | undefined;
}

async function findOperator({ keyrings }: SignIn, secret: string): Promise<Principal | undefined> {
  for (const keyring of keyrings.list()) {
    const principal = await keyring.verify(secret);
    if (principal) return principal.kind === 'operator' ? principal : undefined;
  }
  return undefined;
}

/** The operator of a request's cookie; undefined without a valid one. */
export async function findPrincipal(
  signIn: SignIn,
  headers: Headers,
  method: string,
): Promise<Principal | undefined> {
  const sealed = readCookie(headers);
  const session = sealed === undefined ? undefined : signIn.openSessions().read(sealed);
  if (!session) return undefined;
  checkHost(headers, signIn.hosts);
  checkOrigin(headers, method, listOrigins(headers));
  return findOperator(signIn, session.secret);
}

function describeSession(
  { findSignIn }: SignIn,
  operator: Principal | undefined,
  { expires }: Pick<Session, 'expires'> = { expires: 0 },
) {
  const address = findSignIn();
  const signIn = address === undefined ? {} : { signIn: address };
  if (!operator) return { signedIn: false, ...signIn };
  const { key, readOnly = false } = operator;
  return { signedIn: true, key, readOnly, ...signIn, expires: new Date(expires).toISOString() };
}

/** A route of the console, which the OpenAPI document leaves out. */
export function buildRoute(
  address: string,
  place: Pick<Route, 'adminOnly' | 'everywhere'>,
  handle: (request: RouteRequest) => Promise<RouteReply>,
): Route {
  const [method, path = ''] = address.split(' ');
  const verb = method === 'POST' || method === 'DELETE' ? method : 'GET';
  return {
    ...place,
    name: `console ${place.adminOnly ? 'for operators ' : ''}${address}`,
    method: verb,
    path,
    access: 'public',
    encodeError: buildErrorReply,
    describe: false,
    handle,
  };
}

async function startSession(
  signIn: SignIn,
  failures: NetworkCounts,
  { headers, body, address }: RouteRequest,
): Promise<RouteReply> {
  checkHost(headers, signIn.hosts);
  checkOrigin(headers, 'POST', listOrigins(headers));
  // Counted before the secret is checked, so that many attempts at once cannot pass the limit.
  failures.add(address, 'Too many failed attempts to sign in. Wait five minutes.');
  const sent = order.safeParse(body);
  const operator = sent.success && (await findOperator(signIn, sent.data.secret.trim()));
  if (!sent.success || !operator) {
    signIn.logger.warn({ address }, 'an attempt to sign in to the console failed');
    throw new GatewayError('invalid_api_key', 'This is neither the operator secret nor an operator key.');
  }
  failures.forget(address);
  const { session, sealed } = signIn.openSessions().start(sent.data.secret.trim());
  signIn.logger.info({ address, key: operator.key }, 'an operator signed in to the console');
  const seconds = Math.floor((session.expires - Date.now()) / 1000);
  return {
    status: 200,
    headers: { ...noStore, 'set-cookie': buildCookie(headers, sealed, seconds) },
    body: describeSession(signIn, operator, session),
  };
}

function endSession(signIn: SignIn, { headers }: RouteRequest): RouteReply {
  checkHost(headers, signIn.hosts);
  checkOrigin(headers, 'DELETE', listOrigins(headers));
  const session = signIn.openSessions().read(readCookie(headers) ?? '');
  if (session) signIn.openSessions().end(session.id);
  return { status: 204, headers: { ...noStore, 'set-cookie': buildCookie(headers, '', 0) }, body: null };
}

export function buildSessionRoutes(signIn: SignIn): Route[] {
  const failures = new NetworkCounts(mostFailures, failureWindow);
  const onAdmin = { adminOnly: true } as const;
  return [
    buildRoute('GET /console/session', onAdmin, async ({ headers }) => {
      checkHost(headers, signIn.hosts);
      const session = signIn.openSessions().read(readCookie(headers) ?? '');
      const operator = session && (await findOperator(signIn, session.secret).catch(() => undefined));
      return { status: 200, headers: noStore, body: describeSession(signIn, operator, session) };
    }),
    buildRoute('POST /console/session', onAdmin, (request) => startSession(signIn, failures, request)),
    buildRoute('DELETE /console/session', onAdmin, async (request) => endSession(signIn, request)),
  ];
}
