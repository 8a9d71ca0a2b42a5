/**
 * A gateway whose ledger goes down while streams run: the replies to new calls, running ones and load
 * balancers, and what the ledger says afterwards.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditReport } from '../../plugins/meters/balance/audit.ts';
import { openStore } from '../../plugins/meters/balance/open-store.ts';
import { openHarness } from '../support/harness.ts';
import { createTroubledStore, type Trouble } from './database-outages.ts';

export interface OutageOptions {
  readonly kind: Trouble;
  readonly milliseconds: number;
  readonly streams: number;
}

export interface Outage {
  /** The status of a call that arrived meanwhile. */
  readonly refused: { readonly status: number; readonly retryAfter: string | null; readonly code: unknown };
  /** `GET /readyz` before, meanwhile and afterwards. */
  readonly ready: readonly number[];
  /** How many streams ended with their last event, and the longest wait of one for its end. */
  readonly whole: number;
  readonly longestWait: number;
  /** The USD that each stream states as its cost, in its last usage. */
  readonly stated: readonly number[];
  /** The USD that the streams should have cost, and the USD they did cost. */
  readonly due: number;
  readonly used: number;
  readonly audit: AuditReport;
}

const model = 'openai/gpt-4o-mini';
const wish = { headers: { 'x-tollgate-cost': 'reply' } };

/** The last cost in the usage of a stream; NaN without one. */
function readStatedCost(text: string): number {
  return Number([...text.matchAll(/"cost":"?([\d.]+)/g)].at(-1)?.[1]);
}

export async function runOutage({ kind, milliseconds, streams }: OutageOptions): Promise<Outage> {
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
    const answer: unknown = await late.json();
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
    return {
      refused: { status: late.status, retryAfter: late.headers.get('retry-after'), code: answer },
      ready: [before, meanwhile, await fetchReadiness()],
      whole: texts.filter(({ text }) => text.trimEnd().endsWith('data: [DONE]')).length,
      stated: texts.map(({ text }) => readStatedCost(text)),
      longestWait: Math.max(...texts.map(({ after }) => after)),
      due,
      used: await fetchUsed(),
      audit,
    };
  } finally {
    release();
    await harness.close();
    await store.close();
  }
}
