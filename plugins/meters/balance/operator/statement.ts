/** An account's statement, like a bank's: what it had, what came and went, and what it has. */
import { z } from 'zod';
import { formatUsd, GatewayError, type Nano } from '../../../../core/index.ts';
import { units } from '../calls/figures.ts';
import type { Store } from '../store.ts';
import { accountBalance } from './accounts.ts';
import { csv } from './csv.ts';

const day = units['1d'];

const date = z.iso.date('a day is written 2027-01-31').transform((text) => Date.parse(text));

export const statementQuery = z
  .strictObject({
    month: z
      .string()
      .regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'a month is written 2027-01')
      .optional(),
    from: date.optional(),
    to: date.optional(),
    format: z.enum(['json', 'csv']).default('json'),
  })
  .refine(
    ({ month, from, to }) =>
      (month === undefined || from === undefined) && (to === undefined || from !== undefined),
    {
      message: 'say a month, or from and to (days; the second is not included)',
      path: ['month'],
    },
  );

type Query = z.output<typeof statementQuery>;

/** The current month, if neither a month nor a day is said. */
function rangeOf({ month, from, to }: Query): { from: number; to: number } {
  if (from !== undefined) {
    const start = from;
    const end = to ?? Math.ceil(Date.now() / day) * day;
    if (start >= end)
      throw new GatewayError('invalid_request', 'from: it has to be before "to"', { param: 'from' });
    return { from: start, to: end };
  }
  const [year = 0, number = 1] = (month ?? new Date().toISOString()).split('-').map(Number);
  return { from: Date.UTC(year, number - 1), to: Date.UTC(year, number) };
}

interface Line {
  readonly at: number;
  readonly kind: 'credit' | 'usage';
  readonly text: string;
  readonly reference: string | null;
  readonly calls: number | null;
  readonly amount: Nano;
}

/** More models than an account ever calls. */
const everyModel = 1_000_000;

async function usageLines(store: Store, account: string, from: number, to: number): Promise<Line[]> {
  const rows = await store.overview({ account, from, to, by: 'model', unit: '1d', top: everyModel });
  return rows
    .filter(({ cost, posts }) => cost !== 0n || posts > 0)
    .map(({ name, start, cost, posts }) => ({
      at: start,
      kind: 'usage',
      text: name ?? '',
      reference: null,
      calls: posts,
      amount: -cost,
    }));
}

async function creditLines(store: Store, account: string, from: number, to: number): Promise<Line[]> {
  const lines: Line[] = [];
  const limit = 1000;
  for (let after = 0, isMore = true; isMore;) {
    const entries = await store.entries({ account, kinds: ['credit'], from, to, after, limit });
    for (const { at, source, reference, credits } of entries)
      lines.push({
        at,
        kind: 'credit',
        text: source ?? 'credit',
        reference: reference ?? null,
        calls: null,
        amount: -credits,
      });
    after = entries.at(-1)?.number ?? after;
    isMore = entries.length === limit;
  }
  return lines;
}

export async function statement(store: Store, account: string, query: Query) {
  await accountBalance(store, account);
  const { from, to } = rangeOf(query);
  if ((await store.behind()) > mostBehind)
    throw new GatewayError('overloaded', 'The roll-ups of the ledger are still being made; try again soon.', {
      retryAfter: 10,
    });
  const before = await store.overview({ account, from: 0, to: from, by: 'account', unit: '1d', top: 1 });
  const used = before.reduce((sum, { cost }) => sum + cost, 0n);
  const opening = (await store.creditedBefore({ account, at: from })) - used;
  const moves = [
    ...(await creditLines(store, account, from, to)),
    ...(await usageLines(store, account, from, to)),
  ].toSorted((one, other) => dayOf(one) - dayOf(other) || rank(one) - rank(other) || one.at - other.at);
  let balance = opening;
  const lines = moves.map(({ at, amount, ...line }) => {
    balance += amount;
    return {
      at: new Date(at).toISOString(),
      ...line,
      amount: formatUsd(amount),
      balance: formatUsd(balance),
    };
  });
  const sumOf = (kind: Line['kind']): Nano =>
    moves.reduce((sum, line) => (line.kind === kind ? sum + line.amount : sum), 0n);
  return {
    account,
    currency: 'USD',
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    opening: formatUsd(opening),
    closing: formatUsd(balance),
    credited: formatUsd(sumOf('credit')),
    used: formatUsd(-sumOf('usage')),
    lines,
  };
}

/** Entries beyond the roll-ups that a query still reads. */
const mostBehind = 40_000;

function dayOf({ at }: Line): number {
  return Math.floor(at / day);
}

/** Within a day credits come first, since the usage of a day has no time. */
function rank({ kind }: Line): number {
  return kind === 'credit' ? 0 : 1;
}

export async function statementCsv(store: Store, account: string, query: Query): Promise<string> {
  const { from, to, opening, closing, lines } = await statement(store, account, query);
  const ends = { reference: null, calls: null, amount: null };
  return csv(
    ['at', 'kind', 'text', 'reference', 'calls', 'amount', 'balance'],
    [
      { at: from, kind: 'opening', text: 'opening balance', ...ends, balance: opening },
      ...lines,
      { at: to, kind: 'closing', text: 'closing balance', ...ends, balance: closing },
    ],
  );
}
