/**
 * Many calls at the same moment against a budget that covers one of them, from one process or several. Each
 * round draws the scope of the budget, the quote of a call, and its cost in the end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGatewayError, type Nano } from '../../core/index.ts';
import type { Scope, Store } from '../../plugins/meters/balance/store.ts';
import type { OpenedStore } from '../contract/books.ts';
import { newKey, price, quote, settlement } from './calls.ts';

/** Calls that one process asks for in one turn; they share the work between these accounts and keys. */
export interface Wave {
  readonly name: string;
  readonly calls: number;
  readonly spenders: readonly { readonly account: string; readonly key: string }[];
  readonly tags: readonly string[];
  readonly cost: number;
  readonly at: number;
}

/** Returns the ids of calls that were reserved, and how many others a budget refused. */
export async function runWave(
  store: Store,
  { name, calls, spenders, tags, cost, at }: Wave,
): Promise<Outcome> {
  const reply = Array.from({ length: calls }, async (_, index) => {
    const { account = '', key = '' } = spenders[index % spenders.length] ?? {};
    // On a loaded machine PostgreSQL may end a transaction that waits too long: it wrote nothing.
    for (let attempt = 0; ; attempt += 1) {
      const id = `${name}-${index}-${attempt}`;
      try {
        const reserved = await store.reserve({ id, account, key, tags, quotes: [quote(BigInt(cost))], at });
        return { id, ...reserved };
      } catch (error) {
        if (!isGatewayError(error) || error.code !== 'ledger_unavailable' || attempt > 100) throw error;
        await sleep(100);
      }
    }
  });
  const answers = await Promise.all(reply);
  return {
    reserved: answers.filter(({ status }) => status === 'reserved').map(({ id }) => id),
    refused: answers.filter((answer) => answer.status === 'short' && answer.by === 'budget').length,
  };
}

export interface Outcome {
  readonly reserved: readonly string[];
  readonly refused: number;
}

interface Racer {
  run(wave: Wave): Promise<Outcome>;
  close(): Promise<unknown>;
}

async function startRacer(kind: string, address: string): Promise<Racer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'budget-racer.ts'), kind, address], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    async run(wave) {
      child.stdin.write(`${JSON.stringify(wave)}\n`);
      return JSON.parse(String((await lines.next()).value));
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}

export interface Race {
  readonly opened: OpenedStore & { readonly file?: string; readonly url?: string };
  readonly processes: number;
  readonly rounds: number;
  readonly calls: number;
  readonly draw: (below: number) => number;
}

/** What went wrong in any round, and what the audit says at the end. */
export async function runBudgetRace({ opened, processes, rounds, calls, draw }: Race) {
  const { store } = opened;
  const kind = opened.file === undefined ? 'postgres' : 'sqlite';
  const address = opened.file ?? opened.url ?? '';
  const own: Racer = { run: (wave) => runWave(store, wave), close: async () => undefined };
  const racers =
    processes === 1
      ? [own]
      : await Promise.all(Array.from({ length: processes }, () => startRacer(kind, address)));
  await store.definePrice(price);
  const spenders = Array.from({ length: 4 }, (_, index) => ({
    account: `spender-${index}`,
    key: `${index}`.padStart(16, '0'),
  }));
  await store.createAccount({ name: 'company', at: 1 });
  for (const { account, key } of spenders) {
    await store.createAccount({ name: account, at: 1 });
    await store.addCredit({ account, amount: 10n ** 12n, kind: 'top-up', reference: undefined, at: 1 });
    await store.createKey(newKey(key, account));
    await store.moveAccount({ account, parent: 'company' });
  }
  const wrong: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const cost = 1 + draw(1000);
    const limit = BigInt(cost + draw(cost));
    const scope = (['account', 'team', 'key', 'tag'] as const)[draw(4)] ?? 'team';
    // Each round is a month of its own.
    const at = Date.UTC(2026, round, 1 + draw(27), draw(24), draw(60));
    const tag = `round-${round}`;
    const all = scope === 'account' || scope === 'key' ? spenders.slice(0, 1) : spenders;
    const id = await createBudget(store, scope, tag, limit);
    const wave = { calls: calls / processes, tags: [tag], cost, at };
    const race = async (name: string): Promise<Outcome> => {
      const outcomes = await Promise.all(
        racers.map((racer, index) => {
          // Each process spends from an account of its own where it can: only the budget is shared.
          const own = racers.length > 1 ? all.slice(index % all.length).slice(0, 1) : all;
          return racer.run({ ...wave, spenders: own, name: `${tag}-${name}-${index}` });
        }),
      );
      return {
        reserved: outcomes.flatMap(({ reserved }) => reserved),
        refused: outcomes.reduce((sum, { refused }) => sum + refused, 0),
      };
    };
    const first = await race('first');
    if (first.reserved.length !== 1 || first.refused !== calls - 1)
      wrong.push(
        `${tag}: ${first.reserved.length} of ${calls} calls were reserved, ${first.refused} refused`,
      );
    // If it costs nothing in the end, the budget covers another one.
    const owed = draw(3) === 0 ? undefined : BigInt(cost - draw(2));
    for (const call of first.reserved) await store.settle(settlement(call, owed, { at }));
    const second = await race('second');
    const expected = owed !== undefined && limit - owed < BigInt(cost) ? 0 : 1;
    if (second.reserved.length !== expected)
      wrong.push(`${tag}: ${second.reserved.length} of the second ${calls} calls were reserved`);
    for (const call of second.reserved) await store.settle(settlement(call, BigInt(cost), { at }));
    const [kept] = await store.listBudgets({ id, limit: 1, at });
    if (!kept || kept.used > limit || kept.pending !== 0n)
      wrong.push(`${tag}: ${kept?.used} of ${limit} is used, ${kept?.pending} reserved`);
    await store.deleteBudget({ id, at });
  }
  await Promise.all(racers.map((racer) => racer.close()));
  const audit = await store.audit();
  await opened.dispose();
  return { wrong, audit };
}

async function createBudget(store: Store, scope: Scope, tag: string, limit: Nano): Promise<number> {
  const subjects = { account: 'spender-0', team: 'company', key: '0'.padStart(16, '0'), tag };
  const terms = { limit, hard: true, thresholds: [100] };
  const made = await store.createBudget({
    scope,
    subject: subjects[scope],
    per: 'month',
    zone: 'America/St_Johns',
    ...terms,
    at: 1,
  });
  if (made.status !== 'created') throw new Error(`the budget is ${made.status}`);
  return made.id;
}
