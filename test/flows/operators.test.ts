/**
 * The gateway as an operator runs it: a process of its own, its admin API, and the command line beside it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { runVerb } from '../support/process.ts';
import { addAcme, environment, made, openProcess, soon, fetchStatus } from './operator-calls.ts';

openProcess();
beforeAll(addAcme);

async function runJson(...words: string[]): Promise<unknown> {
  const { code, output, errors } = await runVerb([...words, '--json'], environment);
  if (code !== 0) throw new Error(errors);
  return JSON.parse(output);
}

describe('the command line beside it', () => {
  it('manages accounts, keys, limits, credit and usage like the API', async () => {
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
    expect(
      (await runVerb(['usage', '--account', 'gamma', '--by', 'account', '--csv'], environment)).output,
    ).toMatch(/^account,calls,input,output,cost,vendorCost,margin\r\ngamma,1,\d+,\d+,([\d.]+),\1,0\n$/);
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

  it('reports faults in one line', async () => {
    const { code, errors } = await runVerb(['keys', 'limit', 'nobody', '--spend-cap', 'lots'], environment);
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(/^tollgate keys limit: --spend-cap: not an amount in USD.*\n$/),
    ]);
    for (const words of [['usage'], ['calls', 'list'], ['keys', 'list'], ['entries', 'export', 'e.csv']])
      expect((await runVerb([...words, '--account', 'nobody'], environment)).errors).toMatch(
        /: there is no account "nobody"/,
      );
    expect((await runVerb(['usage', '--key', 'none'], environment)).errors).toMatch(
      /: there is no key "none"/,
    );
    expect((await runVerb(['balance', 'nobody'], environment)).errors).toMatch(
      /^tollgate balance: there is no account "nobody"/,
    );
    expect(
      (await runVerb(['keys', 'limit', 'nobody', '--calls-per-minute', '1.5'], environment)).errors,
    ).toBe('tollgate keys limit: --calls-per-minute: it has to be a whole number of calls\n');
    expect((await runVerb(['keys', 'create', '--expires', '2026-01-01'], environment)).errors).toMatch(
      /^tollgate keys create: --expires: that time is over .*\n$/,
    );
  });
});
