/**
 * The one set of metrics a process has, whatever is reloaded. Where several workers share the port, whichever
 * is scraped answers for all: it asks the process they were started by, which asks every worker.
 */
import cluster from 'node:cluster';
import { AggregatorRegistry, Registry } from 'prom-client';
import { z } from 'zod';
import { GatewayError } from '../errors.ts';

export const metrics = new Registry();

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
  // Making one is what lets this worker answer for its part.
  void new AggregatorRegistry();
  process.on('message', (message) => {
    const reply = scrapeReply.safeParse(message);
    if (!reply.success) return;
    asked.get(reply.data.id)?.(reply.data.text);
    asked.delete(reply.data.id);
  });
}

/**
 * All metrics in Prometheus' own text, of every worker together. Rejects where some worker's are not to be
 * had: sums without them would be wrong.
 */
export function scrape(): Promise<string> {
  if (!cluster.isWorker) return metrics.metrics();
  lastAsked += 1;
  const id = lastAsked;
  return new Promise((resolve, reject) => {
    asked.set(id, (text) =>
      text === undefined
        ? reject(new GatewayError('overloaded', "A worker's figures could not be had; ask again soon."))
        : resolve(text),
    );
    process.send?.({ type: 'tollgate:scrape', id } satisfies z.output<typeof scrapeRequest>);
  });
}
