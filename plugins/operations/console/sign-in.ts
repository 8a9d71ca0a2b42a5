/**
 * Signs operators in and out. A session is a cookie that scripts cannot read and other sites cannot send. It
 * is accepted for operator routes, which only the admin listener serves.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import {
  GatewayError,
  type Host,
  type Principal,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../../core/index.ts';
import { networkOf } from '../../shared/network.ts';
import { errors, noStore } from '../../shared/operator-routes.ts';
import { upTo } from '../../shared/up-to.ts';
import { checkHost, checkOrigin } from './same-origin.ts';
import type { Session, Sessions } from './sessions.ts';

/** Failed attempts of one address in a window of five minutes. */
const mostFailures = 10;
const failureWindow = 300_000;

const order = z.strictObject({ secret: z.string().min(1).max(1000) });

type Headers = Parameters<typeof checkOrigin>[0];

/** Browsers share the cookies of all ports, so the name holds the port: two gateways do not collide. */
function cookieName({ host }: Headers): string {
  return `tollgate-console-${/:(\d+)$/.exec(String(host))?.[1] ?? 'default'}`;
}

function cookieOf(headers: Headers): string | undefined {
  const name = cookieName(headers);
  return String(headers['cookie'] ?? '')
    .split('; ')
    .find((part) => part.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

function setCookie(headers: Headers, value: string, seconds: number): string {
  const secure = String(headers['origin']).startsWith('https:') ? '; Secure' : '';
  return `${cookieName(headers)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

interface SignIn extends Pick<Host, 'keyrings' | 'logger'> {
  readonly hosts: readonly string[];
  readonly sessions: () => Sessions;
}

async function operatorOf({ keyrings }: SignIn, secret: string): Promise<Principal | undefined> {
  for (const keyring of keyrings.all()) {
    const principal = await keyring.verify(secret);
    if (principal) return principal.kind === 'operator' ? principal : undefined;
  }
  return undefined;
}

/** The operator of a request's cookie; undefined without a valid one. */
export async function principalOf(
  signIn: SignIn,
  headers: Headers,
  method: string,
): Promise<Principal | undefined> {
  const sealed = cookieOf(headers);
  const session = sealed === undefined ? undefined : signIn.sessions().read(sealed);
  if (!session) return undefined;
  checkHost(headers, signIn.hosts);
  checkOrigin(headers, method);
  return operatorOf(signIn, session.secret);
}

function shown({ key, readOnly = false }: Principal, { expires }: Session) {
  return { signedIn: true, key, readOnly, expires: new Date(expires).toISOString() };
}

/** A route of the console, which the OpenAPI document leaves out. */
export function consoleRoute(
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
    errors,
    openapi: false,
    handle,
  };
}

/** Failed attempts to sign in, by network. */
class Failures {
  readonly #counts = new LRUCache<string, number>({ ...upTo(10_000), ttl: failureWindow, noUpdateTTL: true });

  /** Counts the attempt before the secret is checked, so that many at once cannot pass the limit. */
  countAttempt(address: string): void {
    const network = networkOf(address);
    const count = this.#counts.get(network) ?? 0;
    if (count >= mostFailures)
      throw new GatewayError('rate_limited', 'Too many failed attempts to sign in. Wait five minutes.', {
        retryAfter: Math.ceil(this.#counts.getRemainingTTL(network) / 1000),
      });
    this.#counts.set(network, count + 1);
  }

  forget(address: string): void {
    this.#counts.delete(networkOf(address));
  }
}

async function startSession(
  signIn: SignIn,
  failures: Failures,
  { headers, body, address }: RouteRequest,
): Promise<RouteReply> {
  checkHost(headers, signIn.hosts);
  checkOrigin(headers, 'POST');
  failures.countAttempt(address);
  const sent = order.safeParse(body);
  const operator = sent.success && (await operatorOf(signIn, sent.data.secret.trim()));
  if (!sent.success || !operator) {
    signIn.logger.warn({ address }, 'an attempt to sign in to the console failed');
    throw new GatewayError('invalid_api_key', 'This is neither the operator secret nor an operator key.');
  }
  failures.forget(address);
  const { session, sealed } = signIn.sessions().start(sent.data.secret.trim());
  signIn.logger.info({ address, key: operator.key }, 'an operator signed in to the console');
  const seconds = Math.floor((session.expires - Date.now()) / 1000);
  return {
    status: 200,
    headers: { ...noStore, 'set-cookie': setCookie(headers, sealed, seconds) },
    body: shown(operator, session),
  };
}

function endSession(signIn: SignIn, { headers }: RouteRequest): RouteReply {
  checkHost(headers, signIn.hosts);
  checkOrigin(headers, 'DELETE');
  const session = signIn.sessions().read(cookieOf(headers) ?? '');
  if (session) signIn.sessions().end(session.id);
  return { status: 204, headers: { ...noStore, 'set-cookie': setCookie(headers, '', 0) }, body: null };
}

export function sessionRoutes(signIn: SignIn): Route[] {
  const failures = new Failures();
  const onAdmin = { adminOnly: true } as const;
  return [
    consoleRoute('GET /console/session', onAdmin, async ({ headers }) => {
      checkHost(headers, signIn.hosts);
      const session = signIn.sessions().read(cookieOf(headers) ?? '');
      const operator = session && (await operatorOf(signIn, session.secret).catch(() => undefined));
      const body = session && operator ? shown(operator, session) : { signedIn: false };
      return { status: 200, headers: noStore, body };
    }),
    consoleRoute('POST /console/session', onAdmin, (request) => startSession(signIn, failures, request)),
    consoleRoute('DELETE /console/session', onAdmin, async (request) => endSession(signIn, request)),
  ];
}
