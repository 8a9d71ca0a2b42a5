/** The command line as a person at a terminal uses it: its version, completion, and backups of the ledger. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { makeDataFolder, runVerb, startProcess } from '../support/process.ts';

const run = promisify(execFile);

it('the command line prints its version', async () => {
  const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await runVerb(['--version'])).toMatchObject({ code: 0, output: `${version}\n` });
});

describe('the completion script of bash', () => {
  it('offers verbs, the words after them, and their options', async () => {
    const { output } = await runVerb(['completion', 'bash']);
    const complete = async (...words: string[]): Promise<string[]> => {
      const offer = `COMP_WORDS=(tollgate "$@"); COMP_CWORD=$#; _tollgate; echo "\${COMPREPLY[*]}"`;
      const script = `${output}\n${offer}`;
      const { stdout } = await run('bash', ['-c', script, 'bash', ...words]);
      return stdout.trim().split(' ');
    };
    expect(await complete('')).toEqual(expect.arrayContaining(['start', 'keys', 'audit', '--version']));
    expect(await complete('keys', 'cr')).toEqual(['create']);
    expect(await complete('keys', 'create', '--account', 'team', '--cr')).toEqual(['--credit']);
    expect(await complete('accounts', 'list', '--')).toEqual(['--json', '--help']);
  });

  it('refuses an unknown shell, and lists the supported ones', async () => {
    const { code, errors } = await runVerb(['completion', 'tcsh']);
    expect([code, errors]).toEqual([1, expect.stringContaining('bash, zsh, fish')]);
  });
});

describe('a copy of the ledger', () => {
  it('is made while the gateway runs, and restored when it is stopped', async () => {
    const folder = makeDataFolder();
    const environment = { TOLLGATE_DATA: folder };
    const copy = join(folder, 'copies', 'ledger.db');
    const gateway = await startProcess(environment);
    const made = await runVerb(['backup', copy, '--json'], environment);
    expect(JSON.parse(made.output)).toEqual({ file: copy, entries: 1 });
    expect(await runVerb(['backup', copy], environment)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('already exists'),
    });
    expect(await runVerb(['restore', copy], environment)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(`a gateway uses ${join(folder, 'ledger.db')}: stop it`),
    });
    await gateway.stop('SIGTERM');

    await runVerb(['credit', 'add', 'default', '5'], environment);
    const restored = await runVerb(['restore', copy, '--json'], environment);
    const { kept }: { kept: string } = JSON.parse(restored.output);
    expect([restored.code, existsSync(kept)]).toEqual([0, true]);
    expect((await runVerb(['balance', 'default', '--json'], environment)).output).toContain('"balance":"1"');
  });

  it('is refused if it is not a ledger, and the ledger stays unchanged', async () => {
    const folder = makeDataFolder();
    const environment = { TOLLGATE_DATA: folder };
    await runVerb(['accounts', 'create', 'team'], environment);
    const { code, errors } = await runVerb(['restore', 'package.json'], environment);
    expect([code, errors]).toEqual([1, expect.stringContaining('not a database')]);
    expect(readdirSync(folder).filter((name) => name.includes('incoming'))).toEqual([]);
    expect((await runVerb(['accounts', 'list'], environment)).output).toContain('team');
  });
});

describe('a command that only reads', () => {
  it.each(['keys list', 'accounts list', 'usage', 'audit', 'calls list', 'balance default'])(
    'creates no ledger: %s',
    async (words) => {
      const folder = makeDataFolder();
      const { code, errors } = await runVerb(words.split(' '), { TOLLGATE_DATA: folder });
      expect([code, errors]).toEqual([1, expect.stringContaining('there is no ledger at')]);
      expect(existsSync(join(folder, 'ledger.db'))).toBe(false);
    },
  );
});

describe('a list', () => {
  it('prints headings, aligned columns and totals', async () => {
    const environment = { TOLLGATE_DATA: makeDataFolder() };
    await runVerb(['keys', 'create', '--account', 'a-long-account-name', '--credit', '12.5'], environment);
    await runVerb(['keys', 'create', '--account', 'b', '--credit', '3'], environment);
    const { output } = await runVerb(['accounts', 'list'], environment);
    expect(output.split('\n')).toEqual([
      'ACCOUNT              BALANCE USD  CREDITED  USED  RESERVED  AVAILABLE',
      'a-long-account-name         12.5      12.5     0         0       12.5',
      'b                              3         3     0         0          3',
      '-------------------  -----------  --------  ----  --------  ---------',
      '2 accounts                  15.5      15.5     0         0       15.5',
      '',
    ]);
  });
});

describe('a key limited to models', () => {
  it('is refused for a misspelt model, with near matches', async () => {
    const environment = { TOLLGATE_DATA: makeDataFolder() };
    const limited = (models: string) => runVerb(['keys', 'create', '--models', models], environment);
    expect(await limited('demo/ecko')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('no model matches "demo/ecko"; did you mean "demo/echo"?'),
    });
    expect((await limited('dmeo/*')).errors).toContain('did you mean "demo/*"?');
    expect((await limited('a-new-vendor/*,demo/echo')).code).toBe(0);
  });
});

it('the command line prints calls as they end', async () => {
  const environment = { TOLLGATE_DATA: makeDataFolder() };
  const gateway = await startProcess(environment);
  const [, key = ''] = /export KEY=(\S+)/.exec(gateway.printed()) ?? [];
  const tail = runVerb(['calls', 'tail', '--count', '1'], environment);
  const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] });
  const stopped = new AbortController();
  void tail.then(() => stopped.abort());
  // Calls that ended before the command started are not printed, so it gets new ones until it has one.
  while (!stopped.signal.aborted) {
    await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body,
    });
    await sleep(200);
  }
  await gateway.stop('SIGTERM');
  expect(await tail).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^\S+Z {2}\S+ {2}default {2}\S+ {2}demo\/echo {2}demo {2}completed {2}/),
  });
});
