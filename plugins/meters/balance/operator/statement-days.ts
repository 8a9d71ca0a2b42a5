/**
 * What an account spent on each day of a time zone, from the roll-ups of hours. Some zones have days that
 * begin within an hour of UTC: such hours are read from the entries, minute by minute.
 */
import type { Nano, Use } from '../../../../core/index.ts';
import { getCurrentPeriod } from '../budgets/periods.ts';
import { listUsed, units } from '../calls/figures.ts';
import type { Store } from '../store.ts';

const hour = units['1h'];

/** More models than an account ever calls. */
const everyModel = 1_000_000;

export interface Range {
  readonly from: number;
  readonly to: number;
  readonly zone: string;
}

/** What a model cost on one day. */
export interface Spent {
  /** The first moment of the day. */
  readonly day: number;
  readonly model: string;
  cost: Nano;
  posts: number;
  uses: readonly Use[];
}

export function findDay(zone: string, at: number): number {
  return getCurrentPeriod('day', zone, at).start;
}

/** What a model cost from a moment on, until the hour or the minute ends. */
interface Charged extends Omit<Spent, 'day'> {
  readonly start: number;
}

/** Some hours, minute by minute. */
async function readMinutes(store: Store, account: string, hours: readonly number[]): Promise<Charged[]> {
  if (hours.length === 0) return [];
  const [from, to] = [Math.min(...hours), Math.max(...hours) + hour];
  const rows = await store.sumUsage({ account, hours, from, to, by: ['model', 'minute'] });
  return rows.map(({ model = '', minute, cost, calls, uses }) => ({
    model,
    start: Number(minute),
    cost,
    posts: calls,
    uses,
  }));
}

async function readRows(store: Store, account: string, { from, to, zone }: Range): Promise<Charged[]> {
  const [first, last] = [Math.floor(from / hour) * hour, Math.ceil(to / hour) * hour];
  const rows = await store.sumCalls({
    account,
    from: first,
    to: last,
    by: 'model',
    unit: '1h',
    top: everyModel,
  });
  const isSplit = (start: number): boolean =>
    start < from || start + hour > to || findDay(zone, start) !== findDay(zone, start + hour - 1);
  const hours = new Set(
    [...new Set(rows.map(({ start }) => start))].toSorted((one, other) => one - other).filter(isSplit),
  );
  const minutes = await readMinutes(store, account, [...hours]);
  return [
    ...rows
      .filter(({ start }) => !hours.has(start))
      .map(({ counts, name: model = '', ...row }) => ({ ...row, model, uses: listUsed(counts) })),
    ...minutes.filter(({ start }) => start >= from && start < to),
  ];
}

/** In no order. */
export async function computeSpentByDay(store: Store, account: string, range: Range): Promise<Spent[]> {
  const days = new Map<string, Spent>();
  const rows = await readRows(store, account, range);
  for (const { start, model, cost, posts, uses } of rows.toSorted((one, other) => one.start - other.start)) {
    const day = findDay(range.zone, start);
    const id = `${day} ${model}`;
    const known = days.get(id);
    if (!known) days.set(id, { day, model, cost, posts, uses });
    else {
      known.cost += cost;
      known.posts += posts;
      known.uses = [...known.uses, ...uses];
    }
  }
  return [...days.values()].filter(({ cost, posts }) => cost !== 0n || posts > 0);
}

export async function computeSpentBefore(store: Store, account: string, at: number): Promise<Nano> {
  const start = Math.floor(at / hour) * hour;
  const day = Math.floor(start / units['1d']) * units['1d'];
  const query = { account, by: 'account', top: 1 } as const;
  const rows = [
    ...(await store.sumCalls({ ...query, from: 0, to: day, unit: '1d' })),
    ...(await store.sumCalls({ ...query, from: day, to: start, unit: '1h' })),
  ];
  const minutes = at === start ? [] : await readMinutes(store, account, [start]);
  return [...rows, ...minutes.filter((row) => row.start < at)].reduce((sum, { cost }) => sum + cost, 0n);
}
