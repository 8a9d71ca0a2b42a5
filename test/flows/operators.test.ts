/**
 * The gateway as an operator runs it: a process of its own, its admin API, and the command line beside it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { makeFolder } from '../support/folder.ts';
import { makeDataFolder, runVerb } from '../support/process.ts';
import {
  addAcme,
  adminUrl,
  environment,
  fetchStatus,
  gateway,
  made,
  openProcess,
  secret,
  soon,
} from './operator-calls.ts';

openProcess();
beforeAll(addAcme);

async function runJson(...words: string[]): Promise<unknown> {
  const { code, output, errors } = await runVerb([...words, '--json'], environment);
  if (code !== 0) throw new Error(errors);
  return JSON.parse(output);
}

it('the command line manages accounts, keys, limits, credit and usage like the API', async () => {
  expect(await runJson('accounts', 'create', 'gamma')).toMatchObject({ account: 'gamma', balance: '0' });
  expect(
    await runJson('credit', 'add', 'gamma', '3', '--kind', 'bonus', '--reference', 'welcome-gamma'),
  ).toMatchObject({ status: 'credited', total: '3' });
  expect(
    await runJson('credit', 'add', 'gamma', '3', '--kind', 'bonus', '--reference', 'welcome-gamma'),
  ).toMatchObject({ status: 'already_credited', total: '3' });
  const { key, id } = made.parse(
    await runJson(
      'keys',
      'create',
      '--account',
      'gamma',
      '--name',
      'cli',
      '--spend-cap',
      '2',
      '--models',
      'demo/echo,demo/paint',
    ),
  );
  expect(await fetchStatus(key)).toBe(200);
  expect(
    await runJson(
      'keys',
      'limit',
      id,
      '--models',
      'none',
      '--expires',
      '2030-01-01',
      '--calls-per-minute',
      '3',
    ),
  ).toMatchObject({
    limits: { spendCap: '2', models: null, expires: '2030-01-01T00:00:00.000Z', callsPerMinute: 3 },
  });
  expect(await runJson('keys', 'list', '--account', 'gamma')).toMatchObject([
    { id, name: 'cli', account: 'gamma' },
  ]);
  expect(await runJson('usage', '--key', id, '--by', 'model')).toMatchObject([
    { model: 'demo/echo', calls: 1 },
  ]);
  const { output: csv } = await runVerb(
    ['usage', '--account', 'gamma', '--by', 'account', '--csv'],
    environment,
  );
  const [head, row] = csv.split('\r\n');
  expect(head).toBe('account,calls,input,output,cost,vendorCost,margin,uses');
  expect(row).toMatch(/^gamma,1,(\d+),(\d+),([\d.]+),\3,0,"input \1, output \2"\n$/);
  expect(await runJson('usage', '--key', key.slice(-4), '--by', 'key')).toMatchObject([{ key: id }]);
  expect(await runJson('keys', 'show', id)).toMatchObject({ budgets: [] });
  const budget = await runJson('budgets', 'set', 'key', id, '1/day');
  const next = made.parse(await runJson('keys', 'rotate', id, '--overlap', '0'));
  expect(await runJson('keys', 'show', next.id)).toMatchObject({ budgets: [budget] });
  const ofKey = ['budgets', 'list', '--scope', 'key', '--subject'];
  expect(await runJson(...ofKey, next.key.slice(-4))).toMatchObject([budget]);
  expect(await fetchStatus(next.key)).toBe(200);
  await expect.poll(() => fetchStatus(key), soon).toBe(401);
  await runJson('keys', 'disable', next.id);
  await expect.poll(() => fetchStatus(next.key), soon).toBe(401);
});

it('the command line works on a gateway elsewhere with --url, and reports its state', async () => {
  const elsewhere = { TOLLGATE_DATA: makeDataFolder(), TOLLGATE_OPERATOR_KEY: secret };
  async function runRemote(...words: string[]): Promise<unknown> {
    const { code, output, errors } = await runVerb([...words, '--url', adminUrl, '--json'], elsewhere);
    if (code !== 0) throw new Error(errors);
    return JSON.parse(output);
  }
  await runRemote('accounts', 'create', 'remote');
  await runRemote('credit', 'add', 'remote', '3', '--reference', 'r-1');
  const { key, id } = made.parse(await runRemote('keys', 'create', '--account', 'remote', '--name', 'far'));
  expect(await fetchStatus(key)).toBe(200);
  // A key may be named by its name in place of its id.
  expect(await runRemote('keys', 'limit', 'far', '--spend-cap', '2')).toMatchObject({
    id,
    limits: { spendCap: '2' },
  });
  expect(await runRemote('keys', 'show', 'far')).toMatchObject({ id, budgets: [] });
  const budget = await runRemote('budgets', 'set', 'key', 'far', '5/day');
  expect(budget).toMatchObject({ scope: 'key', subject: id, limit: '5' });
  expect(await runRemote('budgets', 'set', 'key', 'far', '4/day')).toMatchObject({ limit: '4' });
  expect(await runRemote('budgets', 'list', '--scope', 'key', '--subject', 'far')).toHaveLength(1);
  expect(await runRemote('balance', 'remote')).toMatchObject({ account: 'remote', total: '3' });
  expect(await runRemote('markups', 'set', '--key', 'far', '--percent', '5')).toMatchObject([{ key: id }]);
  expect(await runRemote('markups', 'remove', '--key', 'far')).toEqual([]);
  expect(await runRemote('calls', 'list', '--key', 'far')).toMatchObject([{ key: id }]);
  expect(await runRemote('usage', '--key', 'far', '--by', 'model')).toMatchObject([{ calls: 1 }]);
  expect(await runRemote('actions', 'list', '--limit', '1')).toMatchObject([{ author: 'operator-secret' }]);
  expect(await runRemote('audit')).toMatchObject({ ok: true });
  const demos = ['demo/echo', 'demo/guard', 'demo/paint', 'demo/rank'].map((id) => ({ id }));
  expect(await runRemote('models', 'demo')).toMatchObject(
    expect.arrayContaining(demos.map((each) => expect.objectContaining(each))),
  );
  expect(await runRemote('prices', 'list')).toEqual([]);
  const file = join(makeFolder(), 'entries.csv');
  const { last } = z.object({ last: z.int() }).parse(await runRemote('entries', 'export', file));
  expect(readFileSync(file, 'utf8').split('\r\n').at(-2)).toMatch(new RegExp(`^${last},`));
  expect(await runRemote('keys', 'delete', 'far', '--yes')).toMatchObject({ id, deleted: true });
  // Nothing of it is in the ledger of this shell.
  expect((await runVerb(['keys', 'list'], elsewhere)).errors).toMatch(/there is no ledger/);
});

it('a bill is compared with a gateway elsewhere, and the command fails if they differ', async () => {
  const elsewhere = { TOLLGATE_DATA: makeDataFolder(), TOLLGATE_OPERATOR_KEY: secret };
  const { key } = made.parse(await runJson('keys', 'create', '--account', 'billed', '--credit', '1'));
  expect(await fetchStatus(key)).toBe(200);
  const usage = await runJson('usage', '--by', 'day,model');
  const [{ day, cost }] = z
    .tuple([z.object({ day: z.string(), cost: z.string() })])
    .rest(z.unknown())
    .parse(usage);
  const file = join(makeFolder(), 'costs.csv');
  const compare = async (usd: string, ...words: string[]) => {
    const line = `${Date.parse(day) / 1000},${usd},usd,"echo, input"`;
    writeFileSync(file, `start_time,amount_value,amount_currency,line_item\n${line}\n`);
    const options = ['--providers', 'demo', '--to', day, '--url', adminUrl];
    return runVerb(['reconcile', 'openai', file, ...options, ...words], elsewhere);
  };
  expect(await compare(cost, '--json')).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^\{"ok":true,/),
  });
  expect(await compare('7')).toMatchObject({
    code: 1,
    output: expect.stringMatching(/demo\/echo +7 .* money differs, and the bill has no tokens\n$/),
  });
});

it('the command line says in its own words what is wrong with a gateway elsewhere', async () => {
  const elsewhere = { TOLLGATE_DATA: makeDataFolder(), TOLLGATE_OPERATOR_KEY: secret };
  const getErrors = async (words: readonly string[], variables: Record<string, string> = elsewhere) =>
    (await runVerb([...words, '--url', adminUrl], variables)).errors;
  expect(await getErrors(['keys', 'list'], { TOLLGATE_OPERATOR_KEY: '' })).toBe(
    'tollgate keys list: --url needs the key of an operator in TOLLGATE_OPERATOR_KEY\n',
  );
  expect(await getErrors(['keys', 'list'], { TOLLGATE_OPERATOR_KEY: 'wrong' })).toMatch(/key/);
  expect(await getErrors(['keys', 'show', 'nobody'])).toMatch(/: there is no key "nobody"/);
  expect(await getErrors(['keys', 'limit', 'far', '--spend-cap', 'lots'])).toMatch(/: --spend-cap: not an/);
  expect(await getErrors(['keys', 'create', '--models', 'nope/x'])).toMatch(/: no model on/);
  expect((await runVerb(['keys', 'list', '--url', gateway.url], elsewhere)).errors).toMatch(
    /There is nothing at GET \/admin\/keys/,
  );
  expect((await runVerb(['keys', 'list', '--url', 'http://127.0.0.1:9'], elsewhere)).errors).toMatch(
    /^tollgate keys list: http:\/\/127\.0\.0\.1:9 could not be reached: .*\n$/,
  );
});

it('the command line reports faults in one line', async () => {
  const { code, errors } = await runVerb(['keys', 'limit', 'unknown', '--spend-cap', 'lots'], environment);
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/^tollgate keys limit: --spend-cap: not an amount in USD.*\n$/),
  ]);
  for (const words of [['usage'], ['calls', 'list'], ['keys', 'list'], ['entries', 'export', 'e.csv']])
    expect((await runVerb([...words, '--account', 'unknown'], environment)).errors).toMatch(
      /: there is no account "unknown"/,
    );
  expect((await runVerb(['usage', '--key', 'none'], environment)).errors).toMatch(/: there is no key "none"/);
  expect((await runVerb(['balance', 'unknown'], environment)).errors).toMatch(
    /^tollgate balance: there is no account "unknown"/,
  );
  expect((await runVerb(['keys', 'limit', 'unknown', '--calls-per-minute', '1.5'], environment)).errors).toBe(
    'tollgate keys limit: --calls-per-minute: it has to be a whole number of calls\n',
  );
  expect((await runVerb(['keys', 'create', '--expires', '2026-01-01'], environment)).errors).toMatch(
    /^tollgate keys create: --expires: 2026-01-01T00:00:00.000Z is in the past .*\n$/,
  );
});
