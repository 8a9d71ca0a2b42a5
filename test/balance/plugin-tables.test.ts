/** Data that a plugin keeps in the ledger's database, through the host that it receives. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { definePlugin, type CallStatements, type Tables } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openBooks } from '../support/books.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

it('a plugin finds what it wrote before the gateway started again', async () => {
  const folder = makeFolder();
  let tables: Tables | undefined;
  const visits = definePlugin({
    name: 'visits',
    apply(host) {
      host.hooks.ready.tapPromise({ name: 'visits', stage: 10 }, async () => {
        const migrations = ['CREATE TABLE plugin_visits_days (day text PRIMARY KEY, count bigint NOT NULL)'];
        tables = await host.tables.get('ledger').open({ name: 'visits', migrations });
        const sql = `INSERT INTO plugin_visits_days (day, count) VALUES ($1, 1)
          ON CONFLICT (day) DO UPDATE SET count = plugin_visits_days.count + 1`;
        await tables.write([{ sql, values: ['2030-01-01'] }]);
      });
    },
  });
  for (const count of [1n, 2n]) {
    const gateway = await startGateway({
      dataFolder: folder,
      plugins: [visits(), balance({ firstCredit: '0' })],
    });
    expect(await tables?.read({ sql: 'SELECT * FROM plugin_visits_days' })).toEqual([
      { day: '2030-01-01', count },
    ]);
    await gateway.close();
  }
});

describe('a plugin that writes with calls', () => {
  const migrations = ['CREATE TABLE plugin_notes_calls (call text PRIMARY KEY, cost bigint)'];
  const begin = 'INSERT INTO plugin_notes_calls (call) VALUES ($1)';
  const end = 'UPDATE plugin_notes_calls SET cost = $2 WHERE call = $1';
  const wrong = { sql: 'INSERT INTO plugin_notes_nothing VALUES (1)' };
  const well: CallStatements = {
    reserve: ({ id }) => [{ sql: begin, values: [id] }],
    settle: ({ exchange }) => [{ sql: end, values: [exchange.id, 1] }],
  };
  const sound: CallStatements = {
    settle: ({ exchange }) => [{ sql: 'INSERT INTO plugin_sound_ends VALUES ($1)', values: [exchange.id] }],
  };
  let calls: CallStatements;
  let gateway: TestGateway;
  let store: Store;
  let key: string;

  const notes = definePlugin({
    name: 'notes',
    apply({ hooks, tables }) {
      hooks.ready.tapPromise({ name: 'notes', stage: 10 }, async () => {
        const store = tables.get('ledger');
        await store.open({
          name: 'notes',
          migrations,
          calls: {
            reserve: (planned) => calls.reserve?.(planned) ?? [],
            settle: (ended) => calls.settle?.(ended) ?? [],
          },
        });
        const ends = ['CREATE TABLE plugin_sound_ends (call text PRIMARY KEY)'];
        await store.open({ name: 'sound', migrations: ends, calls: sound });
      });
    },
  });

  beforeAll(async () => {
    gateway = await startGateway({ plugins: [bearer(), chatCompletions(), demo(), notes(), balance()] });
    ({ store, key } = await openBooks(gateway));
    await store.addCredit({
      account: 'tester',
      amount: 10n ** 9n,
      kind: 'bonus',
      reference: undefined,
      at: 1,
    });
  });
  afterAll(async () => {
    await store.close();
  });
  beforeEach(() => {
    calls = well;
  });

  async function call(): Promise<{
    status: number;
    text: string;
    kinds: string[];
    kept: unknown;
    ended: boolean;
  }> {
    const body = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] };
    const response = await postJson(`${gateway.url}/v1/chat/completions`, body, {
      authorization: `Bearer ${key}`,
    });
    const id = response.headers.get('x-request-id') ?? '';
    const entries = await store.listEntries({ call: id, limit: 9 });
    const sql = 'SELECT * FROM plugin_notes_calls WHERE call = $1';
    const [row] = await store.readTables({ name: 'notes', sql, values: [id] });
    const ends = await store.readTables({
      name: 'sound',
      sql: 'SELECT * FROM plugin_sound_ends WHERE call = $1',
      values: [id],
    });
    return {
      status: response.status,
      text: await response.text(),
      kinds: entries.map(({ kind }) => kind),
      kept: row && row.cost,
      ended: ends.length > 0,
    };
  }

  it('has its rows with the entries of the call', async () => {
    expect(await call()).toMatchObject({ status: 200, kinds: ['reserve', 'post'], kept: 1n, ended: true });
  });

  it('refuses the call if its statement fails with the reservation, and no client reads why', async () => {
    calls = { ...well, reserve: () => [wrong] };
    const { status, text, ...rest } = await call();
    expect([status, rest]).toEqual([500, { kinds: [], kept: undefined, ended: false }]);
    expect(text).not.toContain('notes');
    expect(gateway.log.join('')).toContain('a statement of the plugin with the tables \\"notes\\" failed');
  });

  it.each([
    ['its statement fails', () => [wrong]],
    ['a statement of it is for another table', () => [{ sql: 'DELETE FROM plugin_sound_ends' }]],
    [
      'it throws',
      () => {
        throw new Error('out of luck');
      },
    ],
  ])('is left out of the entry that ends a call if %s, and other plugins are not', async (_, settle) => {
    calls = { ...well, settle };
    const before = gateway.log.length;
    expect(await call()).toMatchObject({ status: 200, kinds: ['reserve', 'post'], kept: null, ended: true });
    const said = gateway.log.slice(before).filter((line) => line.includes('"plugin":"notes"'));
    expect(said).toHaveLength(1);
    expect(await store.audit()).toMatchObject({ ok: true, pending: 0 });
  });
});
