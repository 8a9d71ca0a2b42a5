/**
 * The SQLite store: one file, which any number of processes on one machine can open. Each process has a
 * thread that writes, and another one for reports while they are requested.
 */
import { accessSync, closeSync, constants, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { readOwnVersion } from '../../../../core/for-threads.ts';
import { fileMode, getMessage, makeFolder, restrictAccess } from '../../../../core/index.ts';
import type { OpenSettings } from '../open-store.ts';
import { getQueue, createOwner, createStore, type WorkerData } from '../operations.ts';
import type { Store } from '../store.ts';
import { Reports, Thread, type Side } from './thread.ts';

export interface SqliteOptions extends Omit<OpenSettings, 'mustExist'> {
  readonly file: string;
  /** Milliseconds to wait while another process holds the file's lock. */
  readonly busyTimeout?: number;
  /**
   * Whether threads run the operations; true unless given. Without them, every operation blocks the event
   * loop.
   */
  readonly threads?: boolean;
  /** Milliseconds after its last reply until the thread for reports ends. */
  readonly patience?: number;
}

const worker = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
/** Read at the start, since an update may replace the files later. */
const version = readOwnVersion();
const defaultBusyTimeout = 2500;
const defaultPatience = 10_000;

function listFiles(file: string): string[] {
  return [file, `${file}-wal`, `${file}-shm`];
}

function isBarred(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code !== 'ENOENT';
  }
}

/** Advice for a file that cannot be opened, from checks of file and folder: SQLite does not report why. */
function describeRemedy(file: string, error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
    return '; choose another folder, since none can be made there';
  const folder = dirname(file);
  const barred = [folder, ...listFiles(file)].find(isBarred);
  if (barred === undefined) return statfsSync(folder).bavail === 0 ? `; the disk of ${folder} is full` : '';
  const user = process.getuid ? `, ${process.getuid()}` : '';
  return `; ${barred} has to belong to the user who runs the gateway${user}, and to be writable`;
}

/** Creates the file, or removes other users' rights to it. SQLite gives its log files the same rights. */
function makePrivate(file: string): void {
  makeFolder(dirname(file));
  try {
    closeSync(openSync(file, 'wx', fileMode));
  } catch {
    // The file already exists, or cannot be created: then SQLite fails to open it, and reports why.
  }
  for (const each of listFiles(file)) restrictAccess(each);
}

function startThread(workerData: WorkerData, name: string): Side {
  return new Worker(worker, { name, workerData });
}

/** Rejects with the reason if the file cannot be opened. */
export async function openSqlite({
  file,
  owner = createOwner(),
  onGroup,
  busyTimeout = defaultBusyTimeout,
  lease,
  threads = true,
  patience = defaultPatience,
}: SqliteOptions): Promise<Store> {
  let failure: Error | undefined;
  const start = threads ? startThread : (await import('./serve.ts')).serveHere;
  const data = { version, file, owner, busyTimeout };
  const writer = new Thread(
    () => start({ ...data, audits: false, audited: undefined, lease }, 'ledger'),
    (group) => {
      failure = group.failure;
      onGroup?.(group);
    },
  );
  try {
    makePrivate(file);
    await writer.open();
  } catch (error) {
    await writer.close();
    throw new Error(
      `the ledger ${file} cannot be opened: ${getMessage(error)}${describeRemedy(file, error)}`,
      {
        cause: error,
      },
    );
  }
  const reports = new Reports(
    file,
    (audited) => start({ ...data, audits: true, audited, lease: undefined }, 'ledger reports'),
    patience,
  );
  return createStore(
    (operation) => (getQueue(operation.name) === 'reports' ? reports : writer).ask(operation),
    {
      owner,
      audit: () => reports.audit(),
      findFault: () => writer.down ?? failure,
      async close() {
        await Promise.all([writer.close(), reports.close()]);
      },
    },
  );
}
