/** What the ledger tells Prometheus: how long groups of writes take, how large they are, and what was owed above reservations. */
import { Counter, Histogram } from 'prom-client';
import type { Host } from '../../../core/index.ts';

type Metrics = Host['metrics'];

function histogram(metrics: Metrics, name: string, help: string, buckets: number[]): Histogram {
  const existing = metrics.getSingleMetric(name);
  return existing instanceof Histogram ? existing : new Histogram({ name, help, buckets, registers: [metrics] });
}

function counter(metrics: Metrics, name: string, help: string): Counter {
  const existing = metrics.getSingleMetric(name);
  return existing instanceof Counter ? existing : new Counter({ name, help, registers: [metrics] });
}

export interface LedgerMetrics {
  readonly overages: Counter;
  /** Counts one group of writes. */
  onGroup(operations: number, seconds: number): void;
}

export function ledgerMetrics(metrics: Metrics): LedgerMetrics {
  const commits = histogram(metrics, 'tollgate_ledger_commit_seconds', 'Seconds from sending a group of writes to its answer.', [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]);
  const sizes = histogram(metrics, 'tollgate_ledger_group_size', 'Operations that shared a commit.', [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
  return {
    overages: counter(metrics, 'tollgate_ledger_overage_total', 'Calls that cost more than was reserved for them.'),
    onGroup(operations, seconds) {
      commits.observe(seconds);
      sizes.observe(operations);
    },
  };
}
