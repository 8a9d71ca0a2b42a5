/** Files and folders that only the gateway's own user may read. */
import { chmodSync, lstatSync, mkdirSync, statSync, type Stats, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

const folderMode = 0o700;

export const fileMode = 0o600;

/** Group and others. */
export const foreign = 0o077;

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
export function readStats(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

export function isOwn({ uid }: Stats): boolean {
  return uid === process.getuid?.();
}

/** Removes the rights of group and others from what this process's user owns. False if it cannot. */
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

const sticky = 0o1000;

export function listContents(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

/** Whether the folder has other uses: a shared one like /tmp, the user's home, or the working directory. */
export function isShared(folder: string, { mode }: Stats): boolean {
  return (
    (mode & sticky) !== 0 ||
    [homedir(), process.cwd()].some((place) => !relative(folder, place).startsWith('..'))
  );
}

/** Tightens the folder and its files, if the folder exists. */
export function tightenFolder(path: string): void {
  const folder = resolve(path);
  const facts = readStats(folder);
  if (!facts?.isDirectory() || !isOwn(facts) || isShared(folder, facts)) return;
  restrictAccess(folder);
  for (const path of listContents(folder)) restrictAccess(path);
}
