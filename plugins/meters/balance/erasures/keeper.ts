/**
 * Erases what calls left behind, in small parts between which calls go on, and lets plugins erase theirs. An
 * erasure that a process began is continued by any other, and ends a while later: until then other processes
 * may still write what they held in memory.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isGatewayError, type Host, type Operations } from '../../../../core/index.ts';
import { eraseMarkups } from '../markups.ts';
import type { ErasureRecord, Store } from '../store.ts';

/** Calls and rows of one part: so few that writes of calls wait for milliseconds. */
const limit = 200;
/** Milliseconds between two parts, and between two looks for what has not ended. */
const pause = 5;
const lookEvery = 3000;
/** Milliseconds after which nothing about the erased can still be written. */
const settled = 8000;

export type EraseHook = Operations['erase'];

/** Returns false if it took longer than so many milliseconds: then it is to be continued. */
export async function eraseAll(
  store: Store,
  erase: EraseHook,
  { id, account, former, keys }: ErasureRecord,
  patience = Infinity,
): Promise<boolean> {
  const start = performance.now();
  for (let [after, isDone] = ['', false]; !isDone;) {
    if (performance.now() - start > patience) return false;
    ({ after, isDone } = await store.eraseSome({ id, after, limit, at: Date.now() }));
    await sleep(pause);
  }
  const isAccount = account !== undefined;
  if (isAccount && former !== undefined) await eraseMarkups(store, former);
  await erase({ account: isAccount ? former : undefined, holder: isAccount ? undefined : former, keys });
  return true;
}

async function runErasures(store: Store, erase: EraseHook): Promise<void> {
  for (const erasure of await store.listErasures({ running: true, limit: 100 })) {
    const isDone = await eraseAll(store, erase, erasure);
    if (isDone && Date.now() - erasure.created > settled)
      await store.endErasure({ id: erasure.id, at: Date.now() });
  }
}

/** Continues what has not ended; returns a function that stops it. */
export function keepErasing(store: Store, erase: EraseHook, logger: Host['logger']): () => void {
  let isBusy = false;
  const logFailure = (error: unknown): void => {
    // An outage of the ledger is logged elsewhere.
    const isOutage = isGatewayError(error) && error.code === 'ledger_unavailable';
    logger[isOutage ? 'debug' : 'warn']({ error }, 'something could not be erased; it is tried again');
  };
  const timer = setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    await runErasures(store, erase).catch(logFailure);
    isBusy = false;
  }, lookEvery).unref();
  return () => clearInterval(timer);
}
