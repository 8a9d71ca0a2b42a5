/** The command line as a person at a terminal uses it: its version, and backups of the ledger. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { makeDataFolder, runAlone, runVerb, startProcess, type RunningGateway } from '../support/process.ts';

const keySchema = z.object({ key: z.string() });

it('the command line prints its version', async () => {
  const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await runAlone(['--version'])).toMatchObject({ code: 0, output: `${version}\n` });
});

describe('beside a gateway that runs', () => {
  const folder = makeDataFolder();
  const environment = { TOLLGATE_DATA: folder };
  const copy = join(folder, 'copy.db');
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startProcess(environment);
  });

  it('a copy of the ledger is made, and not restored', async () => {
    const made = await runVerb(['backup', copy, '--json'], environment);
    expect(JSON.parse(made.output)).toEqual({ file: copy, entries: 1 });
    expect(await runVerb(['backup', copy], environment)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('already exists'),
    });
    expect(await runVerb(['restore', copy, '--yes'], environment)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(`a gateway uses ${join(folder, 'ledger.db')}: stop it`),
    });
  });

  it.each([
    [[], /^\S+Z {2}\S+ {2}default {2}first key {2}demo\/echo {2}demo {2}completed {2}.*\n$/],
    [['--json'], /^\{"id":"\S+".*"model":"demo\/echo".*\}\n$/],
  ])('the command line prints calls as they end, with %j', async (options, line) => {
    const [, key = ''] = /export KEY=(\S+)/.exec(gateway.printed()) ?? [];
    const tail = runVerb(['calls', 'tail', '--count', '1', ...options], environment);
    const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] });
    const stopped = new AbortController();
    void tail.then(() => stopped.abort());
    // Calls that ended before the command started are not printed, so it gets new ones until it has one.
    while (!stopped.signal.aborted) {
      // Several at once, of which it prints one.
      await Promise.all(
        [1, 2, 3].map(() =>
          fetch(`${gateway.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}` },
            body,
          }),
        ),
      );
      await sleep(200);
    }
    expect(await tail).toMatchObject({
      code: 0,
      output: expect.stringMatching(line),
    });
  });

  it('the command line names keys, says why a call was refused, and lists dearest usage first', async () => {
    const [, first = ''] = /export KEY=(\S+)/.exec(gateway.printed()) ?? [];
    const create = ['keys', 'create', '--account', 'acme', '--name', 'ada', '--credit', '5', '--json'];
    const { key } = keySchema.parse(JSON.parse((await runVerb(create, environment)).output));
    const post = async (secret: string, path: string, body: object): Promise<void> => {
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const sent = { method: 'POST', headers, body: JSON.stringify(body) };
      await (await fetch(gateway.url + path, sent)).text();
    };
    const messages = [{ role: 'user', content: 'Hello!' }];
    await post(first, '/v1/chat/completions', { model: 'demo/echo', messages });
    await post(first, '/v1/chat/completions', { model: 'demo/none', messages });
    await post(key, '/v1/images/generations', { model: 'demo/paint', prompt: 'a', quality: 'low' });
    await post(key, '/v1/images/generations', { model: 'demo/paint', prompt: 'a', quality: 'low' });
    const list = (...words: string[]) => runVerb(['calls', 'list', ...words], environment);
    await expect
      .poll(async () => (await list('--account', 'acme')).output, { timeout: 60_000 })
      .toMatch(/^2 calls/m);
    expect((await list('--account', 'acme')).output).toMatch(/ acme {2,}ada {2,}demo\/paint .* completed /);
    expect((await list('--outcome', 'refused')).output).toMatch(
      / default {2,}first key {2,}demo\/none {2,}refused {2,}model_not_found /,
    );
    const { output: table } = await runVerb(['usage', '--by', 'key'], environment);
    expect(table).toMatch(/^KEY +NAME .*\n\w+ +ada .*\n\w+ +first key /);
    expect(table).toMatch(/refused ones, are not counted\.\n$/);
    const { output: days } = await runVerb(['usage', '--by', 'day,key'], environment);
    expect(days).toMatch(/^DAY +KEY +NAME /);
    expect((await runVerb(['models', 'demo'], environment)).output).toMatch(/^demo\/paint .* image 0\.002 /m);
  });

  // The last one, since it stops the gateway.
  it('a copy of the ledger is restored when the gateway is stopped', async () => {
    await gateway.stop('SIGTERM');
    await runVerb(['credit', 'add', 'default', '5'], environment);
    const restored = await runVerb(['restore', copy, '--yes', '--json'], environment);
    const { kept }: { kept: string } = JSON.parse(restored.output);
    expect([restored.code, existsSync(kept)]).toEqual([0, true]);
    expect((await runVerb(['balance', 'default', '--json'], environment)).output).toContain('"balance":"1"');
    const logged = JSON.parse((await runVerb(['actions', 'list', '--json'], environment)).output);
    expect(logged).toMatchObject([{ action: 'restore', subject: copy }]);
  });
});

it.each(['keys list', 'accounts list', 'usage', 'audit', 'calls list', 'balance default', 'prices list'])(
  'a command that only reads creates no ledger: %s',
  async (words) => {
    const folder = makeDataFolder();
    const { code, errors } = await runVerb(words.split(' '), { TOLLGATE_DATA: folder });
    expect([code, errors]).toEqual([1, expect.stringContaining('there is no ledger at')]);
    expect(existsSync(join(folder, 'ledger.db'))).toBe(false);
  },
);

it('a list prints headings, aligned columns and totals', async () => {
  const environment = { TOLLGATE_DATA: makeDataFolder() };
  await runVerb(['keys', 'create', '--account', 'a-long-account-name', '--credit', '12.5'], environment);
  await runVerb(['keys', 'create', '--account', 'b', '--credit', '3'], environment);
  await runVerb(['accounts', 'close', 'b', '--yes'], environment);
  const { output } = await runVerb(['accounts', 'list'], environment);
  expect(output.split('\n')).toEqual([
    'ACCOUNT              STATE   BALANCE USD  CREDITED  USED  RESERVED  AVAILABLE',
    'a-long-account-name  open           12.5      12.5     0         0       12.5',
    'b                    closed            3         3     0         0          3',
    '-------------------  ------  -----------  --------  ----  --------  ---------',
    '2 accounts                          15.5      15.5     0         0       15.5',
    '',
  ]);
});

describe('an error of the command line', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ plugins: [balance({ firstCredit: '0' })] });
  });

  it.each<[string, string[], Record<string, string>, string]>([
    ['credit adjust', ['team', '-5'], {}, '--reason is missing: say why'],
    ['credit adjust', ['team', 'x'], { reason: 'a slip' }, '<usd>: not an amount in USD'],
    ['credit add', ['team team', '5'], {}, '<account>: an account is named by'],
    ['accounts create', ['..'], {}, 'an account is not named . or ..'],
    ['budgets raise', ['99', '5'], {}, 'there is no budget 99'],
    ['budgets set', ['team', 'acme', '5/decade'], {}, '<limit>: a budget is per hour, day'],
    ['keys create', [], { budget: '1/x' }, '--budget: a budget is per hour, day'],
    ['keys create', [], { spendCap: 'x', expires: 'y' }, '--spend-cap: not an amount in USD'],
    ['keys create', [], { spendCap: 'x', expires: 'y' }, '--expires: not a date: "y". Use 2027-01-31'],
    ['calls list', [], { limit: 'abc' }, '--limit: it has to be a whole number from 1 to 1000'],
    ['usage', [], { from: '2026-11-25', to: '2026-11-24' }, '--from: it has to be before "to"'],
    ['entries export', ['x.csv'], { from: '2026-11-25', to: '2026-11-24' }, '--from: it has to be before'],
    ['actions list', [], { limit: '0.5' }, '--limit: it has to be a whole number from 1 to 1000'],
    ['calls tail', [], { count: 'abc' }, '--count: it has to be a whole number, at least 1'],
    ['calls tail', [], { count: '0' }, '--count: it has to be a whole number, at least 1'],
    ['keys limit', ['x'], {}, 'name a limit to change, as --spend-cap 10'],
  ])('of %s %j %j names what was typed', async (verb, args, options, message) => {
    await expect(gateway.verb(verb, args, options)).rejects.toThrow(message);
  });

  it('about a limit of an operator key names its option', async () => {
    const errors = (
      await runVerb('keys create --operator --spend-cap 3'.split(' '), { TOLLGATE_DATA: makeDataFolder() })
    ).errors;
    expect(errors).toBe(
      'tollgate keys create: --spend-cap: an operator key spends nothing and calls no model\n',
    );
  });

  it.each([
    ['keys create --prt', "keys create: unknown option '--prt'; see tollgate keys create --help"],
    ['credit ad', "credit: unknown command 'ad' (Did you mean add?); see tollgate credit --help"],
    ['credit add x', "credit add: missing required argument 'usd'; see tollgate credit add --help"],
    ['help credit ad', "credit: unknown command 'ad'; see tollgate credit --help"],
  ])('of usage ends with where to find help: %s', async (typed, message) => {
    expect(await runVerb(typed.split(' '))).toMatchObject({ code: 1, errors: `tollgate ${message}\n` });
  });
});

it('the help describes groups of verbs in words, and lists verbs in the order of use', async () => {
  const { output } = await runVerb(['--help']);
  expect(output).toMatch(/^ {2}credit +add and correct credit$/m);
  const help = (await runVerb(['credit', '--help'])).output;
  expect([...help.matchAll(/^ {2}(\w+) \[options\]/gm)].map(([, verb]) => verb)).toEqual([
    'add',
    'adjust',
    'refund',
    'chargeback',
  ]);
  expect((await runVerb(['budgets', 'set', '--help'])).output).toContain('per month unless given');
});

it('the help has no line that a terminal would break', async () => {
  const { output } = await runVerb(['--help']);
  for (const [, verb = ''] of output.matchAll(/^ {2}([a-z]+) /gm)) {
    const { output: help } = await runVerb([verb, '--help']);
    expect(help.split('\n').filter(({ length }) => length > 80)).toEqual([]);
  }
});

it('the help of a verb of several words is the same after `help` and before `--help`', async () => {
  const { output } = await runVerb(['help', 'keys', 'create']);
  expect(output).toContain('--spend-cap');
  expect(output).toBe((await runVerb(['keys', 'create', '--help'])).output);
});

it('the command line shows a team and the budgets above it, and invites a member', async () => {
  const environment = { TOLLGATE_DATA: makeDataFolder() };
  const run = async (words: string) => (await runVerb(words.split(' '), environment)).output;
  await run('accounts create company');
  await run('accounts create search');
  await run('accounts move search company');
  await run('budgets set team company 100/month');
  expect(await run('accounts members search 3 --spend-cap 5 --days 30')).toBe(
    'search: each member may have 3 keys, of at most 5 USD, for 30 days.\n',
  );
  expect((await run('accounts show search')).split('\n')).toEqual([
    expect.stringMatching(/^search: 0 USD/),
    'below company',
    'own: 0 USD spent in 0 calls',
    'each member may have 3 keys, of at most 5 USD, for 30 days',
    expect.stringMatching(/^1 {2}team company {2}100 USD per month/),
    '',
  ]);
  expect(await run('accounts show company')).toContain('  search: 0 USD spent in 0 calls');
  expect(await run('accounts members search none')).toContain('may make no keys');
  expect(await run('invitations create search --name ada --for 12h')).toMatch(
    /^\/#invitation=in-\w{42}\nSend ada/,
  );
  const [, shown = ''] = (await run('invitations list')).split('\n');
  const [id = ''] = shown.split(' ');
  expect(await run(`invitations withdraw ${id}`)).toContain(`Withdrew ${id}`);
});

it('the command line shows the limits, tags and budgets of a key', async () => {
  const environment = { TOLLGATE_DATA: makeDataFolder() };
  const options = '--spend-cap 3 --tags ci,night --budget 10/day,100 --name laptop'.split(' ');
  const words = ['keys', 'create', ...options, '--holder', 'ada@example.com', '--json'];
  const made = await runVerb(words, environment);
  const { id, lastFour }: { id: string; lastFour: string } = JSON.parse(made.output);
  expect((await runVerb(['keys', 'show', id], environment)).output.split('\n')).toEqual([
    `key      ${id} (ends in ${lastFour})`,
    'name     laptop',
    'holder   ada@example.com',
    'account  default',
    'state    enabled',
    expect.stringMatching(/^created {2}2\d{3}-/),
    'used     0 USD, and 0 reserved',
    'limits   at most 3 USD',
    'tags     ci, night',
    expect.stringMatching(/^budgets {2}\d+ {2}key \S+ {2}10 USD per day \(UTC\)/),
    expect.stringMatching(/^ {9}\d+ {2}key \S+ {2}100 USD per month \(UTC\)/),
    '',
  ]);
  const { output } = await runVerb(['keys', 'show', id, '--json'], environment);
  expect(JSON.parse(output)).toMatchObject({
    id,
    limits: { spendCap: '3' },
    budgets: [
      { limit: '10', per: 'day' },
      { limit: '100', per: 'month' },
    ],
  });
});

it('a wrong markup in the ledger is named by the start and the doctor, and can be removed', async () => {
  const environment = { TOLLGATE_DATA: makeDataFolder() };
  const store = await openSqlite({ file: join(environment.TOLLGATE_DATA, 'ledger.db'), threads: false });
  await store.writeDocument({ name: 'markups', text: '[{"account":"acme","percent":10}]', replaces: 0 });
  await store.close();
  const fault =
    'the markup of account acme in the ledger is wrong: ' +
    'percent: a percentage is a decimal string, as "12.5"; ' +
    "remove it with `tollgate markups remove --account 'acme'`";
  expect((await runVerb(['start'], environment)).errors).toContain(fault);
  expect((await runVerb(['doctor'], environment)).output).toContain(fault);
  const { output } = await runVerb(['markups', 'remove', '--account', 'acme'], environment);
  expect(output).toBe('There are no markups.\n');
});

it('a key limited to models is refused for a model that is not on offer, with near matches', async () => {
  const environment = { TOLLGATE_DATA: makeDataFolder() };
  const createLimitedKey = (models: string) => runVerb(['keys', 'create', '--models', models], environment);
  expect(await createLimitedKey('demo/ecko')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('no model matches "demo/ecko"; did you mean "demo/echo"?'),
  });
  expect((await createLimitedKey('dmeo/*')).errors).toContain('did you mean "demo/*"?');
  expect((await createLimitedKey('demo/echo,a-new-vendor/*')).errors).toBe(
    'tollgate keys create: no model on offer matches "a-new-vendor/*"; the nearest: "demo/*"\n',
  );
  expect((await createLimitedKey('demo/slow*')).errors).toContain(
    '; the nearest: "demo/echo", "demo/paint", "demo/embed"\n',
  );
  expect((await createLimitedKey('demo/ec*,demo/*,demo/echo')).code).toBe(0);
  const markup = await runVerb(['markups', 'set', '--model', 'demo/ecko', '--percent', '5'], environment);
  expect(markup.errors).toContain('did you mean "demo/echo"?');
});
