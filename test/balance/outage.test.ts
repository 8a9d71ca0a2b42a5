/**
 * A ledger that goes down for a moment during running streams; `npm run faults` has the same for twenty
 * seconds.
 */
import type * as threads from 'node:worker_threads';
import { it, vi } from 'vitest';
import { troubles, type Trouble } from './database-outages.ts';
import { expectOutageSurvived } from './outage.ts';

vi.mock('node:worker_threads', async (original: () => Promise<typeof threads>) =>
  (await import('./disk-faults.ts')).wrapThreads(await original()),
);

const isSurvived = (kind: Trouble): Promise<void> => expectOutageSurvived(kind, 500, 8);

/** Outages that affect this whole process, and every SQLite ledger in it. */
const alone: readonly Trouble[] = ['full', 'read-only'];
const title = 'a database that is %s costs new calls a 503 to be tried again, and running ones nothing';

it.concurrent.each(troubles.filter((kind) => !alone.includes(kind)))(title, isSurvived);
it.each(alone)(title, isSurvived);
