/**
 * The process's one set of metrics, which survives reloads. If several workers share the port, the scraped
 * worker asks the parent process, which asks every worker.
 */
import cluster from 'node:cluster';
import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { GatewayError } from '../util/errors.ts';
import { workers } from './workers.ts';

export const metrics = new Registry();

/** Counted by the process that starts the workers. A gateway of one process reports 0. */
export const workerDeaths = new Counter({
  name: 'tollgate_worker_deaths_total',
  help: 'Worker processes that ended though nothing stopped the gateway.',
  registers: cluster.isWorker ? [] : [metrics],
});

/** What a worker asks its parent process. */
export const scrapeTopic = 'tollgate:metrics';
/** Milliseconds. prom-client waits five seconds for the workers. */
const patience = 6000;

if (cluster.isWorker) {
  AggregatorRegistry.setRegistries([metrics]);
  // Creating a registry lets this worker answer for its part.
  void new AggregatorRegistry();
}

/**
 * Returns the metrics of all workers in Prometheus' text format. Rejects if a worker does not answer, because
 * sums without it would be wrong.
 */
export async function scrape(): Promise<string> {
  if (!workers.several) return metrics.metrics();
  const text = await workers.askSupervisor(scrapeTopic, undefined, patience);
  if (typeof text === 'string') return text;
  throw new GatewayError('overloaded', 'A worker did not report its metrics; try again soon.');
}
