/**
 * A gateway that stops in the middle of its calls for longer than its lease, like a machine that is
 * suspended, and then continues: the other one has taken it for dead, and it corrects what the other settled.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';
import { listEntries, computeCost, startJournallingVendor, stream, type Made } from './killed-gateways.ts';

export interface Suspended {
  /**
   * How many streams it had, how many the other settled, and how many its clients received whole in the end.
   */
  readonly streams: number;
  readonly taken: number;
  readonly whole: number;
  /** Calls for which all entries together differ from the cost of the provider's usage. */
  readonly wrong: readonly string[];
  /** Calls that have more than one end. */
  readonly endedTwice: readonly string[];
  readonly audit: unknown;
}

/** Stops a gateway, but never while it holds the lock of the ledger's file: the others would wait for it. */
async function stopBetweenWrites({ child }: RunningGateway, file: string): Promise<void> {
  for (;;) {
    child.kill('SIGSTOP');
    const database = new DatabaseSync(file, { timeout: 500 });
    try {
      return database.exec('BEGIN IMMEDIATE; ROLLBACK');
    } catch {
      child.kill('SIGCONT');
      await sleep(20);
    } finally {
      database.close();
    }
  }
}

/** Stops for so many milliseconds; `lease` is in seconds. */
export async function runSuspended({
  streams,
  words,
  milliseconds,
  lease,
}: {
  readonly streams: number;
  readonly words: number;
  readonly milliseconds: number;
  readonly lease: number;
}): Promise<Suspended> {
  const folder = makeDataFolder();
  const { vendor, journal } = await startJournallingVendor(10);
  const store = await openSqlite({ file: join(folder, 'ledger.db') });
  await store.createAccount({ name: 'a', at: 1 });
  await store.addCredit({ account: 'a', amount: 10n ** 15n, kind: 'bonus', reference: undefined, at: 1 });
  const key = await issueKey(store, { name: '', account: 'a' });
  const environment = {
    TOLLGATE_CONFIG: 'test/balance/killed-gateways.config.ts',
    TOLLGATE_DATA: folder,
    KILLS_LEASE: String(lease),
    OPENAI_API_KEY: 'sk-vendor',
    OPENAI_BASE_URL: vendor.origin,
  };
  const [sleeper, other] = await Promise.all([startProcess(environment), startProcess(environment)]);
  try {
    const calls = Array.from({ length: streams }, (_, index): Made => ({
      marker: `call-${index}`,
      key: key?.id ?? '',
      id: undefined,
      words: 0,
      done: false,
    }));
    const running = Promise.all(calls.map((made) => stream(sleeper.url, key?.secret ?? '', made, words)));
    while (calls.some((made) => made.words === 0)) await sleep(20);
    await stopBetweenWrites(sleeper, join(folder, 'ledger.db'));
    const stopped = sleep(milliseconds);
    while ((await store.listPending({ limit: 1 })).length > 0) await sleep(100);
    await stopped;
    sleeper.child.kill('SIGCONT');
    await running;
    for (const gateway of [sleeper, other]) await gateway.stop('SIGTERM');
    const entries = await listEntries(store);
    const selectEntries = (made: Made) =>
      entries.filter(({ call, kind }) => call === made.id && kind !== 'reserve');
    return {
      streams,
      taken: new Set(entries.flatMap(({ call, flags }) => (flags.includes('recovered') ? [call] : []))).size,
      whole: calls.filter(({ done }) => done).length,
      wrong: calls
        .filter(
          (made) =>
            selectEntries(made).reduce((sum, { revenue }) => sum + revenue, 0n) !==
            computeCost(journal.get(made.marker)?.words ?? 0),
        )
        .map(({ marker }) => marker),
      endedTwice: calls
        .filter(
          (made) => selectEntries(made).filter(({ kind }) => kind === 'post' || kind === 'void').length !== 1,
        )
        .map(({ marker }) => marker),
      audit: await store.audit(),
    };
  } finally {
    for (const { child } of [sleeper, other]) child.kill('SIGKILL');
    await store.close();
    await vendor.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
