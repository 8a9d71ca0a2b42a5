import { describe, expect, it } from 'vitest';
import type { Keyring, Plugin, Principal } from '../../core/index.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { buildHead } from '../support/exchange.ts';
import { createHost } from '../support/host.ts';
import { plainProtocol } from '../support/plain-protocol.ts';

function createKeyring(name: string, keys: Record<string, string>, requests: string[] = []): Keyring {
  return {
    name,
    async verify(secret): Promise<Principal | undefined> {
      requests.push(`${name}:${secret}`);
      const account = keys[secret];
      return account === undefined ? undefined : { kind: 'user', account, key: 'k' };
    },
  };
}

/** Authenticates a call by these schemes. The keys `sk-ann` and `sk-bob` are known. */
async function findAccount(
  plugins: Plugin[],
  ...head: Parameters<typeof buildHead>
): Promise<string | undefined> {
  const host = createHost(plugins);
  host.keyrings.add(createKeyring('keys', { 'sk-ann': 'ann', 'sk-bob': 'bob', 'two words': 'odd' }));
  return (await host.calls.authenticate.promise(buildHead(...head)))?.account;
}

it.each(['chat-completions', 'responses', 'messages', 'generate-content', 'images', 'balance'])(
  'bearer is accepted on %s',
  async (family) => {
    expect(await findAccount([bearer()], family, { authorization: 'Bearer sk-ann' })).toBe('ann');
  },
);

it('bearer accepts the scheme in any case, and any characters in the key', async () => {
  expect(await findAccount([bearer()], 'messages', { authorization: 'bearer  sk-ann' })).toBe('ann');
  expect(await findAccount([bearer()], 'messages', { authorization: 'Bearer two words' })).toBe('odd');
});

it.each([
  {},
  { authorization: '' },
  { authorization: 'Bearer' },
  { authorization: 'Basic c2stYW5u' },
  { authorization: 'sk-ann' },
])('bearer leaves the headers %o to other plugins', async (headers) => {
  expect(await findAccount([bearer()], 'messages', headers)).toBeUndefined();
});

it('bearer serves only its families if they are configured', async () => {
  const only = bearer({ families: ['responses'] });
  expect(await findAccount([only], 'responses', { authorization: 'Bearer sk-ann' })).toBe('ann');
  expect(await findAccount([only], 'messages', { authorization: 'Bearer sk-ann' })).toBeUndefined();
});

it('bearer refuses an empty family list, and names the plugin and the option', () => {
  expect(() => bearer({ families: [] })).toThrow(/plugin "bearer".*"families"/);
});

const page = {
  method: 'GET',
  path: '/page',
  encodeError: () => ({ status: 500, body: {} }),
  handle: async () => ({ status: 200, body: {} }),
} as const;

/** A host with a protocol, a route for users and a public route. */
function openHarness(plugin: Plugin): ReturnType<typeof createHost> {
  const host = createHost([plugin]);
  host.protocols.add(plainProtocol);
  host.routes.add({ ...page, name: 'account', access: 'user' });
  host.routes.add({ ...page, name: 'news', access: 'public' });
  return host;
}

it.each([
  ['bearer', bearer],
  ['api-key-header', apiKeyHeader],
  ['google-api-key', googleApiKey],
])(
  'families fail the start if %s names an unknown one, with an error that lists the known ones',
  async (name, factory) => {
    const start = (families?: string[]): Promise<void> =>
      openHarness(factory({ families })).calls.ready.promise();
    await expect(start(['plain', 'typo'])).rejects.toThrow(
      `plugin "${name}": option "families": "typo" does not exist; these do: plain, account`,
    );
    await expect(start(['news'])).rejects.toThrow('"news" does not exist');
    await expect(start(['plain', 'account'])).resolves.toBeUndefined();
    // The default families may be missing.
    await expect(start()).resolves.toBeUndefined();
  },
);

it('x-api-key is accepted on messages only', async () => {
  expect(await findAccount([apiKeyHeader()], 'messages', { 'x-api-key': 'sk-ann' })).toBe('ann');
  expect(await findAccount([apiKeyHeader()], 'chat-completions', { 'x-api-key': 'sk-ann' })).toBeUndefined();
  expect(await findAccount([apiKeyHeader()], 'messages', { 'x-api-key': '' })).toBeUndefined();
});

it('x-api-key takes precedence over a bearer token, whatever the order of the plugins', async () => {
  const both = { 'x-api-key': 'sk-ann', authorization: 'Bearer sk-bob' };
  expect(await findAccount([bearer(), apiKeyHeader()], 'messages', both)).toBe('ann');
  expect(await findAccount([apiKeyHeader(), bearer()], 'messages', both)).toBe('ann');
});

it('x-api-key fails the call if it is wrong, even next to a valid bearer token', async () => {
  const both = { 'x-api-key': 'sk-wrong', authorization: 'Bearer sk-bob' };
  await expect(findAccount([bearer(), apiKeyHeader()], 'messages', both)).rejects.toMatchObject({
    code: 'invalid_api_key',
  });
});

it('x-api-key leaves a call without it to the bearer token', async () => {
  expect(await findAccount([bearer(), apiKeyHeader()], 'messages', { authorization: 'Bearer sk-bob' })).toBe(
    'bob',
  );
});

it.each([
  [{ 'x-partner-api-key': 'sk-ann' }, ''],
  [{ 'x-goog-api-key': 'sk-ann' }, ''],
  [{}, 'alt=sse&key=sk-ann'],
  [{ 'x-partner-api-key': '', 'x-goog-api-key': 'sk-ann' }, 'key=sk-bob'],
])('the generate-content key is read from the headers %o and the query "?%s"', async (headers, query) => {
  expect(await findAccount([googleApiKey()], 'generate-content', headers, query)).toBe('ann');
});

it('the generate-content key is not accepted on another family', async () => {
  expect(
    await findAccount([googleApiKey()], 'messages', { 'x-goog-api-key': 'sk-ann' }, 'key=sk-ann'),
  ).toBeUndefined();
});

it('the generate-content key takes precedence over a bearer token', async () => {
  expect(
    await findAccount(
      [bearer(), googleApiKey()],
      'generate-content',
      { authorization: 'Bearer sk-bob' },
      'key=sk-ann',
    ),
  ).toBe('ann');
});

it('the generate-content key leaves a call without it to other plugins', async () => {
  expect(await findAccount([googleApiKey()], 'generate-content', {}, 'key=')).toBeUndefined();
});

describe('keyrings', () => {
  const head = ['messages', { 'x-api-key': 'sk-ann' }] as const;

  it('are asked in order until one knows the key, including those added later', async () => {
    const requests: string[] = [];
    const host = createHost([apiKeyHeader()]);
    host.keyrings.add(createKeyring('first', {}, requests));
    host.keyrings.add(createKeyring('second', { 'sk-ann': 'ann' }, requests));
    host.keyrings.add(createKeyring('third', { 'sk-ann': 'other' }, requests));
    expect(await host.calls.authenticate.promise(buildHead(...head))).toMatchObject({ account: 'ann' });
    expect(requests).toEqual(['first:sk-ann', 'second:sk-ann']);
  });

  it.each([
    ['bearer', bearer(), 'messages', { authorization: 'Bearer sk-secret' }],
    ['api-key-header', apiKeyHeader(), 'messages', { 'x-api-key': 'sk-secret' }],
    ['google-api-key', googleApiKey(), 'generate-content', { 'x-goog-api-key': 'sk-secret' }],
  ])(
    'refuse a key that none of them knows with 401 by %s, and do not repeat it in the error',
    async (_, plugin, family, headers) => {
      const refusal: unknown = await findAccount([plugin], family, headers).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'invalid_api_key', status: 401, retry: false });
      expect(String(refusal)).not.toContain('sk-secret');
    },
  );

  it('fail the call with a server error if unavailable, and do not call the key invalid', async () => {
    const host = createHost([bearer()]);
    host.keyrings.add({ name: 'down', verify: () => Promise.reject(new Error('store is down')) });
    await expect(
      host.calls.authenticate.promise(buildHead('messages', { authorization: 'Bearer sk-ann' })),
    ).rejects.toThrow('store is down');
  });
});
