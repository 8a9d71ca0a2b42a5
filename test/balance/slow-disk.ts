/**
 * A gateway with slow commits, under calls that arrive one after the other: how long they wait, and whether
 * anything else does.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'vitest';
import { openHarness } from '../support/harness.ts';
import { setSlowness } from './disk-faults.ts';

const body = { model: 'openai/gpt-4o-mini', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

/**
 * Returns how many milliseconds 99 of 100 calls took at most, by how many the event loop was late in 99 of
 * 100 samples at most, and how many calls ended before a health check sent with them. None do if only calls
 * wait for the disk.
 */
export async function runSlowDisk({
  commit,
  milliseconds,
  atOnce,
}: Readonly<Record<'commit' | 'milliseconds' | 'atOnce', number>>) {
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
    expect(Object.keys(statuses)).toEqual(['200']);
    const audit = await harness.gateway.verb('audit');
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
    return { calls: waits.length, slowest, lag: delay.percentile(99) / 1e6, early };
  } finally {
    setSlowness(0);
    await harness.close();
  }
}
