/** The ledger's metrics: how it writes, what is pending, and everything that should not happen. */
import { toUsdNumber, type Host } from '../../../core/index.ts';
import { defineCounter, defineGauge, defineHistogram, defineKnownCounter } from '../../shared/metric.ts';
import { scopes } from './budgets/budget.ts';
import type { GroupAnswer } from './queue.ts';
import type { Store, Totals } from './store.ts';

type Metrics = Host['metrics'];

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const operations = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** The store that a scrape reads from. There is only one, since the metrics belong to the process. */
let watched: Store | undefined;

function computeAge({ oldestPending }: Totals): number {
  return oldestPending === undefined ? 0 : Math.max(0, (Date.now() - oldestPending) / 1000);
}

/**
 * Registers gauges of the whole ledger, read at each scrape. Every worker and every machine reports the same
 * values.
 */
function registerTotals(metrics: Metrics): void {
  const registerTotal = (name: string, help: string, read: (totals: Totals) => number): void => {
    const made = defineGauge(metrics, `tollgate_ledger_${name}`, help, { together: 'max' });
    Object.assign(made, {
      async collect() {
        // If the ledger fails, the gauge keeps its last value; readiness reports the failure.
        const totals = await watched?.sumTotals().catch(() => undefined);
        if (totals) made.set(read(totals));
      },
    });
  };
  registerTotal('pending_calls', 'Reservations that have not ended.', ({ pendingCalls }) => pendingCalls);
  registerTotal('pending_usd', 'What reservations that have not ended hold.', ({ pendingAmount }) =>
    toUsdNumber(pendingAmount),
  );
  registerTotal('oldest_pending_seconds', 'Age of the oldest reservation that has not ended.', computeAge);
}

/** Registers a gauge that is 0 while the ledger fails. */
function registerHealth(metrics: Metrics): void {
  const up = defineGauge(metrics, 'tollgate_ledger_up', '1, or 0 while the ledger cannot be used.', {
    together: 'min',
  });
  Object.assign(up, { collect: () => up.set(watched?.findFault() ? 0 : 1) });
}

/** Returns a function that sets the gauges of the last audit. */
function registerAudit(metrics: Metrics): (broken: number) => void {
  const isNew = !metrics.getSingleMetric('tollgate_ledger_audit_ok');
  const ok = defineGauge(
    metrics,
    'tollgate_ledger_audit_ok',
    '1 while the last audit found nothing wrong, 0 otherwise.',
    { together: 'min' },
  );
  // Until the first audit the gauge reports sound books.
  if (isNew) ok.set(1);
  const findings = defineGauge(
    metrics,
    'tollgate_ledger_audit_findings',
    'What the last audit found wrong.',
    {
      together: 'max',
    },
  );
  return (broken) => {
    ok.set(broken === 0 ? 1 : 0);
    findings.set(broken);
  };
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
  registerTotals(metrics);
  registerHealth(metrics);
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
    budgetWebhooks: registerBudget('webhooks', 'Tries to deliver a warning.', 'outcome', [
      'ok',
      'failed',
      'given-up',
    ]),
    lost: defineCounter(metrics, 'tollgate_calls_lost_total', 'Ended calls that could not be stored.'),
    /** Counts one group of writes. */
    onGroup({ operations: size, seconds: duration }: Pick<GroupAnswer, 'operations' | 'seconds'>) {
      commits.observe(duration);
      sizes.observe(size);
    },
    /** From now on scrapes read from this store. */
    watch(store: Store) {
      watched = store;
    },
    /** Sets the number of findings of the last audit. */
    audited: registerAudit(metrics),
  };
}

export type LedgerMetrics = ReturnType<typeof registerLedgerMetrics>;
