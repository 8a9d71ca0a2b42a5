/** The health of all providers as an operator sees it, put together from what each worker knows. */
import type { Examination, Host } from '../../../core/index.ts';
import type { ProviderHealth } from '../../shared/replies/providers.ts';
import { mostErrors } from './book.ts';
import { isWithin, type Hold } from './holds.ts';
import type { Row } from './workers.ts';

export type Offered = Pick<Host, 'providers' | 'catalog' | 'examinations'>;

const severity: readonly Row['state'][] = ['well', 'testing', 'resting', 'failing'];

function findWorst(rows: readonly Row[]): Row | undefined {
  return rows.toSorted((one, other) => severity.indexOf(other.state) - severity.indexOf(one.state))[0];
}

function sum(rows: readonly Row[], figure: (row: Row) => number): number {
  return rows.reduce((total, row) => total + figure(row), 0);
}

function computeFigures(rows: readonly Row[]) {
  const times = rows.flatMap(({ firstEvents }) => firstEvents).toSorted((one, other) => one - other);
  const computePercentile = (share: number): number | null =>
    times.length === 0
      ? null
      : Math.round(times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0);
  const attempts = sum(rows, (row) => row.attempts);
  return {
    attempts,
    failed: sum(rows, ({ failed }) => failed),
    retryShare: attempts === 0 ? 0 : sum(rows, ({ retries }) => retries) / attempts,
    firstEventMs: { p50: computePercentile(0.5), p95: computePercentile(0.95) },
  };
}

const toIso = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** One target, from the rows of all workers. */
function describeTarget(rows: readonly Row[], holds: readonly Hold[]) {
  const seen = findWorst(rows);
  if (!seen) return [];
  const { key, model } = seen;
  const hold = holds.find((each) => isWithin(each, seen));
  const until = hold?.until ?? seen.until;
  return {
    key,
    model,
    state: hold ? ('held' as const) : seen.state,
    until: until === undefined ? null : toIso(until),
    reason: hold
      ? { code: 'held', message: hold.reason ?? 'Taken out of service by an operator.' }
      : (seen.reason ?? null),
    ...computeFigures(rows),
    lastErrors: rows
      .flatMap(({ errors }) => errors)
      .toSorted((one, other) => other.at - one.at)
      .slice(0, mostErrors)
      .map((error) => ({ ...error, at: toIso(error.at) })),
  };
}

function describeHold({ key, model, until, reason }: Hold) {
  return { key: key ?? null, model: model ?? null, until: toIso(until), reason: reason ?? null };
}

/** A plugin names the examination of each key of a provider `<provider> <key>`. */
export function listProbes(
  { examinations }: Offered,
  provider: string,
): { key: number; probe: Examination }[] {
  return [...examinations.list()].flatMap((probe) => {
    const [, name, key] = /^(.+) (\d+)$/.exec(probe.name) ?? [];
    return name === provider ? [{ key: Number(key), probe }] : [];
  });
}

function judgeState(rows: readonly Row[], isHeld: boolean) {
  if (isHeld) return 'held';
  if (rows.every(({ attempts }) => attempts === 0)) return 'idle';
  const ill = rows.filter(({ state }) => state !== 'well').length;
  if (ill === 0) return 'well';
  return ill === rows.length ? 'failing' : 'partly';
}

export function describeProviders(
  host: Offered,
  rows: readonly Row[],
  holds: readonly Hold[],
): ProviderHealth['providers'] {
  const offers = host.catalog.listModels().flatMap(({ id }) => host.catalog.find(id));
  const offersOf = Map.groupBy(offers, ({ provider }) => provider.name);
  const protocolsOf = new Map(
    [...host.providers.list()].map(({ name, endpoints }) => [name, Object.keys(endpoints)]),
  );
  return [...protocolsOf].map(([provider, protocols]) => {
    const offered = offersOf.get(provider) ?? [];
    const own = rows.filter((row) => row.provider === provider);
    const held = holds.filter((hold) => hold.provider === provider);
    const isHeld = held.some(({ key, model }) => key === undefined && model === undefined);
    const byTarget = Map.groupBy(own, ({ key, model }) => JSON.stringify([key, model]));
    return {
      provider,
      protocols,
      models: new Set(offered.map(({ model }) => model.id)).size,
      keys: new Set(offered.map((offer) => offer.provider.credential)).size,
      canTest: listProbes(host, provider).length > 0,
      state: judgeState(own, isHeld),
      ...computeFigures(own),
      holds: held.map(describeHold),
      targets: [...byTarget.values()].flatMap((each) => describeTarget(each, holds)),
    };
  });
}
