/**
 * Google's token service on loopback: it accepts a service account's assertion, checks its signature with the
 * public key, and issues tokens. The library's requests to the real host are sent here.
 */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { gaxios } from 'google-auth-library';
import { vi } from 'vitest';
import { z } from 'zod';
import { startCloud } from './front.ts';

const claims = z.object({
  iss: z.string(),
  scope: z.literal('https://www.googleapis.com/auth/cloud-platform'),
  aud: z.literal('https://oauth2.googleapis.com/token'),
  exp: z.int(),
  iat: z.int(),
});

export interface SignIn {
  /** A service account's key, as in its file. */
  readonly account: {
    readonly type: 'service_account';
    readonly client_email: string;
    readonly private_key: string;
    readonly project_id: string;
  };
  /** How many tokens were issued. */
  readonly given: number;
  /** The valid token. */
  readonly token: string;
  /** Seconds that the next ones are valid. */
  lifetime: number;
  /** Whether it refuses everyone. */
  closed: boolean;
  close(): Promise<void>;
}

function isVerified(assertion: string, publicKey: string, email: string): boolean {
  const [head = '', body = '', signature = ''] = assertion.split('.');
  const claimed = claims.parse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  const now = Date.now() / 1000;
  return (
    claimed.iss === email &&
    claimed.exp > now &&
    claimed.iat <= now + 5 &&
    verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      createPublicKey(publicKey),
      Buffer.from(signature, 'base64url'),
    )
  );
}

export async function startSignIn(): Promise<SignIn> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const email = 'gateway@house.iam.gserviceaccount.com';
  const state = { given: 0, lifetime: 3600, closed: false };
  const service = await startCloud(({ body }) => {
    const { grant_type: grant, assertion = '' } = Object.fromEntries(new URLSearchParams(body.toString()));
    const isGood =
      !state.closed &&
      grant === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      isVerified(assertion, publicKey, email);
    if (!isGood)
      return {
        status: 400,
        body: { error: 'invalid_grant', error_description: `Invalid JWT Signature: ${assertion}` },
      };
    state.given += 1;
    return {
      status: 200,
      body: { access_token: `ya29.token-${state.given}`, expires_in: state.lifetime, token_type: 'Bearer' },
    };
  });
  const real = gaxios.Gaxios.prototype.request;
  const spy = vi.spyOn(gaxios.Gaxios.prototype, 'request').mockImplementation(function redirected(
    this: gaxios.Gaxios,
    options,
  ) {
    return real.call(this, {
      ...options,
      url: String(options?.url).replace('https://oauth2.googleapis.com', service.origin),
    });
  });
  return {
    account: { type: 'service_account', client_email: email, private_key: privateKey, project_id: 'house' },
    get given() {
      return state.given;
    },
    get token() {
      return `ya29.token-${state.given}`;
    },
    set lifetime(seconds: number) {
      state.lifetime = seconds;
    },
    set closed(closed: boolean) {
      state.closed = closed;
    },
    async close() {
      spy.mockRestore();
      await service.close();
    },
  };
}
