/**
 * The one set of metrics a process has, whatever is reloaded. Where several workers share the port, whichever is
 * scraped answers for all: it asks the process they were started by, which asks every worker.
 */
import cluster from 'node:cluster';
import { AggregatorRegistry, Registry } from 'prom-client';
import { z } from 'zod';

export const metrics = new Registry();

export const scrapeRequest = z.object({ type: z.literal('tollgate:scrape'), id: z.number() });
export const scrapeReply = z.object({ type: z.literal('tollgate:scraped'), id: z.number(), text: z.string() });

const asked = new Map<number, (text: string) => void>();
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

/** All metrics in Prometheus' own text, of every worker together. */
export function scrape(): Promise<string> {
  if (!cluster.isWorker) return metrics.metrics();
  lastAsked += 1;
  const id = lastAsked;
  return new Promise((resolve) => {
    asked.set(id, resolve);
    process.send?.({ type: 'tollgate:scrape', id } satisfies z.output<typeof scrapeRequest>);
  });
}
