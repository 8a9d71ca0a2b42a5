/**
 * Copies of a SQLite ledger. `backup` copies a ledger while a gateway uses it; `restore` puts a copy in
 * the ledger's place, and keeps the replaced ledger.
 */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { fileMode, getMessage, makeFolder, type Command, type CommandResult } from '../../../core/index.ts';
import { findCommandAuthor, requireConfirmation, yesFlag } from '../../shared/operator-verbs.ts';
import { getLedgerFile, isMissing, NoLedger, openStore, type StoreOptions } from './open-store.ts';
import { formatCount } from './operator/operation.ts';
import { buildVerbAction } from './operator/table.ts';
import type { Action } from './store.ts';

function requireFile(options: StoreOptions, dataFolder: string): string {
  if (options.kind === 'sqlite') return getLedgerFile(options, dataFolder);
  throw new Error(
    options.kind === 'postgres'
      ? 'this ledger is in PostgreSQL: copy it with pg_dump and pg_restore'
      : 'this ledger is a custom store, which has its own copies',
  );
}

async function copyLedger(from: string, to: string): Promise<void> {
  using source = openSource(from);
  try {
    // The file is made with its mode first, so that other users cannot read the copy while it grows.
    closeSync(openSync(to, 'wx', fileMode));
    await backup(source, to);
  } catch (cause) {
    removeCopy(to);
    throw new Error(`${from} could not be copied to ${to}: ${getMessage(cause)}`, { cause });
  }
}

function openSource(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { readOnly: true });
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${getMessage(cause)}`, { cause });
  }
}

function removeCopy(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

/** Throws if the copy holds no ledger: an empty file, or another database, would open as an empty ledger. */
function checkVersion(copy: string, from: string): void {
  using database = new DatabaseSync(copy, { readOnly: true });
  try {
    if (database.prepare('PRAGMA user_version').get()?.user_version === 0)
      throw new Error('it has no tables of a ledger');
  } catch (error) {
    throw new Error(`${from} is not a ledger: ${getMessage(error)}`, { cause: error });
  }
}

/** Rejects unless the books are sound. Adds the action to their log of operators' actions. */
async function auditCopy(file: string, unsound: string, action?: Action): Promise<number> {
  const copy = await openStore({ kind: 'sqlite', file }, '', { mustExist: true });
  try {
    const { ok, entries, broken } = await copy.audit();
    if (!ok) throw new Error(`${unsound}: its books break ${formatCount(broken, 'rule')}`);
    if (action) await copy.recordAction(action);
    return entries;
  } finally {
    await copy.close();
  }
}

/**
 * Throws while any process has the ledger open: a gateway would continue to write to the file that was
 * moved away. SQLite removes its write-ahead log only if no other connection has the file open.
 */
function closeLog(file: string): void {
  using database = new DatabaseSync(file, { timeout: 100 });
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } catch (cause) {
    throw new Error(`a gateway uses ${file}: stop it and restore again`, { cause });
  }
}

async function backUpLedger(from: string, target: string): Promise<CommandResult> {
  const to = resolve(target);
  if (isMissing(from)) throw new NoLedger(from);
  if (existsSync(to)) throw new Error(`${to} already exists: name a new file`);
  if (!existsSync(dirname(to))) throw new Error(`there is no folder ${dirname(to)}`);
  await copyLedger(from, to);
  const entries = await auditCopy(to, `${from} was copied to ${to}, but is not sound`);
  return {
    json: { file: to, entries },
    text: `Copied ${formatCount(entries, 'entry', 'entries')} to ${to}; the books are sound.`,
  };
}

async function restoreLedger(to: string, source: string, isConfirmed: boolean): Promise<CommandResult> {
  const from = resolve(source);
  if (!statSync(from, { throwIfNoEntry: false })?.isFile()) throw new Error(`there is no file ${from}`);
  if (!isConfirmed && existsSync(to))
    await requireConfirmation(`Put ${from} in the place of the ledger ${to}, which is kept beside it?`);
  const incoming = `${to}.incoming`;
  makeFolder(dirname(to));
  try {
    copyFileSync(from, incoming);
    chmodSync(incoming, fileMode);
    checkVersion(incoming, from);
    const action = buildVerbAction(findCommandAuthor(), 'restore', [from], {});
    const entries = await auditCopy(incoming, `${from} was not restored`, action);
    const kept = `${to}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
    const hadLedger = existsSync(to);
    if (hadLedger) {
      closeLog(to);
      renameSync(to, kept);
    }
    renameSync(incoming, to);
    const previous = hadLedger ? ` The ledger before it is kept as ${kept}.` : '';
    return {
      json: { file: to, entries, kept: hadLedger ? kept : null },
      text: `Restored ${formatCount(entries, 'entry', 'entries')} from ${from}.${previous}`,
    };
  } finally {
    removeCopy(incoming);
  }
}

export function listBackupCommands(options: StoreOptions, dataFolder: string): Command[] {
  return [
    {
      name: 'backup <file>',
      description: 'copy the ledger to a new file, also while the gateway runs',
      run: ([file = '']) => backUpLedger(requireFile(options, dataFolder), file),
    },
    {
      name: 'restore <file>',
      description: 'put a copy in the place of the ledger, while no gateway runs',
      options: [yesFlag],
      run: ([file = ''], { yes }) => restoreLedger(requireFile(options, dataFolder), file, yes === true),
    },
  ];
}
