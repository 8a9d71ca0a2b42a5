/** The audit of terms finds allowances that were not agreed, that overlap, and debts that nothing limits. */
import { expect, it, onTestFinished } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { createBudget, newBudget } from '../contract/made-budgets.ts';
import { price, quote, settlement } from './calls.ts';
import { openTemporary, withDatabase, type OpenedFile } from './ledger-file.ts';

const at = Date.parse('2026-11-22T12:00:00Z');
const december = Date.parse('2026-12-01T00:00:00Z');

/** An allowance of 100 a month that is reset, of which 40 was used, and an account that owes 30. */
async function openBooks(): Promise<OpenedFile> {
  const opened = await openTemporary();
  onTestFinished(() => opened.dispose());
  const { store } = opened;
  await store.definePrice(price);
  for (const name of ['design', 'later']) await store.createAccount({ name, at: 1 });
  await store.setTerms({ account: 'design', changes: { allowance: { amount: 100n, mode: 'reset' } }, at });
  await createBudget(store, newBudget('later', 100n));
  await store.setTerms({ account: 'later', changes: { postpaid: true }, at });
  for (const [account, owed] of [
    ['design', 40n],
    ['later', 30n],
  ] as const) {
    await store.reserve({ id: account, account, key: 'k', quotes: [quote(owed)], at });
    await store.settle(settlement(account, owed, { at }));
  }
  await store.creditAllowances({ at: december, limit: 10 });
  return opened;
}

async function auditAfter(file: string, statement: string) {
  withDatabase(file, (database) => database.exec(`DROP TRIGGER entries_stay; ${statement}`));
  const fresh = await openSqlite({ file });
  const { ok, findings } = await fresh.audit();
  await fresh.close();
  return { ok, findings: findings.map(({ rule, message }) => `${rule} ${message}`) };
}

it('an audit finds nothing wrong with allowances and debts that only the store wrote', async () => {
  const { store } = await openBooks();
  expect(await store.audit()).toMatchObject({ ok: true, entries: 7, findings: [] });
});

const last = `period = ${december} AND credits < 0`;

it.each([
  ['an allowance that was never agreed', 'DELETE FROM account_terms', 'I13 an allowance that was not agreed'],
  [
    'an allowance of another amount than was agreed',
    `UPDATE entries SET credits = -101, available = 101 WHERE ${last}`,
    'I13 an allowance of 0.000000101, and 0.0000001 was agreed',
  ],
  [
    'terms that were agreed later than the allowance',
    'UPDATE account_terms SET since = 99 WHERE amount IS NOT NULL',
    'I13 an allowance that was not agreed',
  ],
  [
    'a second allowance for one month',
    `UPDATE entries SET period = ${Date.parse('2026-11-01T00:00:00Z')}, at = ${at} WHERE ${last}`,
    'I13 a second allowance for the same time',
  ],
  [
    'an allowance of another month than its moment',
    `UPDATE entries SET period = period - 1 WHERE ${last}`,
    'I13 it is not of the month in which an allowance is credited',
  ],
  [
    'a reset that takes more than was left',
    'UPDATE entries SET credits = 70, available = -70 WHERE period IS NOT NULL AND credits > 0',
    'I13 it takes back 0.00000007, and 0.00000006 was left of the last allowance',
  ],
  [
    'a reset that was not agreed',
    "UPDATE account_terms SET mode = 'add'",
    'I13 an allowance that was taken back, which was not agreed',
  ],
  [
    'a debt of an account that pays in advance',
    'UPDATE account_terms SET postpaid = 0',
    'I3 it reserves 0.00000003 more than the account has',
  ],
  [
    'a debt that no hard budget limits',
    "UPDATE entries SET budgets = NULL WHERE call = 'later'",
    'I3 it reserves 0.00000003 more than the account has',
  ],
])('an audit finds %s', async (_, statement, message) => {
  const { file } = await openBooks();
  const { ok, findings } = await auditAfter(file, statement);
  expect([ok, findings]).toEqual([false, expect.arrayContaining([message])]);
});
