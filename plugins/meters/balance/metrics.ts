/** What the ledger tells Prometheus: how long groups of writes take, how large they are, and what was owed above reservations. */
import { Counter, Histogram } from 'prom-client';
import type { Host } from '../../../core/index.ts';

type Metrics = Host['metrics'];

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const operations = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

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
  onGroup(group: { readonly operations: number; readonly seconds: number }): void;
}

export function ledgerMetrics(metrics: Metrics): LedgerMetrics {
  const commits = histogram(metrics, 'tollgate_ledger_commit_seconds', 'Seconds from sending a group of writes to its answer.', seconds);
  const sizes = histogram(metrics, 'tollgate_ledger_group_size', 'Operations that shared a commit.', operations);
  return {
    overages: counter(metrics, 'tollgate_ledger_overage_total', 'Calls that cost more than was reserved for them.'),
    onGroup({ operations: size, seconds: duration }) {
      commits.observe(duration);
      sizes.observe(size);
    },
  };
}
