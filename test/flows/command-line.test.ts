/** The command line as a person at a terminal uses it: its version, completion, and copies of the ledger. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { makeDataFolder, runVerb, startProcess } from '../support/process.ts';

const run = promisify(execFile);

it('prints its version', async () => {
  const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await runVerb(['--version'])).toMatchObject({ code: 0, output: `${version}\n` });
});

describe('the completion script of bash', () => {
  it('offers verbs, the words after them, and their options', async () => {
    const { output } = await runVerb(['completion', 'bash']);
    const complete = async (...words: string[]): Promise<string[]> => {
      const script = `${output}\nCOMP_WORDS=(tollgate "$@"); COMP_CWORD=$#; _tollgate; echo "\${COMPREPLY[*]}"`;
      const { stdout } = await run('bash', ['-c', script, 'bash', ...words]);
      return stdout.trim().split(' ');
    };
    expect(await complete('')).toEqual(expect.arrayContaining(['start', 'keys', 'audit', '--version']));
    expect(await complete('keys', 'cr')).toEqual(['create']);
    expect(await complete('keys', 'create', '--account', 'team', '--cr')).toEqual(['--credit']);
    expect(await complete('accounts', 'list', '--')).toEqual(['--json', '--help']);
  });

  it('is refused for an unknown shell, with those there are', async () => {
    const { code, errors } = await runVerb(['completion', 'tcsh']);
    expect([code, errors]).toEqual([1, expect.stringContaining('bash, zsh, fish')]);
  });
});

describe('a copy of the ledger', () => {
  it('is made while the gateway runs, and put back when it does not', async () => {
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

  it('is refused if it is no ledger, and the ledger stays', async () => {
    const folder = makeDataFolder();
    const environment = { TOLLGATE_DATA: folder };
    await runVerb(['accounts', 'create', 'team'], environment);
    const { code, errors } = await runVerb(['restore', 'package.json'], environment);
    expect([code, errors]).toEqual([1, expect.stringContaining('not a database')]);
    expect(readdirSync(folder).filter((name) => name.includes('incoming'))).toEqual([]);
    expect((await runVerb(['accounts', 'list'], environment)).output).toContain('team');
  });
});
