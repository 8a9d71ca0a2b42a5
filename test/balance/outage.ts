/**
 * A gateway whose ledger goes down while streams run: the replies to new calls, running ones and load
 * balancers, and what the ledger says afterwards.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { openStore } from '../../plugins/meters/balance/open-store.ts';
import { openHarness } from '../support/harness.ts';
import { createTroubledStore, type Trouble } from './database-outages.ts';

const model = 'openai/gpt-4o-mini';
const wish = { headers: { 'x-tollgate-cost': 'reply' } };

/** The last cost in the usage of a stream; NaN without one. */
function readStatedCost(text: string): number {
  return Number([...text.matchAll(/"cost":"?([\d.]+)/g)].at(-1)?.[1]);
}

/** Expects new calls to get a 503 to be tried again, and running ones to cost what they always do. */
export async function expectOutageSurvived(
  kind: Trouble,
  milliseconds: number,
  streams: number,
): Promise<void> {
  const store = await createTroubledStore(kind);
  const harness = await openHarness({ ledger: { store: store.options } });
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  try {
    const fetchReadiness = async (): Promise<number> => (await fetch(`${harness.gateway.url}/readyz`)).status;
    const body = {
      model,
      messages: [{ role: 'user', content: 'Hello!' }],
      stream: true,
      stream_options: { include_usage: true },
    };
    const before = await fetchReadiness();
    // What one of them costs, to compute what all of them should.
    await (await harness.post(body, wish)).text();
    const due = (await harness.balance()).used * (streams + 1);

    harness.vendor.script('gpt-4o-mini', { hold, holdAfter: 2 });
    const running = await Promise.all(Array.from({ length: streams }, () => harness.post(body, wish)));
    await store.begin();
    const returned = sleep(milliseconds);
    release();
    const began = performance.now();
    const ended = Promise.all(
      running.map(async (response) => ({ text: await response.text(), after: performance.now() - began })),
    );
    const late = await harness.post(body, wish);
    await late.text();
    // The call may be refused because of a connection that reads, before the one that writes fails.
    let meanwhile = await fetchReadiness();
    while (meanwhile === before) {
      await sleep(20);
      meanwhile = await fetchReadiness();
    }
    const texts = await ended;
    await returned;
    await store.end();

    const fetchUsed = async (): Promise<number> => (await harness.balance().catch(() => ({ used: -1 }))).used;
    while ((await fetchReadiness()) !== 200 || Math.abs((await fetchUsed()) - due) > 1e-9) await sleep(50);
    const ledger = await openStore(store.direct, '');
    const audit = await ledger.audit();
    await ledger.close();
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect([before, meanwhile, await fetchReadiness()]).toEqual([200, 503, 200]);
    expect(texts.filter(({ text }) => text.trimEnd().endsWith('data: [DONE]'))).toHaveLength(streams);
    // No stream waits for the ledger until it is back, where that takes long.
    if (milliseconds > 10_000)
      expect(Math.max(...texts.map(({ after }) => after))).toBeLessThan(milliseconds);
    expect(await fetchUsed()).toBeCloseTo(due, 9);
    // A reply that ends before its entry is written states what the entry says in the end.
    for (const { text } of texts) expect(readStatedCost(text)).toBeCloseTo(due / (streams + 1), 9);
    expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
  } finally {
    release();
    await harness.close();
    await store.close();
  }
}
