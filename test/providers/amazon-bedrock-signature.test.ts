/** The signer held against AWS's published vectors, and against a verifier that shares no code with it. */
import { SignatureV4 } from '@smithy/signature-v4';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Sha256, createSigner } from '../../plugins/providers/amazon-bedrock/setup.ts';
import { checkSignature } from '../support/cloud/sigv4.ts';

/** The key and the moment of AWS's own test suite for Signature Version 4. */
const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const signingDate = new Date('2015-08-30T12:36:00Z');
const keys = {
  id: credentials.accessKeyId,
  secret: credentials.secretAccessKey,
  region: 'us-east-1',
  service: 'service',
};

interface Vector {
  readonly method: string;
  readonly path?: string;
  readonly query?: Record<string, string>;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signature: string;
}

const vectors: Readonly<Record<string, Vector>> = {
  'get-vanilla': {
    method: 'GET',
    signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  'get-vanilla-query-order-key-case': {
    method: 'GET',
    query: { Param2: 'value2', Param1: 'value1' },
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  'post-vanilla': {
    method: 'POST',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  'post-header-key-case': {
    method: 'POST',
    headers: { 'My-Header1': 'value1' },
    signature: 'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  },
  'post-x-www-form-urlencoded': {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
};

const signer = new SignatureV4({
  service: 'service',
  region: 'us-east-1',
  credentials,
  sha256: Sha256,
  applyChecksum: false,
});

it.each(Object.entries(vectors))(
  "AWS's published vectors %s is signed as AWS signs it, and verified",
  async (_, { method, path = '/', query = {}, headers = {}, body = '', signature }) => {
    const request = {
      method,
      protocol: 'https:',
      hostname: 'example.amazonaws.com',
      path,
      query,
      headers: { host: 'example.amazonaws.com', ...headers },
      body,
    };
    const signed = await signer.sign(request, { signingDate });
    expect(signed.headers.authorization).toMatch(new RegExp(`Signature=${signature}$`));
    const arrived = {
      method,
      path: `${path}?${new URLSearchParams(query)}`,
      headers: Object.fromEntries(
        Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      body: Buffer.from(body),
    };
    expect(checkSignature(arrived, keys, signingDate.getTime())).toBeUndefined();
  },
);

describe('a signed call', () => {
  const sign = createSigner('eu-central-1', { ...credentials, sessionToken: 'session' });
  const request = {
    method: 'POST',
    url: 'https://bedrock.example:8443/model/global.anthropic.claude%3A0/invoke',
    headers: { 'content-type': 'application/json', accept: 'application/json', 'user-agent': 'tollgate' },
    body: '{"a":"Ål"}',
  } as const;
  const own = { ...keys, region: 'eu-central-1', service: 'bedrock' };
  const checkArrival = async (
    change: {
      readonly path?: string;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    } = {},
  ): Promise<string | undefined> => {
    const signed = await sign(request);
    const { pathname } = new URL(signed.url);
    return checkSignature(
      {
        method: signed.method,
        path: change.path ?? pathname,
        headers: { ...signed.headers, ...change.headers },
        body: Buffer.from(change.body ?? String(signed.body)),
      },
      own,
    );
  };

  it("is right by the other side's reckoning, with the colon of its path and its session", async () => {
    expect(await checkArrival()).toBeUndefined();
    expect((await sign(request)).headers).toMatchObject({
      host: 'bedrock.example:8443',
      'x-amz-security-token': 'session',
      'user-agent': 'tollgate',
    });
  });

  it('is the same with an access key that is referred to', async () => {
    vi.stubEnv('A_SECRET_OF_AWS', credentials.secretAccessKey);
    onTestFinished(() => void vi.unstubAllEnvs());
    const refers = createSigner('eu-central-1', { ...credentials, secretAccessKey: 'env:A_SECRET_OF_AWS' });
    const { url, headers, body } = await refers(request);
    const arrived = { method: 'POST', path: new URL(url).pathname, headers, body: Buffer.from(body) };
    expect(checkSignature(arrived, own)).toBeUndefined();
    const lacks = createSigner('eu-central-1', { ...credentials, secretAccessKey: 'env:NOT_THERE' });
    await expect(Promise.resolve(lacks(request))).rejects.toThrow('could not sign in to the provider');
  });

  it.each([
    ['body', { body: '{"a":"Al"}' }],
    ['path', { path: '/model/global.anthropic.claude%3A1/invoke' }],
    ['host', { headers: { host: 'other.example' } }],
    ['session', { headers: { 'x-amz-security-token': 'other' } }],
  ])('is wrong when its %s was changed on the way', async (_, change) => {
    expect(await checkArrival(change)).toBe('another signature');
  });
});
