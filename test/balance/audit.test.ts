/**
 * The audit finds a ledger that was tampered with, reports each broken rule by its number, and names the
 * first rows.
 */
import { expect, it, onTestFinished } from 'vitest';
import type { AuditReport } from '../../plugins/meters/balance/audit.ts';
import { listCommands } from '../../plugins/meters/balance/operator/table.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { newKey, price, quote, settlement } from './calls.ts';
import { openTemporary, withDatabase, type OpenedFile } from './ledger-file.ts';

/**
 * A credit, a call that cost 30 of 80, one that cost 130 of 100, one that was voided and one that is running.
 */
async function openBooks(): Promise<OpenedFile> {
  const opened = await openTemporary();
  onTestFinished(() => opened.dispose());
  const { store } = opened;
  await store.definePrice(price);
  await store.createAccount({ name: 'a', at: 1 });
  await store.createKey(newKey('00000000000000a1', 'a'));
  await store.addCredit({ account: 'a', amount: 1000n, kind: 'top-up', reference: 'r', at: 1 });
  for (const [id, amount] of [
    ['cheap', 80n],
    ['dear', 100n],
    ['void', 50n],
    ['running', 10n],
  ] as const) {
    await store.reserve({ id, account: 'a', key: '00000000000000a1', quotes: [quote(amount)], at: 1 });
  }
  await store.settle(settlement('cheap', 30n));
  await store.settle(settlement('dear', 130n));
  await store.settle(settlement('void', undefined));
  return opened;
}

/** What an audit finds after someone with access to the file has done this to it. */
async function auditAfter(file: string, ...statements: string[]): Promise<AuditReport> {
  withDatabase(file, (database) => {
    database.exec(
      `DROP TRIGGER IF EXISTS entries_stay;
      DROP TRIGGER IF EXISTS entries_remain;
      PRAGMA ignore_check_constraints = ON`,
    );
    for (const statement of statements) database.exec(statement);
  });
  const fresh = await openSqlite({ file });
  const report = await fresh.audit();
  await fresh.close();
  return report;
}

const noOffer = {
  listModels: () => [],
  find: () => [],
  lookAtListings: () => Promise.resolve(),
  listProtocols: () => [],
};
const post = "kind = 'post' AND revenue = 30";

it('an audit finds nothing wrong with a ledger that only the store wrote', async () => {
  const { store } = await openBooks();
  expect(await store.audit()).toEqual({
    ok: true,
    entries: 9,
    accounts: 1,
    pending: 1,
    broken: 0,
    findings: [],
  });
});

it.each<[rule: string, what: string, statements: string[], message: RegExp]>([
  [
    'I1',
    'legs that do not sum to zero',
    [`UPDATE entries SET available = available + 1 WHERE ${post}`],
    /its legs sum to 1/,
  ],
  [
    'I2',
    'an account whose sums are not its entries',
    ['UPDATE accounts SET used = used - 5'],
    /its used is kept as 0\.000000155, and its entries sum to 0\.00000016/,
  ],
  ['I2', 'a key whose spending is not its entries', ['UPDATE keys SET used = 0'], /its key 00000000000000a1/],
  [
    'I3',
    'more reserved than was there',
    [
      "UPDATE entries SET credits = -100, available = 100 WHERE kind = 'credit'",
      'UPDATE accounts SET total = 100',
    ],
    /reserves .* more than the account has/,
  ],
  [
    'I3',
    'more posted than was reserved',
    [`UPDATE entries SET revenue = 90, available = -10 WHERE ${post}`],
    /posts 0\.00000009 of 0\.00000008 reserved/,
  ],
  [
    'I4',
    'a reservation that is lost',
    ['DELETE FROM pending'],
    /the reservation of running has no end and is not pending/,
  ],
  [
    'I4',
    'a reservation that is pending and has ended',
    [
      `INSERT INTO pending (call, number, account, amount, owner, created)
        SELECT call, number, account, 80, 'o', 1 FROM entries WHERE call = 'cheap' AND kind = 'reserve'`,
    ],
    /cheap is kept as pending/,
  ],
  [
    'I5',
    'a call that was posted twice',
    [
      'DROP INDEX one_end',
      `INSERT INTO entries (kind, account, at, available, reserved, revenue, call, key, reservation, reason)
        SELECT kind, account, at, available, reserved, revenue, call, key, reservation, reason
        FROM entries WHERE ${post}`,
    ],
    /a post of cheap, whose reservation is not open/,
  ],
  [
    'I6',
    'an end that does not say why',
    ["UPDATE entries SET reason = NULL WHERE kind = 'void'"],
    /a void that does not say why/,
  ],
  [
    'I7',
    'a post that nothing was reserved for',
    [
      `INSERT INTO entries (kind, account, at, available, revenue, reservation, reason)
        VALUES ('post', 1, 1, -5, 5, 999, 'completed')`,
    ],
    /a post without a reservation/,
  ],
  [
    'I8',
    'a charge that is not what the usage costs',
    [`UPDATE entries SET usage = '{"input":29,"output":0}' WHERE ${post}`],
    /its usage costs 0\.000000029 and 0\.00000003 was charged/,
  ],
  [
    'I8',
    'an overage that is not the rest of the cost',
    ["UPDATE entries SET revenue = 31, available = -31 WHERE kind = 'overage'"],
    /the call cost 0\.00000013, and 0\.000000131 was charged/,
  ],
  ['I8', 'an unknown price', ['DELETE FROM prices'], /its price "price-1" is not on record/],
  [
    'I8',
    'a price whose rate is no amount',
    ["UPDATE prices SET rates = json_set(rates, '$.cacheRead', 'free')"],
    /its price "price-1" is not on record/,
  ],
  [
    'I8',
    'a price with a tier that lacks a rate',
    [`UPDATE prices SET rates = json_set(rates, '$.tiers', json('[{"above":5,"input":"1"}]'))`],
    /its price "price-1" is not on record/,
  ],
  [
    'I8',
    'usage that is no count',
    [`UPDATE entries SET usage = '{"input":-30}' WHERE ${post}`],
    /its usage cannot be read/,
  ],
  [
    'I9',
    'a total that changed by something that is no credit',
    [`UPDATE entries SET credits = -1, available = available + 1 WHERE ${post}`],
    /a post moves credits/,
  ],
])('an audit %s: finds %s', async (rule, _, statements, message) => {
  const { file } = await openBooks();
  const { ok, broken, findings } = await auditAfter(file, ...statements);
  expect(ok).toBe(false);
  expect(broken).toBeGreaterThan(0);
  expect(findings).toContainEqual(expect.objectContaining({ rule, message: expect.stringMatching(message) }));
});

it('an audit lists the first of very many findings, and counts them all', async () => {
  const { store, file } = await openBooks();
  await Promise.all(
    Array.from({ length: 80 }, (_, index) =>
      store.reserve({ id: `r${index}`, account: 'a', key: 'k', quotes: [quote(1n)], at: 1 }),
    ),
  );
  const { broken, findings } = await auditAfter(file, 'DELETE FROM pending');
  expect([broken, findings.length]).toEqual([81, 50]);
});

it('an audit reads a long ledger in parts, so that other reports do not wait for it', async () => {
  const { store, file } = await openBooks();
  const calls = 24_000;
  for (let made = 0; made < calls; made += 2000) {
    await Promise.all(
      Array.from({ length: 2000 }, (_, index) =>
        store.reserve({ id: `long-${made + index}`, account: 'a', key: 'k', quotes: [quote(0n)], at: 1 }),
      ),
    );
  }
  const reader = await openSqlite({ file });
  const order: string[] = [];
  const audited = reader.audit().then((report) => (order.push('audit'), report));
  await reader.sumTotals();
  order.push('totals');
  expect(await audited).toMatchObject({ ok: true, entries: 9 + calls, pending: 1 + calls });
  expect(order).toEqual(['totals', 'audit']);
  await reader.close();
});

it('an audit reads one snapshot of the ledger while another process writes', async () => {
  const { store, file } = await openBooks();
  const other = await openSqlite({ file });
  const written = new AbortController();
  const write = async (): Promise<void> => {
    for (let index = 0; !written.signal.aborted; index += 1) {
      await other.reserve({
        id: `w${index}`,
        account: 'a',
        key: '00000000000000a1',
        quotes: [quote(3n)],
        at: 1,
      });
      await other.settle(settlement(`w${index}`, 2n));
    }
  };
  const writing = write();
  let seen = 0;
  for (let round = 0; round < 20; round += 1) {
    const report = await store.audit();
    expect(report).toMatchObject({ ok: true, findings: [] });
    seen = report.entries;
  }
  written.abort();
  await writing;
  await other.close();
  expect(seen).toBeGreaterThan(9);
});

it('tollgate audit prints findings as lines and as JSON, and exits with 1 if there are any', async () => {
  const { file } = await openBooks();
  const [verb] = listCommands(() => openSqlite({ file }), {
    offer: noOffer,
    erase: async () => undefined,
  }).filter(({ name }) => name === 'audit');
  expect(await verb?.run([], {}, () => undefined)).toMatchObject({
    text: 'The books are sound: 9 entries of 1 account, 1 reservation pending.',
    json: { ok: true },
    failed: false,
  });
  withDatabase(file, (database) => database.exec('UPDATE accounts SET total = 7'));
  const result = await verb?.run([], {}, () => undefined);
  expect(result).toMatchObject({
    failed: true,
    json: { ok: false, findings: [{ rule: 'I2', account: 'a' }, { rule: 'I9' }] },
  });
  expect(result?.text.split('\n')).toEqual([
    'The books break 2 rules: 9 entries of 1 account, 1 reservation pending.',
    'I2  a  its total is kept as 0.000000007, and its entries sum to 0.000001',
    'I9  a  its balance is not its total less what was used',
  ]);
});
