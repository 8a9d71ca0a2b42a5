/** The audit of budgets finds a ledger that was tampered with. */
import { expect, it, onTestFinished } from 'vitest';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { createBudget, newBudget } from '../contract/made-budgets.ts';
import { openAccount, quote, settlement } from './calls.ts';
import { openTemporary, withDatabase, type OpenedFile } from './ledger-file.ts';

const at = Date.parse('2026-11-22T12:00:00Z');
/** A budget of 100 a day, of which one call has used 30 and another holds 60; and a soft one for all time. */
async function openBooks(): Promise<OpenedFile> {
  const opened = await openTemporary();
  onTestFinished(() => opened.dispose());
  const { store } = opened;
  await openAccount(store, 'a', 1000n);
  await createBudget(store, newBudget('a', 100n));
  await createBudget(store, newBudget('a', 5n, { per: 'total', hard: false }));
  for (const [id, amount] of [
    ['ended', 40n],
    ['running', 60n],
  ] as const)
    await store.reserve({ id, account: 'a', key: 'k', quotes: [quote(amount)], at });
  await store.settle(settlement('ended', 30n));
  return opened;
}

async function auditAfter(file: string, statement: string) {
  withDatabase(file, (database) => database.exec(`DROP TRIGGER entries_stay; ${statement}`));
  const fresh = await openSqlite({ file });
  const { ok, findings } = await fresh.audit();
  await fresh.close();
  return { ok, findings: findings.map(({ rule, message }) => `${rule} ${message}`) };
}

it('an audit finds nothing wrong with budgets that only the store wrote, and reads them once', async () => {
  const { store } = await openBooks();
  expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
  await store.settle(settlement('running', 61n));
  expect(await store.audit()).toMatchObject({ ok: true, entries: 6, findings: [] });
});

it('a continuing audit finds later changes, until they are repaired', async () => {
  const { store, file } = await openBooks();
  const change = (by: number): void =>
    withDatabase(file, (database) =>
      database.exec(`UPDATE budget_periods SET used = used + ${by} WHERE budget = 1`),
    );
  expect(await store.audit()).toMatchObject({ ok: true });
  await store.settle(settlement('running', 60n));
  change(1);
  for (const _ of [1, 2])
    expect(await store.audit()).toMatchObject({ ok: false, entries: 5, findings: [{ rule: 'I10' }] });
  change(-1);
  expect(await store.audit()).toMatchObject({ ok: true, findings: [] });
});

it.each([
  [
    'sums that are not those of its entries',
    'UPDATE budget_periods SET used = used - 5 WHERE budget = 1',
    new RegExp(
      '^I10 budget 1 keeps 0\\.000000025 used and 0\\.00000006 reserved since 2026-11-22.*, ' +
        'and its entries sum to 0\\.00000003 used',
    ),
  ],
  [
    'a period that is not kept',
    'DELETE FROM budget_periods WHERE budget = 2',
    /^I10 entries count in the period 2 0 of a budget, which is not kept/,
  ],
  [
    'a call in a period that it was not reserved in',
    'UPDATE budget_periods SET ends = start + 1000 WHERE budget = 1',
    /^I10 budget 1 counts calls that were not reserved in its period from 2026-11-22/,
  ],
  [
    'the end of a call that counts in other budgets than its reservation',
    "UPDATE entries SET budgets = NULL WHERE kind = 'post'",
    /^I10 it does not count in the budgets in which its call was reserved/,
  ],
  [
    'a reservation that exceeds what a hard budget allowed',
    `UPDATE entries SET budgets = replace(budgets, '"100"', '"99"') WHERE call = 'running'`,
    /^I11 it makes 0\.0000001 in budget 1, which allowed 0\.000000099/,
  ],
])('an audit finds %s', async (_, statement, message) => {
  const { file } = await openBooks();
  const { ok, findings } = await auditAfter(file, statement);
  expect(ok).toBe(false);
  expect(findings).toContainEqual(expect.stringMatching(message));
});
