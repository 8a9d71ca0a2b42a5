/** Two gateways on one ledger, with running streams, while the wall clock jumps, stops and returns. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import { openHarness, type Harness } from '../support/harness.ts';
import { readBooks, makeTemporaryFolder } from './ledger-file.ts';

const hour = 3600 * 1000;
const year = 365 * 24 * hour;
/** How far the clock is off, one offset after the other; `stopped`: it does not advance. */
const states = [hour, -hour, year, -year, 'stopped', 0] as const;

const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }], stream: true };

export interface ClockRun {
  /** How many streams there were, how many ended with their last event, and how many ids they had. */
  readonly streams: number;
  readonly whole: number;
  readonly ids: number;
  /** Entries that are neither a reservation nor a plain end of one. */
  readonly strange: readonly string[];
  /** The USD that all calls should have cost, and the USD they did cost. */
  readonly due: number;
  readonly used: number;
  readonly audit: unknown;
}

async function measureCost({ post, balance }: Harness): Promise<number> {
  await (await post(body)).text();
  return (await balance()).used;
}

/**
 * Starts streams in each state of the clock, which lasts so many milliseconds, and ends when all have passed.
 */
export async function runClock({
  milliseconds,
  lease,
}: {
  readonly milliseconds: number;
  readonly lease: number;
}): Promise<ClockRun> {
  const folder = makeTemporaryFolder();
  const store = { kind: 'sqlite', file: join(folder.path, 'ledger.db') } as const;
  const houses = [
    await openHarness({ ledger: { store, lease } }),
    await openHarness({ ledger: { store, lease } }),
  ];
  const now = Date.now.bind(Date);
  const clock = vi.spyOn(Date, 'now');
  try {
    const [first] = houses;
    const each = first ? await measureCost(first) : 0;
    let release = (): void => undefined;
    const hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const { vendor } of houses) vendor.script('gpt-4o-mini', { hold, holdAfter: 2 });
    const running: Response[] = [];
    const begin = async (): Promise<void> =>
      void running.push(...(await Promise.all(houses.flatMap(({ post }) => [post(body), post(body)]))));
    await begin();
    for (const state of states) {
      const stopped = now();
      clock.mockImplementation(() => (state === 'stopped' ? stopped : now() + state));
      await begin();
      await sleep(milliseconds);
    }
    release();
    const texts = await Promise.all(running.map((response) => response.text()));
    const { entries } = readBooks(store.file);
    return {
      streams: running.length,
      whole: texts.filter((text) => text.trimEnd().endsWith('data: [DONE]')).length,
      ids: new Set(running.map((response) => response.headers.get('x-request-id'))).size,
      strange: entries
        .filter(({ kind, flags }) => flags !== '' || !['credit', 'reserve', 'post'].includes(kind))
        .map(({ kind, flags }) => `${kind} ${flags}`),
      due: each * (running.length + 1),
      used: (await houses[0]?.balance())?.used ?? 0,
      audit: await houses[0]?.gateway.verb('audit'),
    };
  } finally {
    clock.mockRestore();
    for (const harness of houses) await harness.close();
    folder.remove();
  }
}
