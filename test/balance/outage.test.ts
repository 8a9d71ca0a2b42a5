/**
 * A ledger that goes down for a moment during running streams; `npm run faults` has the same for twenty
 * seconds.
 */
import type * as threads from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { troubles, type Trouble } from './database-outages.ts';
import { runOutage } from './outage.ts';

vi.mock('node:worker_threads', async (original: () => Promise<typeof threads>) =>
  (await import('./disk-faults.ts')).wrapThreads(await original()),
);

async function isSurvived(kind: Trouble): Promise<void> {
  const { refused, ready, whole, stated, due, used, audit } = await runOutage({
    kind,
    milliseconds: 500,
    streams: 8,
  });
  expect(refused).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
  expect(ready).toEqual([200, 503, 200]);
  expect(whole).toBe(8);
  expect(used).toBeCloseTo(due, 9);
  // A reply that ends before its entry is written states what the entry says in the end.
  for (const cost of stated) expect(cost).toBeCloseTo(due / (stated.length + 1), 9);
  expect(audit).toMatchObject({ ok: true, pending: 0, findings: [] });
}

/** Outages that affect this whole process, and every SQLite ledger in it. */
const alone: readonly Trouble[] = ['full', 'read-only'];
const title = 'a database that is %s costs new calls a 503 to be tried again, and running ones nothing';

it.concurrent.each(troubles.filter((kind) => !alone.includes(kind)))(title, isSurvived);
it.each(alone)(title, isSurvived);
