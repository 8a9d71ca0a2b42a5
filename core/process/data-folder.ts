/**
 * The data folder holds the ledger and the operators' secret, so it is readable for the gateway's own user
 * alone. What is there already is tightened at the start where that user owns it. A folder that belongs to
 * others, or that serves other purposes too, is left as it is, and `tollgate doctor` says so.
 */
import { chmodSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import type { Finding } from '../host/diagnostics.ts';

export const folderMode = 0o700;
export const fileMode = 0o600;
/** Group and others. */
const foreign = 0o077;
const sticky = 0o1000;

/** Undefined where there is nothing, or nothing that can be looked at: whoever opens it is told why. */
function look(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

function contentsOf(folder: string): string[] {
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

/**
 * Whether the folder is more than the gateway's: a shared one like /tmp, the user's home, or one that the
 * process works in.
 */
function isShared(folder: string, { mode }: Stats): boolean {
  return (
    (mode & sticky) !== 0 ||
    [homedir(), process.cwd()].some((place) => !relative(folder, place).startsWith('..'))
  );
}

/**
 * Takes the rights of everyone else from a file or folder of this process's user; returns false where it
 * cannot.
 */
export function tighten(path: string): boolean {
  const facts = look(path);
  if (!facts || (facts.mode & foreign) === 0) return true;
  // The rights of a symbolic link mean nothing, and to change those of what it points to is not asked for.
  if (facts.isSymbolicLink() || !isOwn(facts)) return false;
  try {
    chmodSync(path, facts.isDirectory() ? folderMode : fileMode);
    return true;
  } catch {
    // A mount that cannot be changed, say.
    return false;
  }
}

/** Tightens the folder and what it holds, if there is such a folder. */
export function tightenFolder(path: string): void {
  const folder = resolve(path);
  const facts = look(folder);
  if (!facts?.isDirectory() || !isOwn(facts) || isShared(folder, facts)) return;
  tighten(folder);
  for (const path of contentsOf(folder)) tighten(path);
}

/** What the doctor says of the rights of the folder and the files in it. */
export function examineRights(path: string): Finding[] {
  const folder = resolve(path);
  const subject = 'rights';
  const facts = look(folder);
  if (!facts?.isDirectory() || !process.getuid) return [];
  const open = [folder, ...contentsOf(folder)].filter((each) => ((look(each)?.mode ?? 0) & foreign) !== 0);
  if (open.length === 0)
    return [{ subject, state: 'well', told: `nobody but their owner can read ${folder} and its files` }];
  const [first = folder] = open;
  const told =
    open.length === 1
      ? `other users of this machine may open ${first}`
      : `other users of this machine may open ${first} and ${open.length - 1} more of the data folder`;
  if (isShared(folder, facts))
    return [
      {
        subject,
        state: 'note',
        told,
        remedy: 'the folder serves other purposes too: set TOLLGATE_DATA to one of its own',
      },
    ];
  const remedy = isOwn(facts)
    ? 'the next start takes these rights away'
    : `give the folder to the user who runs the gateway, and run chmod -R go= ${folder}`;
  return [{ subject, state: 'note', told, remedy }];
}
