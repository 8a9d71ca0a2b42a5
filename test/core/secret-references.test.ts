/** References to secrets: what they read, when they read again, and what their errors never say. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { allowReference, hideSecrets, listSecrets, openSecret } from '../../core/index.ts';
import { makeFolder } from '../support/folder.ts';

const key = z.string().regex(/^[!-~]+$/, 'has to be a key');
const schema = z.strictObject({ key: allowReference(key) });

it('an option takes a secret or a reference, and a reference that names nothing is refused', () => {
  for (const right of ['k-1', 'env:KEY', 'file:/run/secrets/key', 'exec:/bin/echo "two words"'])
    expect(schema.safeParse({ key: right }).success).toBe(true);
  const explain = (wrong: string): unknown => schema.safeParse({ key: wrong }).error?.issues[0]?.message;
  expect(explain('two words')).toBe('has to be a key');
  expect(explain('env:1')).toBe('names no variable: write env:NAME');
  expect(explain('file:secrets/key')).toBe('needs the full path: write file:/run/secrets/name');
  expect(explain('exec: ')).toBe('names no command: write exec:/usr/bin/command arguments');
});

it('a variable is read each time', async () => {
  vi.stubEnv('A_KEY_OF_A_TEST', 'first-value');
  const secret = openSecret('env:A_KEY_OF_A_TEST');
  expect(await secret.read()).toEqual(['first-value']);
  vi.stubEnv('A_KEY_OF_A_TEST', 'second-value');
  expect(await secret.read()).toEqual(['second-value']);
  vi.unstubAllEnvs();
  await expect(openSecret('env:A_KEY_OF_A_TEST').read()).rejects.toThrow(
    'the secret env:A_KEY_OF_A_TEST cannot be read: it is not set',
  );
});

it('a folder that Kubernetes swaps is seen within a second, or at once after a refusal', async () => {
  const folder = makeFolder();
  const write = (version: string): void => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'key'), `${version}-key\n`);
    symlinkSync(version, join(folder, '..next'));
    renameSync(join(folder, '..next'), join(folder, '..data'));
  };
  write('one');
  symlinkSync('..data/key', join(folder, 'key'));
  const secret = openSecret(`file:${join(folder, 'key')}`, key);
  expect(secret.file).toBe(join(folder, 'key'));
  expect(await secret.read()).toEqual(['one-key']);
  write('two');
  expect(await secret.renew()).toEqual(['two-key']);
  write('three');
  await vi.waitFor(async () => expect(await secret.read()).toEqual(['three-key']), { timeout: 30_000 });
});

it('a file that goes away or goes bad keeps what it said before, and warns once', async () => {
  const warn = vi.fn<(message: string) => void>();
  const file = join(makeFolder(), 'key');
  writeFileSync(file, 'good-key\r\n\nolder-key');
  const secret = openSecret(`file:${file}`, key, warn);
  expect(await secret.read()).toEqual(['good-key', 'older-key']);
  writeFileSync(file, 'a canary that is no key');
  expect(await secret.renew()).toEqual(['good-key', 'older-key']);
  rmSync(file);
  expect(await secret.renew()).toEqual(['good-key', 'older-key']);
  expect(warn.mock.calls).toEqual([
    [`the secret file:${file} cannot be read: has to be a key; what it said before is used`],
  ]);
});

it.each([
  ['file:/dev/zero', 'it is no file'],
  ['file:/nowhere/at/all', 'ENOENT'],
  ['exec:/bin/sh -c "echo canary; exit 3"', 'it exited with 3'],
  ['exec:/bin/true', 'it is empty'],
  ['exec:/nowhere/at/all', 'ENOENT'],
  ['exec:/usr/bin/head -c 100000 /dev/zero', 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'],
])('%s cannot be read, and the error says why without what was read', async (text, why) => {
  const reading = openSecret(text, key).read();
  await expect(Promise.resolve(reading)).rejects.toThrow(`the secret ${text} cannot be read: ${why}`);
});

it('a command runs without a shell, once for all who wait, and again when renewed', async () => {
  const log = join(makeFolder(), 'runs');
  const count = `require('fs').readFileSync('${log}').length`;
  const script = `require('fs').appendFileSync('${log}', 'x'); console.log(process.argv[1] + ${count})`;
  const secret = openSecret(`exec:${process.execPath} -e "${script}" '$(id);'`);
  const read = await Promise.all([secret.read(), secret.read(), secret.read()]);
  expect(read).toEqual([['$(id);1'], ['$(id);1'], ['$(id);1']]);
  expect(await secret.read()).toEqual(['$(id);1']);
  expect(await Promise.all([secret.renew(), secret.renew()])).toEqual([['$(id);2'], ['$(id);2']]);
});

it('what a reference read is a secret for logs and errors, and the reference is none', async () => {
  vi.stubEnv('A_KEY_OF_A_TEST', 'file:/run/secrets/a-key');
  const file = join(makeFolder(), 'key');
  writeFileSync(file, 'planted-canary');
  expect(hideSecrets('planted-canary')).toBe('planted-canary');
  await openSecret(`file:${file}`).read();
  expect(hideSecrets('it says planted-canary')).toBe('it says ••••');
  expect(listSecrets()).not.toContain('file:/run/secrets/a-key');
  vi.unstubAllEnvs();
});
