/**
 * A real identity provider in this process, on loopback. Whoever `now` names signs in without a question, and
 * nobody is asked for consent. Whoever is taken out of `staff` has left: their renewals are refused.
 */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

export const clientId = 'tollgate';
export const clientSecret = 'a-secret-of-the-gateway-that-nobody-guesses';

/** Signs its tokens. */
export const signingKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const jwk = { ...signingKey.export({ format: 'jwk' }), use: 'sig', kid: 'first' };

export interface Member {
  readonly email: string;
  readonly groups: readonly string[];
}

export interface Identity {
  readonly issuer: string;
  /** People by their subjects. */
  readonly staff: Map<string, Member>;
  /** Who sits in front of the browser. */
  now: string;
  readonly provider: Provider;
  /** Answers 503 to everything while true. */
  isAway: boolean;
  /** How often a renewal was asked for. */
  readonly renewals: { count: number };
  /** Seconds that its refresh tokens live; undefined: it gives none. */
  givesRefresh: boolean;
  close(): Promise<void>;
}

interface Addresses {
  readonly redirects: readonly string[];
  readonly logout: string;
}

function buildConfiguration(identity: Identity, { redirects, logout }: Addresses) {
  return {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: redirects,
        grant_types: ['authorization_code', 'refresh_token'],
        backchannel_logout_uri: logout,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ['sub', 'sid'], email: ['email', 'email_verified'], profile: ['groups'] },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
    ttl: {
      Interaction: 600,
      Grant: 3600,
      Session: 3600,
      AccessToken: 600,
      IdToken: 600,
      RefreshToken: 86_400,
    },
    jwks: { keys: [jwk] },
    pkce: { required: () => true },
    cookies: { keys: ['a-key-of-the-identity-provider'] },
    issueRefreshToken: async () => identity.givesRefresh,
    // By default it never calls an address on loopback.
    fetch: (url: string, { method, headers, body }: RequestInit) =>
      fetch(url, { method: method ?? 'GET', headers: headers ?? {}, body: body ?? null }),
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    async findAccount(_: unknown, accountId: string) {
      const member = identity.staff.get(accountId);
      return (
        member && { accountId, claims: async () => ({ sub: accountId, email_verified: true, ...member }) }
      );
    },
    async loadExistingGrant({ oidc: { client, session } }: Parameters<Parameters<Provider['use']>[0]>[0]) {
      const grant = new identity.provider.Grant({ accountId: session.accountId, clientId: client.clientId });
      grant.addOIDCScope('openid profile email offline_access');
      await grant.save();
      return grant;
    },
  };
}

export async function openIdentity(addresses: Addresses): Promise<Identity> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const issuer = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const identity: { -readonly [Name in keyof Identity]: Identity[Name] } = Object.assign(
    { issuer, staff: new Map<string, Member>(), now: '', isAway: false, givesRefresh: true },
    { renewals: { count: 0 }, provider: new Provider(issuer, { jwks: { keys: [jwk] } }) },
    { close: async () => void (server.closeAllConnections(), server.close()) },
  );
  const provider = new Provider(issuer, buildConfiguration(identity, addresses));
  identity.provider = provider;
  provider.use(async (context, next) => {
    if (!context.path.startsWith('/interaction/')) return next();
    return provider.interactionFinished(context.req, context.res, { login: { accountId: identity.now } });
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (identity.isAway) return void response.writeHead(503).end();
    if (request.url === '/token') identity.renewals.count += 1;
    answer(request, response);
  });
  return identity;
}
