/**
 * Copies of the ledger that cannot be made or restored, and what the commands say of them; and tables that a
 * command makes.
 */
import { existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { withDatabase } from '../balance/ledger-file.ts';
import { makeDataFolder, runVerb } from '../support/process.ts';

it('a copy of the ledger is refused if its file or its folder does not exist', async () => {
  const folder = makeDataFolder();
  const nowhere = join(folder, 'none', 'copy.db');
  await runVerb(['accounts', 'create', 'team'], { TOLLGATE_DATA: folder });
  const readRefusal = async (...verb: string[]): Promise<string> =>
    (await runVerb(verb, { TOLLGATE_DATA: folder })).errors;
  expect(await readRefusal('restore', nowhere)).toBe(`tollgate restore: there is no file ${nowhere}\n`);
  expect(await readRefusal('restore', folder)).toBe(`tollgate restore: there is no file ${folder}\n`);
  expect(await readRefusal('backup', nowhere)).toBe(
    `tollgate backup: there is no folder ${join(folder, 'none')}\n`,
  );
  expect(existsSync(join(folder, 'none'))).toBe(false);
});

it('a copy of the ledger that cannot be made, or breaks a rule, is described as what it is', async () => {
  const folder = makeDataFolder();
  const [ledger, copy] = [join(folder, 'ledger.db'), join(folder, 'copy.db')];
  await runVerb(['accounts', 'create', 'team'], { TOLLGATE_DATA: folder });
  withDatabase(ledger, (database) => database.exec('UPDATE accounts SET total = 5'));
  const readFault = async (...verb: string[]): Promise<string> =>
    (await runVerb(verb, { TOLLGATE_DATA: folder })).errors;
  expect(await readFault('backup', copy)).toMatch(/was copied to .*copy\.db, but is not sound: its books/);
  expect(await readFault('restore', copy, '--yes')).toMatch(/copy\.db was not restored: its books break/);
  writeFileSync(ledger, 'no database at all, and longer than the head of one '.repeat(20));
  expect(await readFault('backup', `${copy}2`)).toContain(`${ledger} could not be copied to ${copy}2: `);
  expect(readdirSync(folder).filter((name) => name.startsWith('copy.db2'))).toEqual([]);
  rmSync(ledger);
  symlinkSync(ledger, ledger);
  expect(await readFault('keys', 'list')).toContain(`the ledger ${ledger} cannot be opened: `);
});

it('a copy of the ledger is refused if it is not a ledger, and the ledger stays unchanged', async () => {
  const folder = makeDataFolder();
  const environment = { TOLLGATE_DATA: folder };
  await runVerb(['accounts', 'create', 'team'], environment);
  const empty = join(folder, 'empty.db');
  writeFileSync(empty, '');
  for (const [file, reason] of [
    ['package.json', 'file is not a database'],
    [empty, 'it has no tables of a ledger'],
  ] as const) {
    const { code, errors } = await runVerb(['restore', file, '--yes'], environment);
    expect([code, errors]).toEqual([1, `tollgate restore: ${resolve(file)} is not a ledger: ${reason}\n`]);
  }
  expect(readdirSync(folder).filter((name) => name.includes('incoming'))).toEqual([]);
  expect((await runVerb(['accounts', 'list'], environment)).output).toContain('team');
});

it('`migrate` makes a ledger without key and credit, and adds what a newer version needs', async () => {
  const folder = makeDataFolder();
  const migrate = () => runVerb(['migrate', '--json'], { TOLLGATE_DATA: folder, TOLLGATE_FIRST_CREDIT: '5' });
  expect(await migrate()).toMatchObject({ code: 0, output: '{"ok":true}\n' });
  const ledger = join(folder, 'ledger.db');
  withDatabase(ledger, (database) => {
    for (const table of ['accounts', 'keys', 'entries'])
      expect(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()).toEqual({ rows: 0n });
    database.exec('DROP TABLE invitations');
  });
  expect(await migrate()).toMatchObject({ code: 0 });
  withDatabase(ledger, (database) => {
    expect(database.prepare('SELECT count(*) AS rows FROM invitations').get()).toEqual({ rows: 0n });
    database.exec('PRAGMA user_version = 1000');
  });
  expect(await migrate()).toMatchObject({ code: 1, errors: expect.stringContaining('a newer one wrote it') });
});
