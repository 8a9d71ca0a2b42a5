/**
 * A gateway with slow commits, under calls that arrive one after the other: how long they wait, and whether
 * anything else does.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openHarness } from '../support/harness.ts';
import { setSlowness } from './disk-faults.ts';

export interface SlowDisk {
  readonly statuses: Readonly<Record<number, number>>;
  /** Milliseconds that 99 of 100 calls took at most. */
  readonly slowest: number;
  /** Milliseconds by which the event loop was late, in 99 of 100 samples at most. */
  readonly lag: number;
  /** How many calls ended before a health check sent with them. None if only calls wait for the disk. */
  readonly early: number;
  readonly audit: unknown;
}

const body = { model: 'openai/gpt-4o-mini', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

export async function runSlowDisk({
  commit,
  milliseconds,
  atOnce,
}: {
  readonly commit: number;
  readonly milliseconds: number;
  readonly atOnce: number;
}): Promise<SlowDisk> {
  const harness = await openHarness({ credit: '100' });
  try {
    await (await harness.post(body)).text();
    setSlowness(commit);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const statuses: Record<number, number> = {};
    const waits: number[] = [];
    let early = 0;
    const until = performance.now() + milliseconds;
    const runLane = async (): Promise<void> => {
      while (performance.now() < until) {
        const began = performance.now();
        let isHealthy = false;
        const healthy = fetch(`${harness.gateway.url}/healthz`).then(() => (isHealthy = true));
        const response = await harness.post(body);
        if (!isHealthy) early += 1;
        await response.arrayBuffer();
        await healthy;
        waits.push(performance.now() - began);
        statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, runLane));
    delay.disable();
    setSlowness(0);
    const slowest =
      waits.toSorted((one, other) => one - other)[Math.floor((waits.length - 1) * 0.99)] ?? Infinity;
    return {
      statuses,
      slowest,
      lag: delay.percentile(99) / 1e6,
      early,
      audit: await harness.gateway.verb('audit'),
    };
  } finally {
    setSlowness(0);
    await harness.close();
  }
}
