/** What can happen to a ledger's database while a gateway runs, and how it ends. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StoreOptions } from '../../plugins/meters/balance/open-store.ts';
import { makeFolder } from '../support/folder.ts';
import { createDatabase, startPostgres } from '../support/postgres.ts';
import { startTcpLink } from '../support/tcp-link.ts';
import { setReadOnly } from './disk-faults.ts';
import { lock } from './ledger-file.ts';

/**
 * `stopped`: PostgreSQL, by its administrator; `silent`: nothing it sends arrives any more; `locked`: another
 * process has the SQLite file; `full`: nothing can be written to any file; `read-only`: nothing to this one
 * (the test file must have `disk-faults.ts` in place).
 */
export const troubles = ['stopped', 'silent', 'locked', 'full', 'read-only'] as const;
export type Trouble = (typeof troubles)[number];

export interface TroubledStore {
  /** How the gateway reaches the database, and how a client that the fault does not affect reaches it. */
  readonly options: StoreOptions;
  readonly direct: StoreOptions;
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
  close(): Promise<unknown>;
}

async function createTroubledPostgres(kind: 'stopped' | 'silent'): Promise<TroubledStore> {
  const server = await startPostgres();
  const { url } = await createDatabase(server.url);
  const link = await startTcpLink(Number(new URL(url).port));
  const through = new URL(url);
  through.port = String(link.port);
  return {
    options: { kind: 'postgres', url: through.href, connections: 4 },
    direct: { kind: 'postgres', url, connections: 1 },
    begin: async () => (kind === 'stopped' ? server.stop() : link.hold()),
    end: async () => (kind === 'stopped' ? server.start() : link.release()),
    async close() {
      await link.close();
      await server.end();
    },
  };
}

/** The most that this process may write to a file, in bytes; beyond it the system reports a full disk. */
function limitFiles(most: string): Promise<unknown> {
  return promisify(execFile)('prlimit', ['--pid', String(process.pid), `--fsize=${most}:unlimited`]);
}

function createTroubledSqlite(kind: 'locked' | 'full' | 'read-only'): TroubledStore {
  const folder = makeFolder();
  const options: StoreOptions = { kind: 'sqlite', file: join(folder, 'ledger.db') };
  let unlock = (): void => undefined;
  return {
    options,
    direct: options,
    async begin() {
      if (kind === 'full') await limitFiles('1');
      else if (kind === 'read-only') setReadOnly(true);
      else unlock = lock(join(folder, 'ledger.db'));
    },
    async end() {
      if (kind === 'full') await limitFiles('unlimited');
      else if (kind === 'read-only') setReadOnly(false);
      else unlock();
    },
    close: async () => undefined,
  };
}

export async function createTroubledStore(trouble: Trouble): Promise<TroubledStore> {
  return trouble === 'stopped' || trouble === 'silent'
    ? createTroubledPostgres(trouble)
    : createTroubledSqlite(trouble);
}
