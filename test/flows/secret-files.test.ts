/** The delivered configuration with its secrets in files, as orchestrators mount them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { askAdmin } from '../support/admin-listener.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { openDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { makeDataFolder, runVerb, startProcess } from '../support/process.ts';

/** Variables that refer to files, which are made. */
function writeSecrets(texts: Readonly<Record<string, string>>): Record<string, string> {
  const folder = makeDataFolder();
  const named = Object.entries(texts).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return [name, `file:${join(folder, name)}`] as const;
  });
  return { TOLLGATE_DATA: join(folder, 'data'), ...Object.fromEntries(named) };
}

it('check and doctor name each reference that cannot be read, and no value', async () => {
  const variables: Record<string, string> = {
    ...writeSecrets({ OPENAI_API_KEY: 'a canary in two words', MISTRAL_API_KEY: 'fine-canary' }),
    DEEPSEEK_API_KEY: 'env:NOT_THERE',
    TOLLGATE_SLACK_WEBHOOK: 'exec:/nowhere/at/all',
  };
  const checked = await runVerb(['check'], variables);
  const faults = [
    `the secret ${variables.OPENAI_API_KEY} cannot be read: has to be a key`,
    'the secret env:NOT_THERE cannot be read: it is not set',
    'the secret exec:/nowhere/at/all cannot be read: ENOENT',
  ];
  expect(checked.code).toBe(1);
  for (const fault of faults) expect(checked.errors).toContain(fault);
  expect(checked.output + checked.errors).not.toContain('canary');
  const examined = await runVerb(['doctor'], variables);
  expect(examined.code).toBe(1);
  for (const fault of faults) expect(examined.output).toContain(fault);
  expect(examined.output + examined.errors).not.toMatch(/canary/);
  const { code, errors } = await runVerb(['check'], { ...variables, DEEPSEEK_API_KEY: 'file:key' });
  expect([code, errors]).toEqual([1, expect.stringContaining('DEEPSEEK_API_KEY: needs the full path')]);
}, 200_000);

it('the operator secret follows its file, both lines count, and operators see the reference', async () => {
  const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
  const variables = writeSecrets({
    TOLLGATE_OPERATOR_SECRET: `${first}\n`,
    TOLLGATE_DATA_KEY: `${Buffer.alloc(32, 1).toString('base64')}\n`,
    TOLLGATE_TOP_UP_SECRET: 'c'.repeat(40),
    MISTRAL_API_KEY: 'planted-canary',
  });
  const gateway = await startProcess(variables);
  const url = findAdminUrl(gateway.printed());
  const ask = async (secret: string): Promise<number> =>
    (await askAdmin(url, secret, ['GET', '/accounts'])).status;
  expect([await ask(first), await ask(second)]).toEqual([200, 401]);
  const file = String(variables.TOLLGATE_OPERATOR_SECRET).slice('file:'.length);
  writeFileSync(file, `${second}\n${first}\n`);
  await vi.waitFor(async () => expect(await ask(second)).toBe(200), { timeout: 60_000 });
  const { text } = await askAdmin(url, first, ['GET', '/config']);
  expect(text).toContain(variables.TOLLGATE_OPERATOR_SECRET);
  expect(text).toContain(variables.TOLLGATE_TOP_UP_SECRET);
  expect(text).not.toMatch(/a{40}|b{40}|c{40}|canary/);
  writeFileSync(file, `${second}\n`);
  await vi.waitFor(async () => expect(await ask(first)).toBe(401), { timeout: 60_000 });
  const { output, errors } = await gateway.stop('SIGTERM');
  expect(output + errors).not.toMatch(/a{40}|b{40}|c{40}|canary/);
}, 200_000);

it('a ledger is found by a reference, and at its new address after a reload', async () => {
  const [first, second] = [await openDatabase(), await openDatabase()];
  const file = join(makeDataFolder(), 'url');
  const start = async (): Promise<TestGateway> => {
    const store = { kind: 'postgres', url: `file:${file}` } as const;
    return startGateway({ plugins: [balance({ store, firstCredit: '0' })] });
  };
  const listNames = async (gateway: TestGateway): Promise<string> =>
    JSON.stringify(await gateway.verb('accounts list'));
  writeFileSync(file, first.url);
  const before = await start();
  await before.verb('accounts create', ['in-the-first']);
  expect(await listNames(before)).toContain('in-the-first');
  writeFileSync(file, second.url);
  const after = await start();
  expect(await listNames(after)).not.toContain('in-the-first');
  writeFileSync(file, 'no-canary-address');
  await expect(start()).rejects.toThrow(/cannot be read: needs the address of the database/);
  await Promise.all([before.close(), after.close()]);
}, 200_000);
