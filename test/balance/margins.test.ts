/** Roll-ups know what was charged above the vendors' bills, and the audit finds a wrong sum. */
import { expect, it } from 'vitest';
import type { OverviewQuery, Store } from '../../plugins/meters/balance/store.ts';
import { sumUpAll } from '../contract/sum-up-all.ts';
import { openAccount, newKey, quote, settlement } from './calls.ts';
import { ledgers } from './postgres-database.ts';

const hour = 3_600_000;

/** Calls charged above, below and at the vendor's bill, in several hours; the last is beyond the roll-ups. */
async function makeCalls(store: Store): Promise<void> {
  await openAccount(store, 'a', 1000n);
  await store.createKey(newKey('aaaaaaaaaaaa0001', 'a'));
  for (const [index, vendor] of [5n, 12n, undefined, 10n, 4n].entries()) {
    if (index === 4) await sumUpAll(store);
    const at = 1 + Math.floor(index / 2) * hour;
    const id = `call-${index}`;
    await store.reserve({ id, account: 'a', key: 'aaaaaaaaaaaa0001', quotes: [quote(10n)], at });
    // The first owes more than it reserved.
    await store.settle(settlement(id, index === 0 ? 14n : 10n, { at, vendor }));
  }
}

const query: OverviewQuery = { from: 0, to: 10 * hour, by: 'model', unit: '1h', top: 5 };

async function listMargins(store: Store): Promise<string[]> {
  const [all, own] = [await store.sumCalls(query), await store.sumCalls({ ...query, account: 'a' })];
  return [all, own].map((rows) => rows.map(({ start, margin }) => `${start / hour}: ${margin}`).join(', '));
}

it.each(ledgers)('roll-ups of %s sum up margins, and the audit finds one that is wrong', async (_, open) => {
  const { store, another, run, dispose } = await open();
  await makeCalls(store);
  expect(await listMargins(store)).toEqual(['0: 7, 1: 0, 2: 6', '0: 7, 1: 0, 2: 6']);

  const [before, after] = [await another(), await another()];
  expect(await before.audit()).toMatchObject({ ok: true, findings: [] });
  await run("UPDATE series_sums SET margin = margin + 1 WHERE dimension = 'provider' AND start = 0");
  const { findings } = await after.audit();
  expect(findings.map((each) => JSON.stringify(each)).join()).toContain('margin 0.000000008');
  for (const each of [before, after]) await each.close();
  await dispose();
});
