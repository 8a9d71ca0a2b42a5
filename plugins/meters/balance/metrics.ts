/** The ledger's metrics: how it writes, what is pending, and everything that should not happen. */
import { toUsdNumber, type Host } from '../../../core/index.ts';
import { defineCounter, defineGauge, defineHistogram, defineKnownCounter } from '../../shared/metric.ts';
import { scopes } from './budgets/budget.ts';
import type { GroupAnswer } from './queue.ts';
import type { Store, Totals } from './store.ts';

type Metrics = Host['metrics'];

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const operations = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/**
 * What a scrape reads: the store, and how much its last audit found. There is only one of each, since the
 * metrics belong to the process. Until the first audit the books count as sound.
 */
let watched: Store | undefined;
let found = 0;

/** Registers a gauge that is read at each scrape. It keeps its last value if there is none. */
function registerGauge(
  metrics: Metrics,
  [name, help]: readonly [name: string, help: string],
  together: 'max' | 'min',
  read: () => number | undefined | Promise<number | undefined>,
): void {
  const made = defineGauge(metrics, `tollgate_ledger_${name}`, help, { together });
  Object.assign(made, {
    async collect() {
      const value = await read();
      if (value !== undefined) made.set(value);
    },
  });
}

/** Registers gauges of the whole ledger. Every worker and every machine reports the same values. */
function registerGauges(metrics: Metrics): void {
  const registerTotal = (name: string, help: string, read: (totals: Totals) => number): void =>
    registerGauge(metrics, [name, help], 'max', async () => {
      // Readiness reports a failure.
      const totals = await watched?.sumTotals().catch(() => undefined);
      return totals && read(totals);
    });
  registerTotal('pending_calls', 'Reservations that have not ended.', ({ pendingCalls }) => pendingCalls);
  registerTotal('pending_usd', 'What reservations that have not ended hold.', ({ pendingAmount }) =>
    toUsdNumber(pendingAmount),
  );
  registerTotal(
    'oldest_pending_seconds',
    'Age of the oldest reservation that has not ended.',
    ({ oldestPending: at }) => (at === undefined ? 0 : Math.max(0, (Date.now() - at) / 1000)),
  );
  const [up, ok] = [
    '1, or 0 while the ledger cannot be used.',
    '1 while the last audit found nothing wrong, 0 otherwise.',
  ] as const;
  registerGauge(metrics, ['up', up], 'min', () => (watched?.findFault() ? 0 : 1));
  registerGauge(metrics, ['audit_ok', ok], 'min', () => (found === 0 ? 1 : 0));
  registerGauge(metrics, ['audit_findings', 'What the last audit found wrong.'], 'max', () => found);
}

/**
 * Returns the metrics of one configuration. Metrics of the same name are shared with earlier configurations.
 */
export function registerLedgerMetrics(metrics: Metrics) {
  const help = 'Seconds from sending a group of writes to its answer.';
  const commits = defineHistogram(metrics, 'tollgate_ledger_commit_seconds', help, { buckets: seconds });
  const sizes = defineHistogram(metrics, 'tollgate_ledger_group_size', 'Operations that shared a commit.', {
    buckets: operations,
  });
  registerGauges(metrics);
  const registerCount = <Label extends string = never>(name: string, help: string, labels?: Label[]) =>
    defineCounter(metrics, `tollgate_ledger_${name}_total`, help, labels);
  const registerBudget = (name: string, help: string, label: string, values: readonly string[]) =>
    defineKnownCounter(metrics, { name: `tollgate_budget_${name}_total`, help, label, values });
  return {
    overages: registerCount('overage', 'Calls that cost more than was reserved for them.'),
    suspect: registerCount(
      'suspect',
      "Calls whose vendor's figures could not be true, or that it charged for what they did not ask for.",
    ),
    late: registerCount('late', 'Calls that were settled after they had been recovered or had expired.'),
    recovered: registerCount('recovered', 'Calls of dead processes that were settled by this one.', [
      'status',
    ]),
    budgetRefusals: registerBudget('refusals', 'Calls refused by a budget.', 'scope', scopes),
    budgetWarnings: registerBudget(
      'warnings',
      'Thresholds that budgets reached, and budgets that began to refuse calls.',
      'event',
      ['threshold', 'exhausted'],
    ),
    lost: defineCounter(metrics, 'tollgate_calls_lost_total', 'Ended calls that could not be stored.'),
    onGroup({ operations: size, seconds: duration }: Pick<GroupAnswer, 'operations' | 'seconds'>) {
      commits.observe(duration);
      sizes.observe(size);
    },
    watch(store: Store) {
      [watched, found] = [store, 0];
    },
    noteAudit(findings: number) {
      found = findings;
    },
  };
}

export type LedgerMetrics = ReturnType<typeof registerLedgerMetrics>;
