/**
 * How the databases find what a call needs: by an index, whatever the number of entries. So ten million
 * entries slow a reservation only by the few pages that make an index deeper.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { Client } from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { runSteps, type Query } from '../../plugins/meters/balance/postgres/connection.ts';
import { runWrites, type Write } from '../../plugins/meters/balance/sql/shared.ts';
import { openDatabase } from '../../plugins/meters/balance/sqlite/database.ts';
import { Statements } from '../../plugins/meters/balance/sqlite/statements.ts';
import type { OpenedStore } from '../contract/books.ts';
import { newBudget } from '../contract/made-budgets.ts';
import { request } from '../contract/store.ts';
import { newKey, price, settlement } from './calls.ts';
import { openTemporary, withDatabase } from './ledger-file.ts';
import { queryDatabase, openFresh } from './postgres-database.ts';

const key = '00000000000000a1';

/** An account with a team above it, a key, and a budget of each kind. */
async function fill({ store }: OpenedStore): Promise<void> {
  await store.definePrice(price);
  for (const name of ['a', 'top']) await store.createAccount({ name, at: 1 });
  await store.moveAccount({ account: 'a', parent: 'top' });
  await store.createKey(newKey(key, 'a', { spendCap: 900n, callsPerMinute: 100 }));
  await store.addCredit({ account: 'a', amount: 1000n, kind: 'bonus', reference: undefined, at: 1 });
  for (const [scope, subject] of [
    ['account', 'a'],
    ['team', 'top'],
    ['key', key],
    ['tag', 't'],
  ] as const)
    await store.createBudget(newBudget(subject, 500n, { scope, thresholds: [1] }));
}

const buildRequest = (id: string) =>
  request(id, 'a', { key, tags: ['t'], claim: { name: `claim ${id}`, fingerprint: 'f', expires: 9e15 } });

const reserve = (id: string): Write => ({ name: 'reserve', argument: buildRequest(id) });
const settle = (id: string): Write => ({ name: 'settle', argument: settlement(id, 8n) });

describe('a reservation and its end', () => {
  it('scan no table in SQLite, with budgets, a cap, a rate and a claim', async () => {
    const opened = await openTemporary();
    await fill(opened);
    const run = new Set<string>();
    const database = openDatabase(opened.file, 1000);
    const prepare = database.prepare.bind(database);
    vi.spyOn(database, 'prepare').mockImplementation((sql: string): StatementSync => {
      const statement = prepare(sql);
      for (const name of ['run', 'get', 'all'] as const) {
        const real = statement[name].bind(statement);
        Reflect.set(statement, name, (...values: SQLInputValue[]) => {
          run.add(sql);
          return real(...values);
        });
      }
      return statement;
    });
    const statements = new Statements(database);
    const reserved = { status: 'reserved' };
    expect(statements.run(runWrites('o', [reserve('first'), reserve('second')]))).toMatchObject([
      reserved,
      reserved,
    ]);
    for (const status of ['posted', 'already_posted'])
      expect(statements.run(runWrites('o', [settle('first')]))).toMatchObject([{ status }]);
    database.close();
    expect(run.size).toBeGreaterThan(15);
    const plans = withDatabase(opened.file, (other: DatabaseSync) =>
      [...run].flatMap((sql) =>
        other
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .map(({ detail }) => `${String(detail)}: ${sql.trim()}`),
      ),
    );
    // Whether there is any budget is read from one row.
    const scans = plans.filter(
      (plan) =>
        /^SCAN (entries|made|ended|pending|accounts|keys|root|claims|budget)/.test(plan) &&
        !plan.endsWith('LIMIT 1'),
    );
    expect(scans).toEqual([]);
    expect(plans.some((plan) => plan.includes('SEARCH entries') || plan.includes('SEARCH made'))).toBe(true);
    await opened.dispose();
  });

  it('send as many statements for an account with an allowance as for any other', async () => {
    const { file, store, dispose } = await openTemporary();
    const counts: number[] = [];
    for (const account of ['plain', 'allowed']) {
      await store.createAccount({ name: account, at: 1 });
      await store.addCredit({ account, amount: 100n, kind: 'bonus', at: 1 });
      const allowance = { amount: 5n };
      if (account === 'allowed') await store.setTerms({ account, changes: { allowance }, at: 900 });
      const database = openDatabase(file, 1000);
      const steps = runWrites('o', [{ name: 'reserve', argument: request(account, account) }]);
      let count = 0;
      const counted = (function* () {
        let step = steps.next();
        while (!step.done) {
          count += step.value.asked.length;
          step = steps.next(yield step.value);
        }
        return step.value;
      })();
      expect(new Statements(database).run(counted)).toMatchObject([{ status: 'reserved' }]);
      database.close();
      counts.push(count);
    }
    expect(counts[1]).toBe(counts[0]);
    await dispose();
  });

  it('scan no table in PostgreSQL, with budgets, a cap, a rate and a claim', async () => {
    const opened = await openFresh();
    await fill(opened);
    await opened.store.reserve(buildRequest('first'));
    await opened.store.reserve(buildRequest('second'));
    await opened.store.settle(settlement('second', 8n));
    const run: { readonly text: string; readonly values: readonly unknown[] }[] = [];
    const recordQuery: Query = async ({ text }, values = []) => {
      run.push({ text, values });
      return queryDatabase(opened.url, text, [...values]);
    };
    const answers = await runSteps(recordQuery, runWrites('o', [reserve('third'), settle('first')]));
    expect(answers).toMatchObject([{ status: 'reserved' }, { status: 'posted' }]);
    expect(run.length).toBeGreaterThan(12);
    const scans: string[] = [];
    for (const { text, values } of run) {
      const { rows } = await explainPlan(opened.url, text, values);
      for (const row of rows)
        if (/Seq Scan on (entries|pending|accounts|keys|claims|budget)/.test(row))
          scans.push(`${row.trim()}: ${text.trim()}`);
    }
    expect(scans).toEqual([]);
    await opened.dispose();
  });
});

/** The plan of a statement when the tables are large enough for an index to pay. */
async function explainPlan(
  url: string,
  text: string,
  values: readonly unknown[],
): Promise<{ rows: string[] }> {
  const address = new URL(url);
  address.searchParams.set('options', '-c enable_seqscan=off -c search_path=tollgate');
  const client = new Client({ connectionString: address.href });
  await client.connect();
  try {
    const { rows } = await client.query(`EXPLAIN (COSTS OFF) ${text}`, [...values]);
    return { rows: rows.map((row) => String(row['QUERY PLAN'])) };
  } finally {
    await client.end();
  }
}
