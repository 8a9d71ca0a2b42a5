/**
 * Gateways that are killed under load, one after the other on one ledger, beside one that lives. The provider
 * and the clients keep journals of their own, and the test compares the ledger with both.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import type { Entry, Store } from '../../plugins/meters/balance/store.ts';
import { postJson } from '../support/post.ts';
import {
  computeCost,
  expectSoundLedger,
  listEntries,
  model,
  openJournalled,
  rates,
  type Made,
  type Served,
} from './journalled.ts';

interface KillsOptions {
  readonly cycles: number;
  /** How many streams run at once in the one that is killed, and in the one that lives. */
  readonly streams: number;
  readonly living: number;
  /** Milliseconds a gateway runs under load at most before it is killed. */
  readonly longest: number;
  /** Seconds of its lease. */
  readonly lease: number;
  /** Returns a whole number below its argument. */
  draw(below: number): number;
}

/** Waits until nothing of an owner is pending except what this allows. */
async function waitForResolution(store: Store, isNew: (call: string) => boolean): Promise<number> {
  const began = performance.now();
  for (;;) {
    const pending = await store.listPending({ limit: 10_000 });
    if (pending.every(({ call }) => isNew(call))) return performance.now() - began;
    if (performance.now() - began > 120_000)
      throw new Error(`${pending.length} reservations of the dead are still pending`);
    await sleep(50);
  }
}

/** Returns, too, how many milliseconds after each restart no call of the dead process was pending. */
export async function runKills({ cycles, streams, living, longest, lease, draw }: KillsOptions) {
  const { start, call, store, journal, close } = await openJournalled({ lease });
  const [victims, survivors]: [Made[], Made[]] = [[], []];
  const over = new AbortController();
  const resolvedAfter: number[] = [];
  const survivor = await start();
  const surviving = Array.from({ length: living }, async (_, lane) => {
    for (let turn = 0; !over.signal.aborted; turn += 1)
      await call(survivor, `living-${lane}-${turn}`, 30 + draw(100), survivors);
  });
  try {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const before = new Set(
        (await store.listPending({ limit: 10_000 }))
          .filter(({ owner }) => !owner.startsWith(`${survivor.child.pid}-`))
          .map((pending) => pending.call),
      );
      const gateway = await start();
      const resolving = waitForResolution(store, (pending) => !before.has(pending));
      const running = Array.from({ length: streams }, (_, index) =>
        call(gateway, `${cycle}-${index}`, draw(200), victims),
      );
      await sleep(200 + draw(longest - 200));
      // A busy machine may not have begun any; each is killed in the middle of some.
      const mine = victims.slice(-streams);
      while (!mine.some(({ words, done }) => words > 0 && !done) && !mine.every(({ done }) => done))
        await sleep(20);
      if (before.size > 0) resolvedAfter.push(await resolving);
      else await resolving;
      await gateway.stop('SIGKILL');
      await Promise.all(running);
    }
    const last = await start();
    over.abort();
    await Promise.all(surviving);
    resolvedAfter.push(await waitForResolution(store, () => false));
    await Promise.all([last.stop('SIGTERM'), survivor.stop('SIGTERM')]);
    return { resolvedAfter, ...(await expectJustLedger(store, journal, victims, survivors)) };
  } finally {
    await close();
  }
}

/** Compares the ledger with what clients and provider know; returns what there was to compare. */
async function expectJustLedger(
  store: Store,
  journal: ReadonlyMap<string, Served>,
  victims: readonly Made[],
  survivors: readonly Made[],
) {
  const entries = await listEntries(store);
  const charged = new Map<string, bigint>();
  const flagged = new Set<string>();
  for (const { call, revenue, flags, kind } of entries) {
    if (call === undefined || kind === 'reserve') continue;
    charged.set(call, (charged.get(call) ?? 0n) + revenue);
    if (flags.includes('recovered')) flagged.add(call);
  }
  const everyone = [...victims, ...survivors];
  const wrong = everyone.filter(
    ({ done, id = '', marker }) => done && charged.get(id) !== computeCost(journal.get(marker)?.words ?? 0),
  );
  const cut = everyone.filter(({ done, id }) => !done && id !== undefined);
  // An estimate counts a token for four bytes of the prompt's whole JSON, and the provider's own count is
  // less.
  const computeMost = (words: number): bigint =>
    computeCost(words) + BigInt(100 * rates.input) + BigInt(Math.ceil((words * 5) / 4) * rates.output);
  const overcharged = cut.filter(
    ({ id = '', marker }) =>
      (charged.get(id) ?? -1n) < 0n || (charged.get(id) ?? 0n) > computeMost(journal.get(marker)?.words ?? 0),
  );
  const posts = new Map(
    entries.flatMap(({ kind, key = '', reason, revenue }) =>
      kind === 'post' ? [[key, { reason, revenue }]] : [],
    ),
  );
  const forgotten = everyone.filter(
    ({ key, marker }) => journal.has(marker) && (posts.get(key)?.revenue ?? 0n) === 0n,
  );
  const madeUp = everyone.filter(({ key, marker }) => {
    const post = posts.get(key);
    return (
      post &&
      !journal.has(marker) &&
      (post.reason !== 'presumed_sent' || post.revenue > BigInt(100 * rates.input))
    );
  });
  const posted = new Map<string, unknown>();
  for (const { kind, key = '' } of entries)
    if (kind === 'reserve') posted.set(key, { key, calls: 1n, cost: posts.get(key)?.revenue ?? 0n });
  const kept = await store.readTables({
    name: 'spending',
    sql: `SELECT key, count(*) AS calls, sum(cost) AS cost FROM plugin_spending_calls GROUP BY key`,
  });
  const unlike = new Set(posted.keys());
  for (const row of kept) {
    const key = String(row.key);
    if (isDeepStrictEqual({ ...row }, posted.get(key))) unlike.delete(key);
    else unlike.add(key);
  }
  const touched = survivors.filter(({ done, id = '' }) => !done || flagged.has(id));
  const listMarkers = (calls: readonly Made[]): string[] => calls.map(({ marker }) => marker);
  expect({
    // Complete for their client, and their entry differs from the cost of the provider's usage.
    wrong: listMarkers(wrong),
    // Of dead gateways, and charged less than nothing or more than the provider had sent.
    overcharged: listMarkers(overcharged),
    // The provider received them and no account was charged, whenever their gateway was killed.
    forgotten: listMarkers(forgotten),
    // Charged for though the provider did not receive them, except those that count as sent: these cost
    // their input.
    madeUp: listMarkers(madeUp),
    // Keys for which a plugin's own tables, written with the entries, say anything else than the entries.
    unlike: [...unlike],
    // Of the living gateway: another took it for dead, or they were not completed.
    touched: listMarkers(touched),
  }).toEqual({ wrong: [], overcharged: [], forgotten: [], madeUp: [], unlike: [], touched: [] });
  // Every request to the provider was reserved before.
  const reserved = entries.filter(({ kind }) => kind === 'reserve').length;
  expect(reserved).toBeGreaterThanOrEqual(journal.size);
  await expectSoundLedger(store);
  return {
    completed: everyone.filter(({ done }) => done).length,
    recovered: flagged.size,
    asked: journal.size,
    /** Those whose gateway sent no heartbeat after it had reserved. */
    presumed: entries.filter(({ reason }) => reason === 'presumed_sent').length,
  };
}

/** `asked`: the keys, each of one call, with which the dearer model was asked. */
function isCallWrong(entries: readonly Entry[], asked: ReadonlySet<string>): boolean {
  const [end, ...others] = entries.filter(({ kind, reason }) => kind !== 'reserve' && reason !== 'extended');
  const last = entries.findLast(({ kind }) => kind === 'reserve');
  if (!end || !last || others.length > 0 || end.revenue > last.reserved) return true;
  if (entries.reduce((sum, { reserved }) => sum + reserved, 0n) !== 0n) return true;
  return asked.has(end.key ?? '') && end.revenue === 0n;
}

/**
 * Gateways that are killed while many calls turn to a dearer fallback at once, each when the provider has
 * received the dearer request of a few: the others reserve more, or wait to. Expects each call to have one
 * end, and to be charged no more than was reserved and no less than was sent.
 */
export async function expectExtensionsKilled(cycles: number, calls: number): Promise<void> {
  const asked = new Set<string>();
  let enough = Promise.withResolvers<void>();
  let left = 0;
  const { start, store, vendor, close } = await openJournalled({ lease: 1 });
  vendor.conduct((response, _, body) => {
    if (body.includes('"gpt-4.1-mini"')) return void response.writeHead(503).end();
    asked.add(/call-of-([\w-]+)/.exec(body)?.[1] ?? '');
    left -= 1;
    if (left === 0) enough.resolve();
  });
  try {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      [left, enough] = [Math.ceil(calls / 4), Promise.withResolvers<void>()];
      const gateway = await start();
      const running = Array.from({ length: calls }, async (__, index) => {
        const key = await issueKey(store, { name: `${cycle}-${index}`, account: 'a' });
        const content = `call-of-${key?.id}`;
        const fields = { model, max_tokens: 500, provider: { fallback: ['openai/gpt-4.1'] } };
        await postJson(
          `${gateway.url}/v1/chat/completions`,
          { ...fields, messages: [{ role: 'user', content }] },
          { authorization: `Bearer ${key?.secret}` },
        ).catch(() => undefined);
      });
      await enough.promise;
      await gateway.stop('SIGKILL');
      await Promise.all(running);
    }
    const last = await start();
    await waitForResolution(store, () => false);
    await last.stop('SIGTERM');
    const entries = (await listEntries(store)).filter(({ call }) => call !== undefined);
    const each = [...Map.groupBy(entries, ({ call = '' }) => call)];
    expect(each.flatMap(([call, own]) => (isCallWrong(own, asked) ? [call] : []))).toEqual([]);
    expect(each).toHaveLength(cycles * calls);
    // The provider has received the dearer request of a quarter.
    const extended = entries.filter(({ reason }) => reason === 'extended').length;
    expect(extended).toBeGreaterThanOrEqual(cycles * Math.ceil(calls / 4));
    await expectSoundLedger(store);
  } finally {
    await close();
  }
}
