/**
 * The data folder holds the ledger and the operators' secret, so only the gateway's own user may read it. A
 * start tightens the rights of existing files that this user owns. A folder that belongs to others, or that
 * serves other purposes too, stays as it is, and `tollgate doctor` reports it.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { Finding } from '../host/diagnostics.ts';
import { nameOption } from './name-option.ts';

const folderMode = 0o700;
export const fileMode = 0o600;
/** Group and others. */
const foreign = 0o077;
const sticky = 0o1000;

/**
 * Makes a folder and those above it. Node's own way (`recursive`) never returns where a folder that exists
 * takes no other, as `/proc`.
 */
export function makeFolder(folder: string): void {
  const isThere = (): boolean => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: folderMode });
  } catch (error) {
    // Another process may have made it by now.
    if (!isThere()) throw error;
  }
}

/** Undefined if there is nothing, or nothing readable: opening it reports why. */
function readStats(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function listContents(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

function isOwn({ uid }: Stats): boolean {
  return uid === process.getuid?.();
}

/** Whether the folder has other uses: a shared one like /tmp, the user's home, or the working directory. */
function isShared(folder: string, { mode }: Stats): boolean {
  return (
    (mode & sticky) !== 0 ||
    [homedir(), process.cwd()].some((place) => !relative(folder, place).startsWith('..'))
  );
}

/**
 * Removes the rights of group and others from a file or folder of this process's user. Returns false if it
 * cannot.
 */
export function restrictAccess(path: string): boolean {
  const facts = readStats(path);
  if (!facts || (facts.mode & foreign) === 0) return true;
  // A symbolic link's rights mean nothing, and its target is not ours to change.
  if (facts.isSymbolicLink() || !isOwn(facts)) return false;
  try {
    chmodSync(path, facts.isDirectory() ? folderMode : fileMode);
    return true;
  } catch {
    // Such as a read-only mount.
    return false;
  }
}

/** Tightens the folder and its files, if the folder exists. */
export function tightenFolder(path: string): void {
  const folder = resolve(path);
  const facts = readStats(folder);
  if (!facts?.isDirectory() || !isOwn(facts) || isShared(folder, facts)) return;
  restrictAccess(folder);
  for (const path of listContents(folder)) restrictAccess(path);
}

/** The doctor's finding about the rights of the folder and its files. */
export function examineRights({ dataFolder, file }: Pick<Config, 'dataFolder' | 'file'>): Finding[] {
  const folder = resolve(dataFolder);
  const subject = 'rights';
  const facts = readStats(folder);
  if (!facts?.isDirectory() || !process.getuid) return [];
  const open = [folder, ...listContents(folder)].filter(
    (each) => ((readStats(each)?.mode ?? 0) & foreign) !== 0,
  );
  if (open.length === 0)
    return [{ subject, state: 'well', message: `only their owner can read ${folder} and its files` }];
  const [first = folder] = open;
  const message =
    open.length === 1
      ? `other users of this machine may open ${first}`
      : `other users of this machine may open ${first} and ${open.length - 1} more of the data folder`;
  if (isShared(folder, facts))
    return [
      {
        subject,
        state: 'note',
        message,
        remedy: `it serves other purposes too: set ${nameOption(file, 'dataFolder')} to a folder of its own`,
      },
    ];
  const remedy = isOwn(facts)
    ? 'the next start removes these rights'
    : `give the folder to the user who runs the gateway, and run chmod -R go= ${folder}`;
  return [{ subject, state: 'note', message, remedy }];
}
