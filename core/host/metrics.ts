/**
 * The process's one set of metrics, which survives reloads. If several workers share the port, the scraped
 * worker asks the parent process, which asks every worker.
 */
import cluster from 'node:cluster';
import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { z } from 'zod';
import { GatewayError } from '../errors.ts';

export const metrics = new Registry();

/** Counted by the process that starts the workers. A gateway of one process reports 0. */
export const workerDeaths = new Counter({
  name: 'tollgate_worker_deaths_total',
  help: 'Worker processes that ended though nothing stopped the gateway.',
  registers: cluster.isWorker ? [] : [metrics],
});

export const scrapeRequest = z.object({ type: z.literal('tollgate:scrape'), id: z.number() });
export const scrapeReply = z.object({
  type: z.literal('tollgate:scraped'),
  id: z.number(),
  text: z.string().optional(),
});

const asked = new Map<number, (text: string | undefined) => void>();
let lastAsked = 0;

if (cluster.isWorker) {
  AggregatorRegistry.setRegistries([metrics]);
  // Creating a registry lets this worker answer for its part.
  void new AggregatorRegistry();
  process.on('message', (message) => {
    const reply = scrapeReply.safeParse(message);
    if (!reply.success) return;
    asked.get(reply.data.id)?.(reply.data.text);
    asked.delete(reply.data.id);
  });
}

/**
 * Returns the metrics of all workers in Prometheus' text format. Rejects if a worker does not answer, because
 * sums without it would be wrong.
 */
export function scrape(): Promise<string> {
  if (!cluster.isWorker) return metrics.metrics();
  lastAsked += 1;
  const id = lastAsked;
  return new Promise((resolve, reject) => {
    asked.set(id, (text) =>
      text === undefined
        ? reject(new GatewayError('overloaded', 'A worker did not report its metrics; try again soon.'))
        : resolve(text),
    );
    process.send?.({ type: 'tollgate:scrape', id } satisfies z.output<typeof scrapeRequest>);
  });
}
