/**
 * What an account spent on each day of a time zone, from the roll-ups of hours. Some zones have days that
 * begin within an hour of UTC: such hours are read from the entries, minute by minute.
 */
import type { Nano, Use } from '../../../../core/index.ts';
import { getCurrentPeriod } from '../budgets/periods.ts';
import { listUsed, units } from '../calls/figures.ts';
import type { MinuteRow, Store } from '../store.ts';

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
  readonly uses: Use[];
}

export function findDay(zone: string, at: number): number {
  return getCurrentPeriod('day', zone, at).start;
}

async function readRows(store: Store, account: string, { from, to, zone }: Range): Promise<MinuteRow[]> {
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
  const minutes = hours.size === 0 ? [] : await store.sumChargesByMinute({ account, hours: [...hours] });
  return [
    ...rows
      .filter(({ start }) => !hours.has(start))
      .map(({ counts, ...row }) => ({ ...row, name: row.name ?? '', uses: listUsed(counts) })),
    ...minutes.filter(({ start }) => start >= from && start < to),
  ];
}

/** In no order. */
export async function computeSpentByDay(store: Store, account: string, range: Range): Promise<Spent[]> {
  const days = new Map<string, Spent>();
  const rows = await readRows(store, account, range);
  for (const { start, name, cost, posts, uses } of rows.toSorted((one, other) => one.start - other.start)) {
    const day = findDay(range.zone, start);
    const id = `${day} ${name}`;
    const known = days.get(id);
    if (!known) days.set(id, { day, model: name, cost, posts, uses: [...uses] });
    else {
      known.cost += cost;
      known.posts += posts;
      known.uses.push(...uses);
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
  const minutes = at === start ? [] : await store.sumChargesByMinute({ account, hours: [start] });
  return [...rows, ...minutes.filter((row) => row.start < at)].reduce((sum, { cost }) => sum + cost, 0n);
}
