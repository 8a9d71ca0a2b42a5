/** The health of all providers as an operator sees it, put together from what each worker knows. */
import type { Catalog, Provider } from '../../../core/index.ts';
import type { ProviderHealth } from '../../shared/replies/providers.ts';
import { isWithin, type Hold } from './holds.ts';
import type { Row } from './workers.ts';

/** Past errors that are shown of one target. */
const mostErrors = 5;

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
  const [first] = rows;
  const seen = findWorst(rows);
  if (!first || !seen) return [];
  const { provider, key, model } = first;
  const hold = holds.find((each) => isWithin(each, { provider, key, model }));
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

/** What is on offer, by provider: its keys and how many models. */
function groupOffers(catalog: Catalog): Map<string, { keys: Set<number>; models: Set<string> }> {
  const byProvider = new Map<string, { keys: Set<number>; models: Set<string> }>();
  for (const { id } of catalog.listModels()) {
    for (const { provider } of catalog.find(id)) {
      const known = byProvider.get(provider.name) ?? { keys: new Set(), models: new Set() };
      known.keys.add(provider.credential ?? 1);
      known.models.add(id);
      byProvider.set(provider.name, known);
    }
  }
  return byProvider;
}

function judgeState(rows: readonly Row[], isHeld: boolean) {
  if (isHeld) return 'held';
  if (rows.every(({ attempts }) => attempts === 0)) return 'idle';
  const ill = rows.filter(({ state }) => state !== 'well').length;
  if (ill === 0) return 'well';
  return ill === rows.length ? 'failing' : 'partly';
}

interface Known {
  readonly rows: readonly Row[];
  readonly holds: readonly Hold[];
  /** Names of providers that have a probe. */
  readonly probed: ReadonlySet<string>;
}

export function describeProviders(
  providers: Iterable<Provider>,
  catalog: Catalog,
  { rows, holds, probed }: Known,
): ProviderHealth['providers'] {
  const offers = groupOffers(catalog);
  const names = new Map([...providers].map((provider) => [provider.name, Object.keys(provider.endpoints)]));
  return [...names].map(([provider, protocols]) => {
    const own = rows.filter((row) => row.provider === provider);
    const held = holds.filter((hold) => hold.provider === provider);
    const isHeld = held.some(({ key, model }) => key === undefined && model === undefined);
    const byTarget = Map.groupBy(own, ({ key, model }) => JSON.stringify([key, model]));
    return {
      provider,
      protocols,
      models: offers.get(provider)?.models.size ?? 0,
      keys: offers.get(provider)?.keys.size ?? 0,
      canTest: probed.has(provider),
      state: judgeState(own, isHeld),
      ...computeFigures(own),
      holds: held.map(describeHold),
      targets: [...byTarget.values()].flatMap((each) => describeTarget(each, holds)),
    };
  });
}
