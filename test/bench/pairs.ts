/** A ledger with a few keys, and calls of theirs as large as most are, for benches of what a ledger costs. */
import type { Consumption, Store } from '../../plugins/meters/balance/store.ts';
import { newKey } from '../balance/calls.ts';

const consumption: Consumption = {
  model: 'openai/gpt-5-mini',
  provider: 'openai',
  price: '0123456789ab',
  input: 1200,
  output: 300,
  attempts: 1,
  usage: '{"input":1200,"cacheRead":1024,"output":300,"reasoning":128}',
  costs: '[["cacheRead",1024,"0.025"],["input",176,"0.25"],["output",300,"2"]]',
};

export const keys = Number(process.env.LEDGER_KEYS ?? 64);

/** Processes with one ledger spend from the account of their series. */
const series = process.env.LEDGER_SERIES ?? '0000';
const account = `bench-${series}`;

function toKey(index: number): string {
  return (index % keys).toString(16).padStart(12, '0') + series;
}

export async function fill(store: Store): Promise<void> {
  await store.createAccount({ name: account, at: Date.now() });
  await store.addCredit({
    account,
    amount: 10n ** 15n,
    kind: 'top-up',
    reference: undefined,
    at: Date.now(),
  });
  for (let index = 0; index < keys; index += 1) await store.createKey(newKey(toKey(index), account));
}

/** Of calls of this process, whose ids no other process makes. */
let made = process.pid * 1e9;

/** Answers the id of the call it was reserved for. */
export async function reserveOne(store: Store): Promise<string> {
  made += 1;
  const id = `0199-${made.toString().padStart(31, '0')}`;
  const quotes = [
    {
      model: 'openai/gpt-5-mini',
      provider: 'openai',
      price: '0123456789ab',
      least: 40_000n,
      most: 1_200_000n,
      input: 30,
      owed: 7500n,
    },
  ];
  const reserved = await store.reserve({ id, account, key: toKey(made), quotes, at: Date.now() });
  if (reserved.status !== 'reserved') throw new Error(`refused: ${reserved.status}`);
  return id;
}

export async function settleOne(store: Store, id: string): Promise<void> {
  const settled = await store.settle({
    ...consumption,
    id,
    amount: 669_600n,
    reason: 'completed',
    basis: 'usage',
    suspect: false,
    at: Date.now(),
  });
  if (settled.status !== 'posted') throw new Error(`not settled: ${settled.status}`);
}
