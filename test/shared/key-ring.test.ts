/** What a key ring seals, who can open it, and where its keys come from. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Host } from '../../core/index.ts';
import { dataKeySchema, isSealedText, KeyRing, useKeyRing } from '../../plugins/shared/key-ring.ts';
import { makeFolder } from '../support/folder.ts';
import { createHost } from '../support/host.ts';

afterEach(() => void vi.unstubAllEnvs());

const [first, second] = [randomBytes(32), randomBytes(32)];
const ring = new KeyRing([first]);

it('what was sealed opens to the same bytes for the same purpose and account', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.string(), fc.string(), (data, purpose, account) => {
      expect(ring.open(purpose, account, ring.seal(purpose, account, data))).toEqual(Buffer.from(data));
      const text = ring.sealText(purpose, account, data);
      expect(text).toMatch(/^[\w-]+$/);
      expect(isSealedText(text)).toBe(true);
      expect(ring.openText(purpose, account, text)).toEqual(Buffer.from(data));
    }),
  );
});

it('nothing opens for another purpose, another account or another key', () => {
  const sealed = ring.seal('notes', 'ada', Buffer.from('the harbour is calm'));
  expect(sealed.includes('harbour')).toBe(false);
  expect(ring.open('letters', 'ada', sealed)).toBeUndefined();
  expect(ring.open('notes', 'bob', sealed)).toBeUndefined();
  expect(ring.open('note', 'sada', sealed)).toBeUndefined();
  expect(new KeyRing([second]).open('notes', 'ada', sealed)).toBeUndefined();
});

it('no byte of what was sealed can be changed, and none can be cut off', () => {
  const sealed = ring.seal('notes', 'ada', Buffer.from('calm'));
  for (const at of sealed.keys()) {
    const forged = Buffer.from(sealed);
    forged[at] = (forged[at] ?? 0) ^ 1;
    expect(ring.open('notes', 'ada', forged)).toBeUndefined();
    expect(ring.open('notes', 'ada', sealed.subarray(0, at))).toBeUndefined();
  }
  expect(ring.open('notes', 'ada', Buffer.concat([sealed, Buffer.alloc(1)]))).toBeUndefined();
});

it('the same data looks different each time that it is sealed', () => {
  const texts = Array.from({ length: 20 }, () => ring.sealText('notes', 'ada', Buffer.from('calm')));
  expect(new Set(texts).size).toBe(texts.length);
});

it('after a rotation the new key seals, and the old one opens what it sealed until it is removed', () => {
  const old = ring.sealText('notes', 'ada', Buffer.from('old'));
  const rotated = new KeyRing([second, first]);
  const fresh = rotated.sealText('notes', 'ada', Buffer.from('new'));
  expect(rotated.openText('notes', 'ada', old)?.toString()).toBe('old');
  expect(ring.openText('notes', 'ada', fresh)).toBeUndefined();
  const later = new KeyRing([second]);
  expect(later.openText('notes', 'ada', fresh)?.toString()).toBe('new');
  expect(later.openText('notes', 'ada', old)).toBeUndefined();
});

it.each(['', 'short', `${first.toString('base64')} short`, first.toString('hex')])(
  'a key of another form is refused without repeating it: "%s"',
  (text) => {
    const { error } = dataKeySchema.safeParse(text);
    expect(error?.message).toContain('openssl rand -base64 32');
    if (text !== '') expect(error?.message).not.toContain(text);
  },
);

/** A host with a plugin that uses the ring, and what the plugin got. */
function openHost(
  dataFolder: string,
  isShared = false,
): { host: ReturnType<typeof createHost>; ring: () => KeyRing } {
  let get: (() => KeyRing) | undefined;
  const user = definePlugin({
    name: 'user',
    options: z.strictObject({}),
    apply(host: Host) {
      get = useKeyRing({ ...host, dataFolder }, 'user');
    },
  });
  const host = createHost([user()]);
  host.tables.add({ name: 'ledger', isShared, open: async () => Promise.reject(new Error('not used')) });
  return { host, ring: () => (get ?? expect.unreachable())() };
}

it('the first start makes a key file for its owner alone, and the next one reads it', async () => {
  const folder = makeFolder();
  const start = openHost(folder);
  expect(start.ring).toThrow('not open yet');
  await start.host.calls.ready.promise();
  const text = start.ring().sealText('notes', 'ada', Buffer.from('calm'));
  expect(statSync(join(folder, 'data-key')).mode & 0o777).toBe(0o600);
  const next = openHost(folder);
  await next.host.calls.ready.promise();
  expect(next.ring().openText('notes', 'ada', text)?.toString()).toBe('calm');
});

it('a line before the others in the key file rotates the key', async () => {
  const folder = makeFolder();
  const file = join(folder, 'data-key');
  writeFileSync(file, first.toString('base64'));
  writeFileSync(file, `${second.toString('base64')}\n${readFileSync(file, 'utf8')}\n`);
  const { host, ring: get } = openHost(folder);
  await host.calls.ready.promise();
  expect(
    get()
      .openText('notes', 'ada', ring.sealText('notes', 'ada', Buffer.from('old')))
      ?.toString(),
  ).toBe('old');
  const fresh = get().sealText('notes', 'ada', Buffer.from('new'));
  expect(new KeyRing([second]).openText('notes', 'ada', fresh)?.toString()).toBe('new');
});

it('a key file that holds something else stops the start, and is not repeated', async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'data-key'), 'canary');
  const failed = openHost(folder).host.calls.ready.promise();
  await expect(failed).rejects.toThrow(/data-key has to hold what `openssl rand -base64 32` prints/);
  await expect(failed).rejects.not.toThrow('canary');
});

it('processes that start at once agree on the key', async () => {
  const folder = makeFolder();
  const module = join(import.meta.dirname, '../../plugins/shared/key-ring.ts');
  const core = join(import.meta.dirname, '../../core/index.ts');
  const script = `
    import { openSecret } from ${JSON.stringify(core)};
    import { useKeyRing } from ${JSON.stringify(module)};
    let ready;
    const hooks = { ready: { tapPromise: (_, tap) => { ready = tap; } } };
    const host = { hooks, dataFolder: ${JSON.stringify(folder)}, openSecret, onApplied() {}, watchFile() {} };
    const ring = useKeyRing(host, 'user');
    await ready();
    process.stdout.write(ring().sealText('notes', 'ada', Buffer.from('calm')));`;
  const run = promisify(execFile);
  const texts = await Promise.all(
    Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '--eval', script])),
  );
  const { host, ring: get } = openHost(folder);
  await host.calls.ready.promise();
  for (const { stdout } of texts) expect(get().openText('notes', 'ada', stdout)?.toString()).toBe('calm');
}, 120_000);

it('the environment gives the key, and then no file is made', async () => {
  vi.stubEnv('TOLLGATE_DATA_KEY', `${second.toString('base64')},${first.toString('base64url')}\n`);
  const folder = makeFolder();
  const { host, ring: get } = openHost(folder, true);
  await host.calls.ready.promise();
  expect(statSync(join(folder, 'data-key'), { throwIfNoEntry: false })).toBeUndefined();
  expect(
    get()
      .openText('notes', 'ada', ring.sealText('notes', 'ada', Buffer.from('x')))
      ?.toString(),
  ).toBe('x');
  vi.stubEnv('TOLLGATE_DATA_KEY', 'canary');
  expect(() => openHost(folder)).toThrow(/^(?!.*canary).*TOLLGATE_DATA_KEY.*openssl rand -base64 32/);
});

it('a ledger that several machines share needs a given key', async () => {
  const { host } = openHost(makeFolder(), true);
  await expect(host.calls.ready.promise()).rejects.toThrow(/set TOLLGATE_DATA_KEY to what `openssl rand/);
});
