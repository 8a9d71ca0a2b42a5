/** Secrets, and how the keyring finds their owners. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createKeyring, toKeyId } from '../../plugins/meters/balance/keys.ts';
import type { KeyRecord, Store } from '../../plugins/meters/balance/store.ts';
import { createSecret, hashSecret, isSecret } from '../../plugins/shared/secret.ts';
import { buildStore, keyRecord } from './calls.ts';

it('a secret starts with sk-, is random each time, and needs no escaping in a URL', () => {
  const secrets = Array.from({ length: 2000 }, createSecret);
  expect(new Set(secrets).size).toBe(2000);
  for (const secret of secrets) expect(secret).toMatch(/^sk-[0-9A-Za-z]{42}$/);
  expect(createSecret('operator')).toMatch(/^gw-[0-9A-Za-z]{42}$/);
});

it('a secret is recognised without asking the ledger', () => {
  for (const secret of Array.from({ length: 100 }, createSecret)) expect(isSecret(secret)).toBe(true);
});

it('a secret is no longer valid after any of its characters changed', () => {
  const secret = createSecret();
  for (let index = 0; index < secret.length; index += 1) {
    const other = secret[index] === 'a' ? 'b' : 'a';
    const changed = secret.slice(0, index) + other + secret.slice(index + 1);
    expect(isSecret(changed), `character ${index}`).toBe(false);
  }
});

const genuine = createSecret();
it.each([
  '',
  'sk-',
  'sk-test',
  genuine.slice(1),
  `${genuine}0`,
  genuine.replace('sk-', 'op-'),
  genuine.toUpperCase(),
  `${genuine}\n`,
])('a secret %j is not a secret', (text) => {
  expect(isSecret(text)).toBe(false);
});

it('a secret has one kind: the checksum covers its prefix', () => {
  const operators = createSecret('operator');
  expect([isSecret(operators), isSecret(operators, 'operator'), isSecret(genuine, 'operator')]).toEqual([
    false,
    true,
    false,
  ]);
  expect(isSecret(operators.replace('gw-', 'sk-'))).toBe(false);
});

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

it('the pattern in SECURITY.md finds every kind of secret in a text, and neighbours of none', () => {
  const policy = readFileSync(join(import.meta.dirname, '../../.github/SECURITY.md'), 'utf8');
  const [, published = ''] = /^```\n(.+)\n```$/m.exec(policy) ?? [];
  const kinds = ['user', 'operator', 'invitation', 'browser', 'device', 'access', 'refresh'] as const;
  for (const kind of kinds) {
    const secret = createSecret(kind);
    const found = [...`KEY="${secret}" # ${secret}.`.matchAll(new RegExp(published, 'g'))];
    expect(found.map(([text]) => text)).toEqual([secret, secret]);
  }
  for (const other of [`task-${genuine.slice(3)}`, `${genuine}0`, 'sk-proj-abc', genuine.slice(0, -1)])
    expect(new RegExp(published).test(other), other).toBe(false);
});

it('of random texts with the form of a key none passes, and one ending in 62 to the sixth', () => {
  const pick = (): string => alphabet.charAt(randomInt(alphabet.length));
  const texts = Array.from({ length: 50_000 }, () => `sk-${Array.from({ length: 42 }, pick).join('')}`);
  expect(texts.filter((text) => isSecret(text))).toEqual([]);
  // The last two places of the six have one right pair among all.
  const ends = [...alphabet].flatMap((one) => [...alphabet].map((other) => one + other));
  const passing = ends.filter((end) => isSecret(genuine.slice(0, -2) + end));
  expect([ends.length, passing]).toEqual([3844, [genuine.slice(-2)]]);
});

it('a key with two neighbours exchanged, one left out or one twice is refused', () => {
  for (let at = 3; at + 1 < genuine.length; at += 1) {
    const [before, one, other, after] = [
      genuine.slice(0, at),
      genuine[at],
      genuine[at + 1],
      genuine.slice(at + 2),
    ];
    if (one !== other) expect(isSecret(`${before}${other}${one}${after}`), `exchanged ${at}`).toBe(false);
    expect(isSecret(`${before}${other}${after}`), `left out ${at}`).toBe(false);
    expect(isSecret(`${before}${one}${one}${other}${after}`), `twice ${at}`).toBe(false);
  }
});

it('a secret is stored as its SHA-256', () => {
  expect(hashSecret('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(toKeyId(hashSecret('abc'))).toBe('ba7816bf8f01cfea');
});

describe('the keyring', () => {
  const keys = new Map<string, KeyRecord>();
  const findKey = vi.fn<Store['findKey']>(async (hash) => keys.get(hash));
  const store = buildStore({ findKey });
  // Not 0, which the cache takes for a time that was never set.
  let now = 1000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);

  function issue(account: string, more: Partial<KeyRecord> = {}): string {
    const secret = createSecret(more.kind);
    keys.set(hashSecret(secret), keyRecord(secret, { account, ...more }));
    return secret;
  }

  /** The cache reads the clock at most once a millisecond of real time. */
  async function pass(milliseconds: number): Promise<void> {
    now += milliseconds;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  afterEach(() => findKey.mockClear());

  it('finds the principal of a secret', async () => {
    const secret = issue('someone');
    expect(await createKeyring(() => store).verify(secret)).toMatchObject({
      kind: 'user',
      account: 'someone',
      key: toKeyId(hashSecret(secret)),
    });
  });

  it('refuses junk without asking the ledger', async () => {
    const keyring = createKeyring(() => store);
    for (const junk of ['sk-nonsense', 'hello', `sk-${'a'.repeat(42)}`])
      expect(await keyring.verify(junk)).toBeUndefined();
    expect(findKey).not.toHaveBeenCalled();
  });

  it('asks once for simultaneous calls, and again after a second', async () => {
    const keyring = createKeyring(() => store);
    const secret = issue('someone');
    await Promise.all([keyring.verify(secret), keyring.verify(secret), keyring.verify(secret)]);
    await keyring.verify(secret);
    expect(findKey).toHaveBeenCalledTimes(1);
    await pass(1000);
    await keyring.verify(secret);
    expect(findKey).toHaveBeenCalledTimes(2);
  });

  it('refuses a disabled key within a second', async () => {
    const keyring = createKeyring(() => store);
    const secret = issue('someone');
    expect(await keyring.verify(secret)).toBeDefined();
    const [hash, key] = [hashSecret(secret), keys.get(hashSecret(secret))];
    if (key) keys.set(hash, { ...key, disabled: true });
    await pass(1000);
    await expect(keyring.verify(secret)).rejects.toMatchObject({
      code: 'invalid_api_key',
      message: expect.stringContaining('is disabled'),
    });
  });

  it('counts the second from when the ledger was asked, however long it took', async () => {
    const keyring = createKeyring(() => store);
    const secret = issue('someone');
    findKey.mockImplementationOnce(async (hash) => {
      const found = keys.get(hash);
      await pass(700);
      return found;
    });
    await keyring.verify(secret);
    await pass(300);
    await keyring.verify(secret);
    expect(findKey).toHaveBeenCalledTimes(2);
  });

  it('refuses a key from the moment it expires, though it was found before', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 50_000 });
    const keyring = createKeyring(() => store);
    const secret = issue('someone', { expires: 60_000 });
    expect(await keyring.verify(secret)).toBeDefined();
    vi.setSystemTime(60_000);
    await expect((async () => keyring.verify(secret))()).rejects.toMatchObject({
      code: 'invalid_api_key',
      message: expect.stringContaining('expired at 1970-01-01T00:01:00.000Z'),
    });
    expect(findKey).toHaveBeenCalledTimes(1);
    vi.useRealTimers();
  });

  it("distinguishes an operator's key from a user's", async () => {
    const secret = issue('', { kind: 'operator', account: undefined });
    expect(await createKeyring(() => store).verify(secret)).toMatchObject({ kind: 'operator', account: '' });
  });

  it('remembers an unknown secret, and forgets it after many others', async () => {
    const keyring = createKeyring(() => store);
    const unknown = createSecret();
    expect([await keyring.verify(unknown), await keyring.verify(unknown)]).toEqual([undefined, undefined]);
    expect(findKey).toHaveBeenCalledTimes(1);
    for (const other of Array.from({ length: 1000 }, createSecret)) await keyring.verify(other);
    findKey.mockClear();
    await keyring.verify(unknown);
    expect(findKey).toHaveBeenCalledTimes(1);
  });

  it('does not let a flood of unknown secrets push out a key in use', async () => {
    const keyring = createKeyring(() => store);
    const secret = issue('someone');
    await keyring.verify(secret);
    for (const other of Array.from({ length: 12_000 }, () => createSecret())) await keyring.verify(other);
    findKey.mockClear();
    expect(await keyring.verify(secret)).toBeDefined();
    expect(findKey).not.toHaveBeenCalled();
  });

  it('rejects if the ledger fails, and asks again the next time', async () => {
    const keyring = createKeyring(() => store);
    const secret = issue('someone');
    findKey.mockRejectedValueOnce(new Error('disk'));
    await expect(keyring.verify(secret)).rejects.toThrow('disk');
    expect(await keyring.verify(secret)).toMatchObject({ account: 'someone' });
  });
});
