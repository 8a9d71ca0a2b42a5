/**
 * Other plugins' tables and documents in the ledger, and what these plugins write with calls. A reservation
 * is written with all of it or not at all. An entry that ends a call is written in any case: without the
 * plugin whose statement failed. Each write of a document replaces the version that its writer has read.
 */
import {
  getMessage,
  type CallStatements,
  type End,
  type Host,
  type Planned,
  type Replayed,
  type TableDeclaration,
  type Tables,
  type TableStore,
  type Documents,
  type DocumentStore,
} from '../../../core/index.ts';
import { TableFault } from './operations.ts';
import type { PluginStatements, Settled, Settlement, Store } from './store.ts';

/** Keeps the tables of the plugins of one configuration in the running store. */
export class PluginTables implements TableStore {
  readonly name = 'ledger';
  readonly isShared: boolean;
  readonly #requireStore: () => Store;
  readonly #logger: Host['logger'];
  /** What plugins write with calls, by the names of their tables. */
  readonly #calls = new Map<string, CallStatements>();

  readonly #useStore: StoreUser | undefined;

  constructor(requireStore: () => Store, logger: Host['logger'], isShared = false, useStore?: StoreUser) {
    this.isShared = isShared;
    this.#useStore = useStore;
    this.#requireStore = requireStore;
    this.#logger = logger;
  }

  async open({ name, migrations, calls }: TableDeclaration): Promise<Tables> {
    await this.#requireStore().migrateTables({ name, migrations, recover: calls?.recover });
    if (calls) this.#calls.set(name, calls);
    const withCalls = calls !== undefined;
    return {
      read: async (statement) => this.#requireStore().readTables({ ...statement, name }),
      write: async (statements) => this.#requireStore().writeTables({ name, statements, withCalls }),
    };
  }

  async use<Result>(
    { name, migrations }: TableDeclaration,
    work: (tables: Tables) => Promise<Result>,
  ): Promise<Result> {
    if (!this.#useStore) throw new Error('the tables can be used in a running gateway only');
    return this.#useStore(async (store) => {
      await store.migrateTables({ name, migrations });
      return work({
        read: async (statement) => store.readTables({ ...statement, name }),
        write: async (statements) => store.writeTables({ name, statements, withCalls: false }),
      });
    });
  }

  /** What plugins write with a reservation. A plugin that throws refuses the call. */
  listForReservation(planned: Planned): PluginStatements[] | undefined {
    if (this.#calls.size === 0) return undefined;
    return Array.from(this.#calls, ([name, calls]) => ({ name, statements: calls.reserve?.(planned) ?? [] }));
  }

  /** What plugins write with the entry that ends a call. What a plugin fails to list is left out. */
  listForEnd(end: Exclude<End, Replayed>): PluginStatements[] | undefined {
    if (this.#calls.size === 0) return undefined;
    return Array.from(this.#calls, ([name, calls]) => {
      try {
        return { name, statements: calls.settle?.(end) ?? [] };
      } catch (error) {
        this.#logger.error(
          { error, plugin: name, call: end.exchange.id },
          `a plugin writes nothing with the end of a call: ${getMessage(error)}`,
        );
        return { name, statements: [] };
      }
    });
  }
}

/**
 * Runs an operation that must not fail because of a plugin: once more without each plugin whose statement
 * failed. `run` gets the names of these.
 */
export async function runWithoutFaulty<Result>(
  logger: Host['logger'],
  run: (leaveOut: readonly string[]) => Promise<Result>,
  call?: string,
): Promise<Result> {
  const leaveOut: string[] = [];
  for (;;) {
    try {
      return await run(leaveOut);
    } catch (error) {
      if (!(error instanceof TableFault) || leaveOut.includes(error.plugin)) throw error;
      leaveOut.push(error.plugin);
      logger.error(
        { error, plugin: error.plugin, call },
        'entries are written without the statements of a plugin, one of which failed',
      );
    }
  }
}

export function settleWithoutFaulty(
  store: Store,
  settlement: Settlement,
  logger: Host['logger'],
): Promise<Settled> {
  const { id, also } = settlement;
  if (!also) return store.settle(settlement);
  return runWithoutFaulty(
    logger,
    (leaveOut) => store.settle({ ...settlement, also: also.filter(({ name }) => !leaveOut.includes(name)) }),
    id,
  );
}

function createDocuments(store: Store): Documents {
  return {
    read: (name) => store.readDocument(name),
    write: (name, body, replaces) => store.writeDocument({ name, text: body, replaces }),
  };
}

/** Runs work in the running store, or in one that is opened for it. */
export type StoreUser = <Result>(work: (store: Store) => Promise<Result>) => Promise<Result>;

export function createStoreUser(running: () => Store | undefined, open: () => Promise<Store>): StoreUser {
  return async (work) => {
    const store = running();
    if (store) return work(store);
    const opened = await open();
    try {
      return await work(opened);
    } finally {
      await opened.close();
    }
  };
}

/** The ledger's documents. */
export function createDocumentStore(useStore: StoreUser): DocumentStore {
  return { name: 'ledger', use: (work) => useStore((store) => work(createDocuments(store))) };
}
