/**
 * Several processes at the first moments of one month after another: all of them credit what is due and ask
 * for calls at once, with clocks that differ by some seconds.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGatewayError } from '../../core/index.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { quote } from './calls.ts';

export interface Moment {
  readonly name: string;
  readonly at: number;
  readonly accounts: readonly string[];
}

/** On a loaded machine PostgreSQL may end a transaction that waits too long: it wrote nothing. */
async function retry<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isGatewayError(error) || error.code !== 'ledger_unavailable' || attempt > 100) throw error;
      await sleep(100);
    }
  }
}

/** Returns how many calls were reserved. */
async function liveThrough(store: Store, { name, at, accounts }: Moment): Promise<number> {
  const credited = retry(() => store.creditAllowances({ at, limit: 100 }));
  const answers = await Promise.all(
    accounts.map((account) =>
      retry(() =>
        store.reserve({ id: `${name}-${account}`, account, key: 'k', quotes: [quote(1n)], at: at + 1 }),
      ),
    ),
  );
  await credited;
  return answers.filter(({ status }) => status === 'reserved').length;
}

export interface Process {
  live(moment: Moment): Promise<number>;
  close(): Promise<unknown>;
}

export async function startProcess(kind: string, address: string): Promise<Process> {
  const file = join(import.meta.dirname, 'allowance-race.ts');
  const child = spawn(process.execPath, [file, kind, address], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    async live(moment) {
      child.stdin.write(`${JSON.stringify(moment)}\n`);
      return Number((await lines.next()).value);
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}

async function serve(kind: string, address: string): Promise<void> {
  const store =
    kind === 'postgres'
      ? await openPostgres({ url: address, connections: 1 })
      : await openSqlite({ file: address, busyTimeout: 60_000 });
  process.stdout.write('ready\n');
  for await (const line of createInterface({ input: process.stdin }))
    process.stdout.write(`${await liveThrough(store, JSON.parse(line))}\n`);
  await store.close();
}

const [, entry = '', kind, address] = process.argv;
if (entry.endsWith('allowance-race.ts') && kind !== undefined && address !== undefined)
  await serve(kind, address);
