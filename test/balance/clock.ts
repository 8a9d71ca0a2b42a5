/** Two gateways on one ledger, with running streams, while the wall clock jumps, stops and returns. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { makeFolder } from '../support/folder.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { readBooks } from './ledger-file.ts';

const hour = 3600 * 1000;
const year = 365 * 24 * hour;
/** How far the clock is off, one offset after the other; `stopped`: it does not advance. */
const states = [hour, -hour, year, -year, 'stopped', 0] as const;

const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }], stream: true };

async function measureCost({ post, balance }: Harness): Promise<number> {
  await (await post(body)).text();
  return (await balance()).used;
}

/** Starts streams in each state of the clock, which lasts so many milliseconds. Its owner settles each. */
export async function expectClockIgnored(milliseconds: number): Promise<void> {
  const folder = makeFolder();
  const store = { kind: 'sqlite', file: join(folder, 'ledger.db') } as const;
  const houses = [
    await openHarness({ ledger: { store, lease: 1 } }),
    await openHarness({ ledger: { store, lease: 1 } }),
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
    expect(running).toHaveLength(28);
    expect(texts.filter((text) => text.trimEnd().endsWith('data: [DONE]'))).toHaveLength(28);
    expect(new Set(running.map((response) => response.headers.get('x-request-id'))).size).toBe(28);
    // No entry is anything else than a reservation or a plain end of one.
    const strange = readBooks(store.file).entries.filter(
      ({ kind, flags }) => flags !== '' || !['credit', 'reserve', 'post'].includes(kind),
    );
    expect(strange).toEqual([]);
    expect((await houses[0]?.balance())?.used).toBeCloseTo(each * (running.length + 1), 9);
    const audit = await houses[0]?.gateway.verb('audit');
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  } finally {
    clock.mockRestore();
    for (const harness of houses) await harness.close();
  }
}
