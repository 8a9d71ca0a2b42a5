/**
 * Only the gateway's own user can read the data folder and its files, whatever the umask and whichever
 * command created it.
 */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { examineRights } from '../../core/cli/doctor.ts';
import { restrictAccess, tightenFolder } from '../../core/util/private-files.ts';
import { runVerb, startProcess } from '../support/process.ts';

let place: string;
let folder: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'tollgate-rights-'));
  folder = join(place, 'data');
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const readMode = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

/** The modes of the folder and of each file in it, by name. */
function readModes(): Record<string, string> {
  return {
    '.': readMode(folder),
    ...Object.fromEntries(readdirSync(folder).map((name) => [name, readMode(join(folder, name))])),
  };
}

const buildEnvironment = (): Record<string, string> => ({ TOLLGATE_DATA: folder });
const closed = {
  '.': '700',
  'ledger.db': '600',
  'ledger.db-wal': '600',
  'ledger.db-shm': '600',
  'operator-secret': '600',
};

it('a start and a command create the data folder for its owner alone', async () => {
  expect((await runVerb(['keys', 'create'], buildEnvironment())).code).toBe(0);
  expect(readModes()).toMatchObject({ '.': '700', 'ledger.db': '600' });
  rmSync(folder, { recursive: true });
  const gateway = await startProcess(buildEnvironment());
  expect(readModes()).toMatchObject(closed);
  await gateway.stop('SIGTERM');
});

it('a start and the doctor report a folder that cannot be made, as below /proc', async () => {
  const environment = { TOLLGATE_DATA: '/proc/tollgate/data' };
  const start = await runVerb(['start'], environment);
  expect(start.code).toBe(1);
  expect(start.errors).toContain('choose another folder, since none can be made there');
  expect((await runVerb(['doctor'], environment)).output).toContain('/proc/tollgate/data cannot be written');
});

it('a start closes an open data folder and all its files to others', async () => {
  await runVerb(['keys', 'create'], buildEnvironment());
  writeFileSync(join(folder, 'notes.csv'), 'kept');
  mkdirSync(join(folder, 'inner'));
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), name === 'inner' ? 0o755 : 0o644);
  chmodSync(folder, 0o755);
  const gateway = await startProcess(buildEnvironment());
  expect(readModes()).toMatchObject({ ...closed, 'notes.csv': '600', inner: '700' });
  await gateway.stop('SIGTERM');
});

it('a start leaves a folder that serves others unchanged, and what a link points to as well', () => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'other'), '');
  chmodSync(folder, 0o1777);
  chmodSync(join(folder, 'other'), 0o644);
  tightenFolder(folder);
  expect(readModes()).toEqual({ '.': '1777', other: '644' });
  symlinkSync(join(folder, 'other'), join(place, 'link'));
  expect([restrictAccess(join(place, 'link')), readMode(join(folder, 'other'))]).toEqual([false, '644']);
});

it('a start leaves the modes of its working directory unchanged', () => {
  const before = readMode(process.cwd());
  tightenFolder('.');
  tightenFolder('..');
  expect(readMode(process.cwd())).toBe(before);
});

it('the doctor reports a data folder that others may open, and one that they may not', async () => {
  mkdirSync(folder, { mode: 0o700 });
  expect(examineRights({ dataFolder: folder, file: '' })).toMatchObject([
    { subject: 'rights', state: 'well' },
  ]);
  chmodSync(folder, 0o750);
  writeFileSync(join(folder, 'ledger.db-old'), '', { mode: 0o640 });
  const { output } = await runVerb(['doctor', '--json'], buildEnvironment());
  const { findings } = JSON.parse(output);
  expect(findings).toContainEqual({
    subject: 'rights',
    state: 'note',
    message: `other users of this machine may open ${folder} and 1 more of the data folder`,
    remedy: 'the next start removes these rights',
  });
  expect(examineRights({ dataFolder: join(place, 'nothing'), file: '' })).toEqual([]);
});
