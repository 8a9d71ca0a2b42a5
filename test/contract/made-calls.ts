/** Ended calls of any kind, and their sums. */
import { amountParts, listBuckets, units } from '../../plugins/meters/balance/calls/figures.ts';
import type { OverviewRow, Store } from '../../plugins/meters/balance/store.ts';

export interface MadeCall {
  readonly call: string;
  readonly account: string;
  readonly key: string;
  readonly ended: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly [column: string]: unknown;
}

/** A stored call as the recorder writes it. */
export function buildCall(
  call: string,
  account: string,
  ended: number,
  more: Readonly<Record<string, unknown>> = {},
): MadeCall {
  return {
    call,
    started: ended - 100,
    ended,
    account,
    key: 'key-1',
    asked: 'house/model',
    model: 'house/model',
    provider: 'house',
    protocol: 'messages',
    operation: 'generate',
    stream: 1,
    outcome: 'completed',
    code: null,
    status: 200,
    first_event: 40,
    duration: 100,
    attempts: 1,
    input: 10,
    output: 5,
    cached: 0,
    reasoning: 0,
    cost: '7',
    margin: '2',
    basis: 'usage',
    flags: '',
    tags: {},
    usage: { input: 10, inputAudio: 4, output: 5, secondIn: 0.5 },
    ...more,
  };
}

export async function add(store: Pick<Store, 'addCalls'>, ...calls: readonly MadeCall[]): Promise<void> {
  await store.addCalls({ calls: calls.map((call) => JSON.stringify(call)) });
}

export function sumRows(rows: readonly OverviewRow[]) {
  const sum = (read: (row: OverviewRow) => number | undefined): number =>
    rows.reduce((total, row) => total + (read(row) ?? 0), 0);
  return {
    cost: rows.reduce((total, row) => total + row.cost, 0n),
    margin: rows.reduce((total, row) => total + row.margin, 0n),
    posts: sum((row) => row.posts),
    calls: sum((row) => row.calls),
    errors: sum(({ counts }) => counts.errors),
    input: sum(({ counts }) => counts.input) / amountParts,
    audio: sum(({ counts }) => counts.inputAudio) / amountParts,
    seconds: sum(({ counts }) => counts.secondIn) / amountParts,
    hits: sum(({ counts }) => counts.cache_hits),
    timed: sum(({ counts }) => listBuckets(counts).reduce((all, one) => all + one, 0)),
  };
}

export const always = { from: 0, to: 100 * units['1d'], by: 'account', unit: '1h', top: 1000 } as const;
