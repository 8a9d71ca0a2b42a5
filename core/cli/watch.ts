/**
 * Watches files for changes. It watches their folders, because editors and volume mounts replace a file,
 * which a watch on the old file never sees.
 */
import { statSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';

/** Milliseconds of quiet after a change: files are often written in several steps. */
const quiet = 100;

/** Identifies a version of a file; undefined while it does not exist. */
function readState(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.mtimeMs} ${found.ino} ${found.size}`;
}

export interface FileWatcher {
  watch(files: readonly string[]): void;
  /** The files are about to be read: only later changes count. */
  noteReading(): void;
  close(): void;
}

export function watchFiles(files: readonly string[], onChange: () => void, logger: Logger): FileWatcher {
  const states = new Map<string, string | undefined>();
  const folders = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    let changed = false;
    for (const [file, before] of states) {
      const now = readState(file);
      if (now === before || now === undefined) continue;
      states.set(file, now);
      changed = true;
    }
    if (changed) onChange();
  }

  function lookSoon(): void {
    clearTimeout(timer);
    timer = setTimeout(look, quiet).unref();
  }

  /**
   * A folder that cannot be watched (such as when the system has no watches left) does not stop the gateway.
   * SIGHUP still works.
   */
  function watchFolder(folder: string): void {
    const logFailure = (error: unknown): void =>
      logger.warn({ error, folder }, 'changes here are not seen; send SIGHUP after one');
    try {
      folders.set(folder, watch(folder, { persistent: false }, lookSoon).on('error', logFailure));
    } catch (error) {
      logFailure(error);
    }
  }

  function follow(next: readonly string[]): void {
    const wanted = new Set(next.map((file) => dirname(file)));
    for (const [folder, watcher] of folders) {
      if (wanted.has(folder)) continue;
      watcher.close();
      folders.delete(folder);
    }
    for (const folder of wanted) if (!folders.has(folder)) watchFolder(folder);
    const before = new Map(states);
    states.clear();
    for (const file of next) states.set(file, before.get(file) ?? readState(file));
  }

  follow(files);
  return {
    watch: follow,
    noteReading() {
      for (const file of states.keys()) states.set(file, readState(file));
    },
    close() {
      clearTimeout(timer);
      follow([]);
    },
  };
}
