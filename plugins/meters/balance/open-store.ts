/**
 * Which database stores the ledger: a local file, a PostgreSQL that several machines share, or a custom
 * store.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { allowReference, openSecret, type Host } from '../../../core/index.ts';
import type { GroupListener } from './queue.ts';
import { openSqlite } from './sqlite/open.ts';
import type { Store } from './store.ts';

/** The address holds a password, so it belongs in the environment and not in a file. */
const variable = 'TOLLGATE_LEDGER_URL';
const form = 'postgres://user:password@host:5432/name';
const addressed = `needs the address of the database, here or in ${variable}: ${form}`;

const urlSchema = z.string().refine((url) => /^postgres(ql)?:/.test(url) && URL.canParse(url), addressed);

export const storeOptions = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('sqlite'),
    /** `ledger.db` in the data folder unless given. */
    file: z.string().min(1).optional(),
  }),
  z.strictObject({
    kind: z.literal('postgres'),
    /** The address, or a reference to it; `TOLLGATE_LEDGER_URL` unless given. No log or error has it. */
    url: allowReference(urlSchema).prefault(() => process.env[variable] ?? ''),
    /** How many connections of each process read; one more writes. */
    connections: z.int().positive().default(4),
  }),
  z.strictObject({
    kind: z.literal('custom'),
    /** A reload that finds the same name keeps the ledger that is open. */
    name: z.string().min(1),
    /** Opens a ledger, which has to pass `testStore`. */
    open: z.custom<() => Promise<Store>>(
      (open) => typeof open === 'function',
      'has to be a function that opens a store',
    ),
  }),
]);

export type StoreOptions = z.output<typeof storeOptions>;

/** The error of a command that reads a ledger which does not exist. */
export class NoLedger extends Error {
  constructor(place: string) {
    super(`there is no ledger at ${place} yet: \`tollgate start\` and \`tollgate keys create\` make one`);
  }
}

/** How a store is opened. A command's ledger needs neither `onGroup` nor `lease`. */
export interface OpenSettings {
  /** Marks the reservations made here; random unless given. */
  readonly owner?: string;
  readonly onGroup?: GroupListener;
  /**
   * Milliseconds. If set, a thread beats at least this often while the event loop is blocked and anything
   * is reserved.
   */
  readonly lease?: number | undefined;
  /** Rejects if there is no ledger yet, so that a command that only reads never creates one. */
  readonly mustExist?: boolean | undefined;
}

export function getLedgerFile({ file }: { readonly file?: string | undefined }, dataFolder: string): string {
  return file ?? join(dataFolder, 'ledger.db');
}

/** False if another user's rights hide the file: opening it says so. */
export function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/**
 * Returns the function that reads where the ledger is now. A changed file reloads the configuration, which
 * opens the ledger at its new address.
 */
export function followAddress(
  host: Pick<Host, 'openSecret' | 'watchFile'>,
  options: StoreOptions,
): () => Promise<StoreOptions> {
  if (options.kind !== 'postgres') return async () => options;
  const secret = host.openSecret(options.url, urlSchema);
  if (secret.file !== undefined) host.watchFile(secret.file);
  return async () => ({ ...options, url: (await secret.read())[0] });
}

export async function openStore(
  options: StoreOptions,
  dataFolder: string,
  { mustExist = false, ...serving }: OpenSettings = {},
): Promise<Store> {
  if (options.kind === 'custom') return options.open();
  if (options.kind === 'postgres') {
    // Loaded only here: most gateways do not need its client.
    const { openPostgres } = await import('./postgres/open.ts');
    const [url] = await openSecret(options.url, urlSchema).read();
    return openPostgres({ url, connections: options.connections, mustExist, ...serving });
  }
  const file = getLedgerFile(options, dataFolder);
  if (mustExist && isMissing(file)) throw new NoLedger(file);
  // A command waits for each answer, so it needs no thread, which takes 0.1 s to load.
  return openSqlite({ file, threads: serving.onGroup !== undefined, ...serving });
}
