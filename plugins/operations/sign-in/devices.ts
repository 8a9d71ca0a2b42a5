/**
 * Sign-in on devices (RFC 8628), as Claude Code's `/login` does it: the device shows a code, and its person
 * confirms it in a browser. The device gets short tokens of ours for calls, and a token that renews them as
 * long as the identity provider knows the person.
 */
import { randomInt } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  GatewayError,
  isGatewayError,
  toGatewayError,
  type Keyring,
  type Principal,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../../core/index.ts';
import { NetworkCounts } from '../../shared/network.ts';
import { noStore } from '../../shared/operator-routes.ts';
import { createSecret, isSecret } from '../../shared/secret.ts';
import { limitEntries } from '../../shared/up-to.ts';
import { buildRoute, endSession, findSession, start, type Place } from './browser.ts';
import { hour, isKnown, type SignIn } from './check.ts';
import { buildPage, escapeHtml } from './pages.ts';
import type { SessionRow } from './people.ts';

/** Seconds: of a code, and between two polls. */
const [codeAge, pause] = [600, 5];
/** Milliseconds of a poll that comes too early and is let through. */
const slack = 500;
/** Sign-ins that one address begins, and codes that it tries, in ten minutes. */
const mostAttempts = 30;
/** Requests with unknown tokens in the same time, since each is looked up. */
const mostFailures = 300;
const window = 600;
/** Milliseconds for which a token is known without a look at the tables. */
const ttl = 10_000;
/** Consonants, so that no code is a word, and none that look alike. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

function createCode(): string {
  return Array.from({ length: 8 }, () => letters.charAt(randomInt(letters.length))).join('');
}

const formatCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;
const readCode = (typed: string | null): string =>
  (typed ?? '')
    .toUpperCase()
    .replaceAll(/[^A-Z]/g, '')
    .slice(0, 8);

/** A refusal in the words of OAuth. */
class OAuthError extends GatewayError {
  readonly word: string;
  readonly sent: number;

  constructor(word: string, message: string, sent = 400) {
    super('invalid_request', message);
    this.word = word;
    this.sent = sent;
  }
}

function encodeError(error: unknown): RouteReply {
  if (error instanceof OAuthError)
    return buildOAuthReply({ error: error.word, error_description: error.message }, error.sent);
  const { code, status, message } = toGatewayError(error);
  const fault = status < 500 ? 'invalid_request' : 'temporarily_unavailable';
  const word = code === 'rate_limited' ? 'slow_down' : fault;
  return buildOAuthReply({ error: word, error_description: message }, status);
}

function buildOAuthReply(body: object, status = 200): RouteReply {
  return { status, headers: { ...noStore, pragma: 'no-cache' }, body };
}

/** A field of a form. OAuth allows no field twice. */
function readField(form: URLSearchParams, name: string): string {
  const [value = '', ...more] = form.getAll(name);
  if (more.length === 0) return value;
  throw new OAuthError('invalid_request', `"${name}" is sent more than once.`);
}

type Tokens = Awaited<ReturnType<SignIn['people']['issue']>>;

function buildTokenReply({ name }: SessionRow, { access, refresh, until }: Tokens): RouteReply {
  return buildOAuthReply({
    access_token: access,
    token_type: 'Bearer',
    expires_in: Math.floor((until - Date.now()) / 1000),
    refresh_token: refresh,
    ...(name.includes('@') && { email: name }),
  });
}

const buildLockout = (): OAuthError =>
  new OAuthError('invalid_grant', 'This sign-in has ended. Sign in again.', 401);

async function takeDevice({ people }: SignIn, secret: string, forget: () => void): Promise<RouteReply> {
  if (!isSecret(secret, 'device')) throw new OAuthError('invalid_grant', 'This is no device code.');
  const device = await people.poll(secret);
  if (!device) throw new OAuthError('expired_token', 'This code has expired. Begin again.');
  forget();
  if (Date.now() - (device.used ?? 0) < pause * 1000 - slack)
    throw new OAuthError('slow_down', `Ask every ${pause} seconds.`);
  if (device.person === null)
    throw new OAuthError('authorization_pending', 'Nobody has confirmed the code yet.');
  const session = await people.open(secret);
  if (!(await people.take(secret))) throw new OAuthError('expired_token', 'This code was used.');
  if (!session?.handle) throw new OAuthError('access_denied', 'The sign-in was refused.');
  return buildTokenReply(session, await people.issue(session));
}

/** A key that is disabled, or of an account that the person no longer has, ends the sign-in. */
function toLockout(error: unknown): never {
  throw isGatewayError(error) && error.code === 'invalid_api_key' ? buildLockout() : error;
}

/** The key that the calls of a device use; undefined if the person left its account. */
async function findOwnKey({ find }: SignIn['keys'], session: SessionRow): Promise<Principal | undefined> {
  const key = await find(session.handle ?? '');
  return key && session.accounts.includes(key.account) ? key : undefined;
}

/** A leaver gets 401: that is how Claude Code learns that it has to sign in again. */
async function renew(signIn: SignIn, secret: string, forget: () => void): Promise<RouteReply> {
  const { people, keys } = signIn;
  const session = isSecret(secret, 'refresh') ? await people.open(secret) : undefined;
  if (!session) throw buildLockout();
  forget();
  if (!(await isKnown(signIn, session))) throw buildLockout();
  // The check may have changed the accounts.
  const now = await people.open(secret);
  if (!now || !(await findOwnKey(keys, now).catch(toLockout))) throw buildLockout();
  const tokens = await people.renew(secret, session);
  if (!tokens) throw buildLockout();
  return buildTokenReply(session, tokens);
}

function buildOAuthRoute(
  place: Place,
  path: string,
  handle: (form: URLSearchParams, request: RouteRequest) => Promise<RouteReply>,
): Route {
  const route = buildRoute(place, 'POST', `/oauth/${path}`, (request) =>
    handle(new URLSearchParams(request.text), request),
  );
  return { ...route, takesForm: true, encodeError };
}

/** Where devices find the rest (RFC 8414). */
function buildMetadataRoute(place: Place): Route {
  const { base } = place;
  const metadata = {
    issuer: base,
    device_authorization_endpoint: `${base}/oauth/device_authorization`,
    token_endpoint: `${base}/oauth/token`,
    revocation_endpoint: `${base}/oauth/revoke`,
    grant_types_supported: [deviceGrant, 'refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
  };
  const path = '/.well-known/oauth-authorization-server';
  return { ...buildRoute(place, 'GET', path, async () => buildOAuthReply(metadata)), encodeError };
}

function buildOAuthRoutes(signIn: SignIn, place: Place): Route[] {
  const { options } = signIn;
  const { base } = place;
  const counts = new NetworkCounts(mostAttempts, window);
  const failures = new NetworkCounts(mostFailures, window);
  const forget = (address: string) => () => failures.forget(address);
  return [
    buildOAuthRoute(place, 'device_authorization', async (form, { address, headers }) => {
      counts.add(address, 'Too many devices sign in from this network. Wait ten minutes.');
      const [secret, code] = [createSecret('device'), createCode()];
      const ends = Date.now() + codeAge * 1000;
      const program = `${readField(form, 'surface')} ${headers['user-agent'] ?? ''}`.trim().slice(0, 200);
      const client = `${program || 'Unknown program'}, from ${address}`;
      if (!(await signIn.people.askForDevice(secret, code, client, ends)))
        throw new GatewayError('rate_limited', 'Too many devices wait. Try again in a few minutes.');
      const shown = formatCode(code);
      return buildOAuthReply({
        device_code: secret,
        user_code: shown,
        verification_uri: `${base}/device`,
        verification_uri_complete: `${base}/device?user_code=${shown}`,
        expires_in: codeAge,
        interval: pause,
        ...(options.notice !== undefined && { login_notice: options.notice }),
      });
    }),
    buildOAuthRoute(place, 'token', async (form, { address }) => {
      const grant = readField(form, 'grant_type');
      failures.add(address, 'Too many wrong tokens from this network. Wait ten minutes.');
      if (grant === deviceGrant) return takeDevice(signIn, readField(form, 'device_code'), forget(address));
      if (grant === 'refresh_token') return renew(signIn, readField(form, 'refresh_token'), forget(address));
      throw new OAuthError('unsupported_grant_type', `"grant_type" is ${deviceGrant} or refresh_token.`);
    }),
    buildOAuthRoute(place, 'revoke', async (form, { address }) => {
      const token = readField(form, 'token');
      failures.add(address, 'Too many tokens from this network. Wait ten minutes.');
      const isOurs = isSecret(token, 'access') || isSecret(token, 'refresh');
      const session = isOurs ? await signIn.people.open(token) : undefined;
      if (session) {
        failures.forget(address);
        await signIn.people.end({ by: 'id', value: session.session });
      }
      return buildOAuthReply({});
    }),
  ];
}

const buildMissing = (): GatewayError =>
  new GatewayError('not_found', 'No device waits with this code. Begin again.');

type Device = NonNullable<Awaited<ReturnType<SignIn['people']['findDevice']>>>;

async function approve(signIn: SignIn, session: SessionRow, device: Device, account: string): Promise<void> {
  if (session.refresh === null)
    throw new GatewayError(
      'forbidden',
      'The identity provider gave no refresh token, which devices need: let it allow offline_access.',
    );
  if (!session.accounts.includes(account))
    throw new GatewayError('forbidden', 'You belong to no account here. Ask an operator.');
  const { id: person, sid, holder } = session;
  const handle = await signIn.keys.lend({ account, holder, name: 'signed-in devices' });
  if (handle === undefined)
    throw new GatewayError('forbidden', `The account "${account}" is not open. Ask an operator.`);
  const ends = Date.now() + signIn.options.deviceSession * hour;
  if (!(await signIn.people.answer(device.session, { person, sid, ends }, handle))) throw buildMissing();
}

function showForm(session: SessionRow, code: string, known?: Pick<Device, 'client'>): RouteReply {
  const { name, accounts } = session;
  const choices = accounts.map((each) => `<option>${escapeHtml(each)}</option>`).join('');
  const choose = `<label for="account">Account that pays</label>
    <select id="account" name="account">${choices}</select>`;
  const only = `<input type="hidden" name="account" value="${escapeHtml(accounts[0] ?? '')}">`;
  const body = known
    ? `<p>A device shows this code:</p><p><code>${escapeHtml(formatCode(code))}</code></p>
      <p class="dim">${escapeHtml(known.client)}</p>
      <p>Confirm only if you began this sign-in yourself and the codes are the same: the device makes calls in
      your name.</p><input type="hidden" name="user_code" value="${escapeHtml(code)}">
      ${accounts.length > 1 ? choose : only}
      <button class="main" name="answer" value="approve">Confirm</button>
      <button name="answer" value="deny">Refuse</button>`
    : `<label for="code">Code that the device shows</label>
      <input id="code" name="user_code" autocomplete="off" autofocus maxlength="9" placeholder="XXXX-XXXX">
      <button class="main" name="answer" value="find">Continue</button>`;
  return buildPage({
    title: 'Sign in on a device',
    body: `<form method="post" action="/device">${body}<p class="dim">You are ${escapeHtml(name)}.
      <button name="answer" value="leave">Sign out</button></p></form>`,
  });
}

const buildNote = (title: string, text: string): RouteReply => buildPage({ title, body: `<p>${text}</p>` });

/** Answers the form of the page, and shows the next. */
async function answerForm(signIn: SignIn, place: Place, counts: NetworkCounts, request: RouteRequest) {
  const { headers, text, address } = request;
  const session = await findSession(signIn, place, headers, 'POST');
  if (!session)
    throw new GatewayError('forbidden', 'Your session has ended. Open the link of the device again.');
  const form = new URLSearchParams(text);
  const [answer, code] = [form.get('answer'), readCode(form.get('user_code'))];
  if (answer === 'leave') {
    const cookie = await endSession(signIn, place, request);
    return buildPage({ title: 'You are signed out', body: '', headers: { 'set-cookie': cookie } });
  }
  counts.add(address, 'Too many codes were tried from this network. Wait ten minutes.');
  counts.add(session.id, 'You have tried too many codes. Wait ten minutes.');
  const device = await signIn.people.findDevice(code);
  if (!device) throw buildMissing();
  if (answer === 'find') return showForm(session, code, device);
  if (answer !== 'approve') {
    const ends = Date.now() + codeAge * 1000;
    await signIn.people.answer(device.session, { person: session.id, sid: session.sid, ends }, null);
    return buildNote('Refused', 'The device was not signed in.');
  }
  await approve(signIn, session, device, form.get('account') ?? '');
  signIn.logger.info(
    { address, person: session.holder, client: device.client },
    'a person signed a device in',
  );
  return buildNote('The device is signed in', 'You can close this page.');
}

function buildPageRoutes(signIn: SignIn, place: Place): Route[] {
  const counts = new NetworkCounts(mostAttempts, window);
  return [
    buildRoute(place, 'GET', '/device', async ({ headers, query, address }) => {
      const code = readCode(query.get('user_code'));
      // A link from elsewhere leads here: the cookie is not sent then, and the sign-in comes back.
      const session = await findSession(signIn, place, { ...headers, 'sec-fetch-site': undefined }, 'GET');
      if (!session) {
        const to = code === '' ? '/device' : `/device?user_code=${formatCode(code)}`;
        const location = `${place.base}${start}?${new URLSearchParams({ to })}`;
        return { status: 302, headers: { ...noStore, location }, body: null };
      }
      if (code === '') return showForm(session, '');
      counts.add(address, 'Too many codes were tried from this network. Wait ten minutes.');
      const device = await signIn.people.findDevice(code);
      return device ? showForm(session, code, device) : showForm(session, '');
    }),
    {
      ...buildRoute(place, 'POST', '/device', (request) => answerForm(signIn, place, counts, request)),
      takesForm: true,
    },
  ];
}

export function buildDeviceRoutes(signIn: SignIn, place: Place): Route[] {
  return [buildMetadataRoute(place), ...buildOAuthRoutes(signIn, place), ...buildPageRoutes(signIn, place)];
}

/** Verifies the tokens of devices. A known one is looked up again after ten seconds: a logout counts soon. */
export function createDeviceKeyring(signIn: SignIn): Keyring {
  const known = new LRUCache<string, { readonly session: SessionRow | undefined }>({
    ...limitEntries(10_000),
    ttl,
    fetchMethod: async (secret) => ({ session: await signIn.people.open(secret) }),
  });
  return {
    name: 'sign-in',
    async verify(secret): Promise<Principal | undefined> {
      if (!isSecret(secret, 'access')) return undefined;
      const { session } = (await known.fetch(secret)) ?? {};
      const found = session && (await findOwnKey(signIn.keys, session));
      if (!session || !found)
        throw new GatewayError('invalid_api_key', 'The sign-in of this device has ended. Sign in again.', {
          headers: { 'x-should-retry': 'false' },
        });
      const { role, accounts } = session;
      return { ...found, person: { role, accounts } };
    },
  };
}
