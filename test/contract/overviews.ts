/** Compares what a store says of ended calls with sums of our own. */
import { expect } from 'vitest';
import { amountParts, units, type Dimension, type Unit } from '../../plugins/meters/balance/calls/figures.ts';
import type { OverviewQuery, OverviewRow, Store } from '../../plugins/meters/balance/store.ts';
import { type MadeCall, always, sumRows } from './made-calls.ts';

const dimensions: readonly Exclude<Dimension, 'tag'>[] = ['model', 'key', 'account', 'provider'];

/** Compares the overview by each dimension and step with sums that the test makes itself. */
export async function expectEqual(store: Store, name: string, calls: readonly MadeCall[]): Promise<void> {
  const entries = (await store.listEntries({ account: name, limit: 1000 })).filter(
    ({ revenue, vendor, kind }) => revenue !== 0n || (vendor ?? 0n) !== 0n || kind === 'post',
  );
  for (const by of dimensions)
    for (const unit of ['1h', '1d'] as const satisfies Unit[]) {
      const query: OverviewQuery = { ...always, by, unit, account: name };
      const wanted = new Map<
        string,
        {
          cost: bigint;
          margin: bigint;
          posts: number;
          calls: number;
          hits: number;
          errors: number;
          timed: number;
          seconds: number;
        }
      >();
      const getCell = (group: unknown, at: number) => {
        const id = `${String(group)} ${Math.floor(at / units[unit]) * units[unit]}`;
        const known = wanted.get(id) ?? {
          cost: 0n,
          margin: 0n,
          posts: 0,
          calls: 0,
          hits: 0,
          errors: 0,
          timed: 0,
          seconds: 0,
        };
        wanted.set(id, known);
        return known;
      };
      for (const entry of entries) {
        const sums = getCell(entry[by], entry.at);
        sums.cost += entry.revenue;
        sums.margin += entry.vendor === undefined ? 0n : entry.revenue - entry.vendor;
        if (entry.kind === 'post') sums.posts += 1;
      }
      for (const call of calls) {
        const sums = getCell(call[by], call.ended);
        sums.calls += 1;
        if (Number(call.cached) > 0) sums.hits += 1;
        if (call.outcome === 'failed' || call.outcome === 'refused') sums.errors += 1;
        if (call.first_event !== null) sums.timed += 1;
        sums.seconds += 0.5;
      }
      const indexRows = (rows: readonly OverviewRow[]) =>
        Object.fromEntries(
          rows.map((row) => {
            const { input: _input, audio: _audio, ...sums } = sumRows([row]);
            return [`${row.name} ${row.start}`, sums];
          }),
        );
      expect(indexRows(await store.sumCalls(query)), `by ${by} and ${unit}`).toEqual(
        Object.fromEntries(wanted),
      );
    }
  const tags = await store.sumCalls({ ...always, by: 'tag', tag: 'of', top: 1_000_000 });
  const own = sumRows(tags.filter((row) => row.name === `of:${name}`));
  const tagged = entries.filter((entry) => calls.some(({ call }) => call === entry.call));
  expect(own).toMatchObject({
    calls: calls.length,
    audio: calls.length * 4,
    cost: tagged.reduce((sum, { revenue }) => sum + revenue, 0n),
    margin: tagged.reduce((sum, { revenue, vendor = revenue }) => sum + revenue - vendor, 0n),
  });
}

/** The largest series are those of all series, and the one without a name is the sum of the others. */
async function expectOthers(store: Store, query: OverviewQuery): Promise<void> {
  const all = await store.sumCalls({ ...query, top: 1_000_000 });
  for (const top of [1, 3]) {
    const some = await store.sumCalls({ ...query, top });
    const isNamed = ({ place }: OverviewRow): boolean => place <= top;
    expect(some.filter(({ name }) => name !== undefined)).toEqual(all.filter(isNamed));
    const rest = Map.groupBy(
      all.filter((row) => !isNamed(row)),
      ({ start }) => start,
    );
    const others = some.filter(({ name }) => name === undefined);
    expect(others.map(({ start }) => start)).toEqual([...rest.keys()].toSorted((one, other) => one - other));
    for (const row of others) expect(sumRows([row])).toEqual(sumRows(rest.get(row.start) ?? []));
  }
}

/** Ranks the series of all accounts by each dimension and step, of all time and of a part of it. */
export async function expectRanked(store: Store): Promise<void> {
  for (const by of dimensions)
    for (const unit of ['1h', '1d'] as const satisfies Unit[]) {
      const query: OverviewQuery = { ...always, by, unit };
      await expectOthers(store, query);
      // A range that begins and ends within days.
      await expectOthers(store, { ...query, from: units[unit], to: 3 * units[unit] });
      await expectOthers(store, { ...query, from: units[unit], to: 50 * units[unit] });
    }
}

const parties = ['provider', 'model', 'account', 'key'] as const;
type Party = Readonly<Record<(typeof parties)[number], string>>;

/** A call that its test made, with what it cost. */
export interface PartyCall extends Party {
  readonly at: number;
  readonly cost: bigint;
}

/** Sums by name and step, the largest name first; those beyond `top` in one without a name. */
function sumCalls(
  calls: readonly PartyCall[],
  { by, unit, top }: OverviewQuery & { by: keyof Party },
): unknown[] {
  const byName = [...Map.groupBy(calls, (call) => call[by])].map(([name, own]) => ({
    name,
    own,
    cost: own.reduce((sum, { cost }) => sum + cost, 0n),
  }));
  byName.sort(
    (one, other) =>
      Number(other.cost - one.cost) || other.own.length - one.own.length || (one.name < other.name ? -1 : 1),
  );
  const named = byName.slice(0, top);
  const rest = byName.slice(top).flatMap(({ own }) => own);
  return [...named, { name: undefined, own: rest }].flatMap(({ name, own }) =>
    [...Map.groupBy(own, ({ at }) => Math.floor(at / units[unit]) * units[unit])]
      .toSorted(([one], [other]) => one - other)
      .map(([start, each]) => ({
        name,
        start,
        names: byName.length,
        cost: each.reduce((sum, { cost }) => sum + cost, 0n),
        calls: each.length,
        input: each.length * 10,
      })),
  );
}

/** Compares the overview by each dimension of what each set of filters selects with sums of our own. */
export async function expectSelected(
  store: Store,
  calls: readonly PartyCall[],
  wanted: Party,
): Promise<void> {
  const sets = Array.from({ length: 2 ** parties.length - 1 }, (_, set) =>
    parties.filter((_name, index) => (set + 1) & (1 << index)),
  );
  for (const set of sets)
    for (const by of parties)
      for (const unit of ['1h', '1d'] as const)
        for (const top of [1, 2, 1000]) {
          const filter = Object.fromEntries(set.map((name) => [name, wanted[name]]));
          const query = { from: 10 * units['1h'], to: 90 * units['1h'], by, unit, top, ...filter };
          const range = unit === '1h' ? query : { ...query, from: 0, to: 4 * units['1d'] };
          const rows = await store.sumCalls(range);
          const selected = calls.filter(
            (call) =>
              call.at >= range.from && call.at < range.to && set.every((name) => call[name] === wanted[name]),
          );
          expect(
            rows.map(({ name, start, names, cost, calls: made, counts }) => ({
              name,
              start,
              names,
              cost,
              calls: made,
              input: (counts.input ?? 0) / amountParts,
            })),
            `by ${by} of ${set.join(' and ')} in steps of ${unit}, ${top} series`,
          ).toEqual(sumCalls(selected, query));
        }
}
