/**
 * The identity provider, by OpenID Connect: the code flow with PKCE, state and nonce, renewals that ask
 * whether it still knows a person, and the logout tokens that it posts. It is discovered when it is first
 * needed, so that the gateway starts without it.
 */
import type { createRemoteJWKSet } from 'jose';
import type { Configuration, TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client';
import { z } from 'zod';
import { GatewayError, getMessage, type Host, type Secret } from '../../../core/index.ts';
import { isLoopback } from './options.ts';
import type { Options } from './options.ts';

/** What stays in the browser during a sign-in, sealed. */
export const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** Where the person goes then: a path of ours. */
  to: z.string(),
  until: z.number(),
});
export type Flow = z.output<typeof flowSchema>;

export type Claims = Readonly<Record<string, unknown>>;

export interface Identity {
  /** Undefined if a renewal says only that the person is still known. */
  readonly claims: Claims | undefined;
  readonly subject: string;
  /** The session at the identity provider, which a logout names. */
  readonly sid: string | null;
  readonly refresh: string | null;
}

/** Seconds that a request to the identity provider may take. */
const patience = 10;
/** Seconds of age that a logout token may have, with clocks that differ. */
const oldest = 600;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** Keys of the identity provider alone sign logout tokens; a shared secret never does. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const logoutSchema = z.object({
  jti: z.string().min(1).max(1000),
  sub: z.string().optional(),
  sid: z.string().optional(),
  nonce: z.never().optional(),
  events: z.looseObject({ [logoutEvent]: z.looseObject({}) }),
});

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

export class Provider {
  readonly #options: Options;
  readonly #secret: Secret;
  #found: Promise<Configuration> | undefined;
  #keys: ReturnType<typeof createRemoteJWKSet> | undefined;

  constructor(options: Options, { openSecret, watchFile }: Pick<Host, 'openSecret' | 'watchFile'>) {
    this.#options = options;
    this.#secret = openSecret(options.clientSecret);
    // A change reloads the configuration, and so makes another provider.
    if (this.#secret.file !== undefined) watchFile(this.#secret.file);
  }

  async #open() {
    const oidc = await import('openid-client');
    const { issuer, clientId } = this.#options;
    const [clientSecret] = await this.#secret.read();
    const execute = isLoopback(issuer) ? [oidc.allowInsecureRequests] : [];
    this.#found ??= oidc.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      timeout: patience,
      execute,
    });
    try {
      return { oidc, found: await this.#found };
    } catch (error) {
      this.#found = undefined;
      throw buildAwayError(error);
    }
  }

  /** Where the browser goes to sign in, and what it keeps meanwhile. */
  async begin(back: string, to: string, until: number): Promise<{ url: string; flow: Flow }> {
    const { oidc, found } = await this.#open();
    const flow = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
      to,
      until,
    };
    const url = oidc.buildAuthorizationUrl(found, {
      redirect_uri: back,
      scope: this.#options.scopes.join(' '),
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
      ...this.#options.parameters,
    });
    return { url: url.href, flow };
  }

  /** Who has signed in. Throws `forbidden` for a reply that is none to this flow. */
  async finish(back: string, query: URLSearchParams, { state, nonce, verifier }: Flow): Promise<Identity> {
    const { oidc, found } = await this.#open();
    const reply = new URL(back);
    reply.search = query.toString();
    try {
      const tokens = await oidc.authorizationCodeGrant(found, reply, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      return await this.#identify(tokens, tokens.claims()?.sub ?? '');
    } catch (error) {
      if (error instanceof oidc.AuthorizationResponseError)
        throw new GatewayError('forbidden', `The identity provider refused: ${error.error.slice(0, 100)}.`, {
          cause: error,
        });
      if (isAway(error)) throw buildAwayError(error);
      throw new GatewayError('forbidden', 'This sign-in is not valid. Begin again.', { cause: error });
    }
  }

  /** Asks whether a person is still known. Undefined if not; throws if no answer comes. */
  async renew(refresh: string, subject: string): Promise<Identity | undefined> {
    const { oidc, found } = await this.#open();
    try {
      const tokens = await oidc.refreshTokenGrant(found, refresh);
      if ((tokens.claims()?.sub ?? subject) !== subject) return undefined;
      return await this.#identify(tokens, subject);
    } catch (error) {
      if (error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant') return undefined;
      throw buildAwayError(error);
    }
  }

  /** The ID token says who it is, and the user info of many providers has the groups. */
  async #identify(tokens: Tokens, subject: string): Promise<Identity> {
    const { oidc, found } = await this.#open();
    const own = tokens.claims();
    const more = found.serverMetadata().userinfo_endpoint
      ? await oidc.fetchUserInfo(found, tokens.access_token, subject)
      : undefined;
    const sid = own?.['sid'];
    return {
      claims: (own || more) && { ...more, ...own },
      subject,
      sid: typeof sid === 'string' ? sid : null,
      refresh: tokens.refresh_token ?? null,
    };
  }

  /** Whom the identity provider has logged out. Throws `invalid_request` unless it signed that for us. */
  async verifyLogout(token: string) {
    const { found } = await this.#open();
    const { createRemoteJWKSet, jwtVerify } = await import('jose');
    const { issuer, jwks_uri: keys = '' } = found.serverMetadata();
    this.#keys ??= createRemoteJWKSet(new URL(keys), { timeoutDuration: patience * 1000 });
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#keys, {
        issuer,
        audience: this.#options.clientId,
        algorithms,
        requiredClaims: ['iat', 'jti', 'events'],
        maxTokenAge: oldest,
        clockTolerance: 60,
      });
      const { sub, sid, jti } = logoutSchema.parse(payload);
      if (!['logout+jwt', 'JWT', undefined].includes(protectedHeader.typ))
        throw new Error('its type is wrong');
      if (sub === undefined && sid === undefined) throw new Error('it names no person and no session');
      return { sub, sid, jti, until: Date.now() + 2 * oldest * 1000 };
    } catch (error) {
      throw new GatewayError('invalid_request', 'The logout token is not valid.', { cause: error });
    }
  }
}

/** Whether the identity provider gave no answer, or one that says nothing about the person. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  const { code, status } = z
    .object({ code: z.unknown().optional(), status: z.number().optional() })
    .parse({ ...error });
  return error instanceof TypeError || code === 'OAUTH_TIMEOUT' || (status !== undefined && status >= 500);
}

function buildAwayError(error: unknown): GatewayError {
  return new GatewayError('overloaded', 'The identity provider cannot be asked now. Try again soon.', {
    retryAfter: 10,
    cause: new Error(getMessage(error), { cause: error }),
  });
}
