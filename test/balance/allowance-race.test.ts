/** Four processes credit allowances at the same moments, and each month is credited once. */
import { expect, it } from 'vitest';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { startProcess } from './allowance-race.ts';
import { price } from './calls.ts';
import { openTemporary } from './ledger-file.ts';
import { openFresh } from './postgres-database.ts';

const zone = 'Europe/Berlin';
/** First moments in Berlin: both changes of the clocks are between them, and so is 29 February. */
const firsts = [
  '2028-01-31T23:00:00Z',
  '2028-02-29T23:00:00Z',
  '2028-03-31T22:00:00Z',
  '2028-10-31T23:00:00Z',
  '2028-11-30T23:00:00Z',
].map((text) => Date.parse(text));

async function openAccounts(store: Store): Promise<string[]> {
  const accounts = ['a', 'b', 'c'];
  await store.definePrice(price);
  for (const [index, account] of accounts.entries()) {
    await store.createAccount({ name: account, at: 1 });
    const allowance = { amount: 3n, zone, mode: index === 0 ? ('reset' as const) : ('add' as const) };
    await store.setTerms({ account, changes: { allowance }, at: Date.parse('2028-01-10T12:00:00Z') });
  }
  return accounts;
}

it.each([
  ['SQLite', openTemporary],
  ['PostgreSQL', openFresh],
] as const)(
  'an allowance in %s is credited once by four processes, whatever the month',
  { timeout: 120_000 },
  async (_, open) => {
    const opened: Awaited<ReturnType<typeof openTemporary | typeof openFresh>> = await open();
    const { store } = opened;
    const accounts = await openAccounts(store);
    const [kind, address] = 'file' in opened ? ['sqlite', opened.file] : ['postgres', opened.url];
    const processes = await Promise.all([1, 2, 3, 4].map(() => startProcess(kind, address)));
    const reserved: number[] = [];
    for (const [month, at] of firsts.entries()) {
      const lived = processes.map((each, index) =>
        each.live({ name: `${month}-${index}`, at: at + index, accounts }),
      );
      reserved.push((await Promise.all(lived)).reduce((sum, count) => sum + count, 0));
    }
    await Promise.all(processes.map((each) => each.close()));
    for (const account of accounts) {
      const credits = await store.listEntries({ account, kinds: ['credit'], limit: 100 });
      const periods = credits.filter(({ source }) => source === 'allowance').map(({ period }) => period);
      expect(periods.slice(1)).toEqual(firsts);
    }
    // A call of each process: the account that is reset pays three a month. The others have what is left of
    // January too, of which a fourth call takes one a month.
    expect(reserved).toEqual([11, 11, 11, 9, 9]);
    expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
    await opened.dispose();
  },
);
