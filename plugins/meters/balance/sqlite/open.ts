/** The SQLite store: one file, any number of processes on one machine, a thread of its own in each. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Store } from '../store.ts';
import type { Opened, WriterData } from './operations.ts';
import { Thread, type GroupListener } from './thread.ts';

export interface SqliteOptions {
  readonly file: string;
  readonly onGroup?: GroupListener;
  /** Milliseconds to wait while another process holds the file's lock. */
  readonly busyTimeout?: number;
}

const writer = new URL(import.meta.url.endsWith('.ts') ? './writer.ts' : './writer.js', import.meta.url);
const patience = 5000;

async function opened(worker: Worker): Promise<Opened> {
  const [message] = await once(worker, 'message');
  return message;
}

/** Rejects with the reason where the file cannot be opened. */
export async function openSqlite({ file, onGroup = () => undefined, busyTimeout = patience }: SqliteOptions): Promise<Store> {
  const owner = `${process.pid}-${randomBytes(6).toString('hex')}`;
  const worker = new Worker(writer, { name: 'ledger', workerData: { file, owner, busyTimeout } satisfies WriterData });
  const { failure } = await opened(worker);
  if (failure) throw new Error(`the ledger ${file} cannot be opened: ${failure.message}`, { cause: failure });
  const thread = new Thread(worker, onGroup);
  return {
    reserve: (request) => thread.ask({ name: 'reserve', argument: request }),
    settle: (settlement) => thread.ask({ name: 'settle', argument: settlement }),
    balance: (account) => thread.ask({ name: 'balance', argument: account }),
    createAccount: (account) => thread.ask({ name: 'createAccount', argument: account }),
    credit: (credit) => thread.ask({ name: 'credit', argument: credit }),
    createKey: (key) => thread.ask({ name: 'createKey', argument: key }),
    findKey: (hash) => thread.ask({ name: 'findKey', argument: hash }),
    listKeys: () => thread.ask({ name: 'listKeys', argument: undefined }),
    disableKey: (hash) => thread.ask({ name: 'disableKey', argument: hash }),
    close: () => thread.close(),
  };
}
