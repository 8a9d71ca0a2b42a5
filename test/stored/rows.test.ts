/** Stored responses in both databases: they come back equal, expire, stay within limits, and are sealed. */
import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Tables } from '../../core/index.ts';
import { PluginTables } from '../../plugins/meters/balance/plugin-tables.ts';
import { Keeper } from '../../plugins/protocols/responses/keeper.ts';
import { buildPage } from '../../plugins/protocols/responses/stored-routes.ts';
import {
  computeSize,
  conversationState,
  declaration,
  eraseAccount,
  largest,
  Stored,
  type Entry,
  type Limits,
} from '../../plugins/protocols/responses/stored.ts';
import { KeyRing } from '../../plugins/shared/key-ring.ts';
import { ledgers } from '../balance/postgres-database.ts';
import type { OpenedStore } from '../contract/books.ts';

const plenty = { responses: 1000, bytes: 1e9 };
const hour = 3_600_000;
const logger = pino({ enabled: false });

describe.each(ledgers)('responses in the tables of a %s ledger', (_, open) => {
  let opened: OpenedStore;
  let tables: Tables;
  const key = randomBytes(32);
  beforeEach(async () => {
    opened = await open();
    tables = await new PluginTables(() => opened.store, logger).open(declaration);
  });
  afterEach(async () => {
    vi.useRealTimers();
    await opened.dispose();
  });

  function openStored(limits: Partial<Limits> = {}, keys = [key]): Stored {
    const ring = new KeyRing(keys);
    return new Stored(tables, () => ring, { age: hour, perAccount: plenty, inAll: plenty, ...limits });
  }

  function makeEntry(account: string, id: string, text = 'calm'): Entry {
    const [request, reply] = [JSON.stringify({ input: text }), JSON.stringify({ id, output: [] })];
    return { account, id, state: 'completed', bytes: computeSize(request, reply, []), request, reply };
  }

  /** Keeps a response as the end of a call does, and waits for the limits. */
  async function keepInLimits(keeper: Keeper, stored: Stored, entry: Entry): Promise<void> {
    await keeper.guard(entry.account, entry.id, entry.bytes, () => stored.keep(entry, []));
    // Responses of one millisecond go together.
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }

  async function listKept(stored: Stored, account: string, ids: readonly string[]): Promise<string[]> {
    const found = await Promise.all(ids.map((id) => stored.find(account, id)));
    return ids.filter((__, index) => found[index] !== undefined);
  }

  it('come back equal, whatever was said, and only with their key', async () => {
    const stored = openStored();
    const text = fc.string({ unit: 'binary' });
    await fc.assert(
      fc.asyncProperty(text, text, fc.array(text, { maxLength: 5 }), async (request, reply, texts) => {
        const id = `resp_${randomBytes(8).toString('hex')}`;
        const items = texts.map((each, index) => ({ id: `msg_${index}`, text: each }));
        await stored.keep({ ...makeEntry('ada', id), request: Buffer.from(request), reply }, items);
        const found = await stored.find('ada', id);
        expect([await found?.readRequest(), found?.reply]).toEqual([
          Buffer.from(request).toString(),
          Buffer.from(reply).toString(),
        ]);
        const kept = await stored.listItems('ada', id);
        expect(kept).toEqual(
          items.map(({ text: each, ...item }) => ({ ...item, text: Buffer.from(each).toString() })),
        );
        expect(await openStored({}, [randomBytes(32)]).find('ada', id)).toBeUndefined();
        expect(await stored.find('bob', id)).toBeUndefined();
        await stored.drop('ada', id);
        expect(await stored.listItems('ada', id)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('are found by more ids than one query takes, and stay while they are used', async () => {
    const stored = openStored();
    const ids = Array.from({ length: 70 }, (__, index) => `msg_${index}`);
    vi.useFakeTimers({ toFake: ['Date'], now: 1e12 });
    await stored.keep(
      makeEntry('ada', 'resp_1'),
      ids.map((id) => ({ id, text: `"${id}"` })),
    );
    vi.setSystemTime(1e12 + hour * 0.9);
    const found = await stored.findItems('ada', [...ids, 'msg_none']);
    expect([...found.keys()].toSorted()).toEqual(ids.toSorted());
    vi.setSystemTime(1e12 + hour * 1.5);
    await expect.poll(async () => (await stored.findItems('ada', ['msg_7'])).get('msg_7')).toBe('"msg_7"');
    vi.setSystemTime(1e12 + hour * 3);
    expect(await stored.find('ada', 'resp_1')).toBeUndefined();
    expect(await stored.findItems('ada', ids)).toEqual(new Map());
    await stored.sweep();
    expect(await tables.read({ sql: 'SELECT item FROM plugin_responses_items' })).toEqual([]);
  });

  it.each([
    ['number', { responses: 10, bytes: 1e9 }],
    ['bytes', { responses: 1000, bytes: makeEntry('ada', 'resp_00').bytes * 10 }],
  ])(
    'are limited by the %s of an account, the oldest first, and other accounts keep theirs',
    async (__, most) => {
      const stored = openStored({ perAccount: most });
      const keeper = new Keeper(stored, { logger, metrics: new Registry() });
      const ids = Array.from({ length: 25 }, (___, index) => `resp_${String(index).padStart(2, '0')}`);
      await keepInLimits(keeper, stored, makeEntry('bob', 'resp_00'));
      for (const id of ids) await keepInLimits(keeper, stored, makeEntry('ada', id));
      await expect.poll(async () => (await listKept(stored, 'ada', ids)).length).toBeLessThanOrEqual(10);
      const kept = await listKept(stored, 'ada', ids);
      expect(kept.length).toBeGreaterThanOrEqual(8);
      expect(kept).toEqual(ids.slice(-kept.length));
      expect(await listKept(stored, 'bob', ['resp_00'])).toEqual(['resp_00']);
      keeper.close();
    },
  );

  it('are limited in all, across accounts', async () => {
    const stored = openStored({ inAll: { responses: 4, bytes: 1e9 } });
    const keeper = new Keeper(stored, { logger, metrics: new Registry() });
    for (const account of ['ada', 'bob', 'cid', 'dan', 'eve', 'fay'])
      await keepInLimits(keeper, stored, makeEntry(account, 'resp_1'));
    await expect.poll(() => stored.find('bob', 'resp_1')).toBeUndefined();
    expect(await stored.find('fay', 'resp_1')).toBeDefined();
    keeper.close();
  });

  it('share their tables with conversations, which have a limit of their own', async () => {
    const stored = openStored();
    await stored.begin({ ...makeEntry('ada', 'conv_1'), state: conversationState });
    expect(await stored.addItems('ada', 'conv_1', [{ id: 'msg_1', text: '"one"' }])).toBe(true);
    expect(await stored.addItems('ada', 'conv_1', [{ id: 'msg_2', text: '"two"' }])).toBe(true);
    expect(await stored.listItems('ada', 'conv_1')).toEqual([
      { id: 'msg_1', text: '"one"' },
      { id: 'msg_2', text: '"two"' },
    ]);
    const half = { id: 'msg_3', text: 'x'.repeat(largest / 2) };
    expect(await stored.addItems('ada', 'conv_1', [half])).toBe(true);
    expect(await stored.addItems('ada', 'conv_1', [half])).toBe(false);
    expect(await stored.addItems('ada', 'conv_2', [half])).toBe(false);
    await stored.keep(makeEntry('ada', 'resp_1'), []);
    await stored.keep(makeEntry('bob', 'resp_1'), []);
    expect(await eraseAccount(tables, 'ada')).toBe(2);
    expect(await stored.listItems('ada', 'conv_1')).toEqual([]);
    expect(await stored.find('bob', 'resp_1')).toBeDefined();
  });

  it('end once when they run in the background, and a cancelled one stays cancelled', async () => {
    const stored = openStored();
    const running = { ...makeEntry('ada', 'resp_1'), state: 'queued', process: 'p' };
    expect([await stored.begin(running), await stored.begin(running)]).toEqual([true, false]);
    expect(await stored.beat('p')).toEqual([{ account: 'ada', id: 'resp_1', state: 'queued' }]);
    expect(await stored.advance('ada', 'resp_1', 'cancelled')).toBe(true);
    const items = [{ id: 'msg_1', text: '"late"' }];
    expect(await stored.finish({ ...running, state: 'completed' }, items)).toBe(false);
    expect([(await stored.find('ada', 'resp_1'))?.state, await stored.listItems('ada', 'resp_1')]).toEqual([
      'cancelled',
      [],
    ]);
  });
});

it('thousands of kept items are opened over several turns of the event loop', async () => {
  const ring = new KeyRing([randomBytes(32)]);
  const body = ring.sealText('responses msg_1', 'tester', zstdCompressSync('{}'));
  const rows = Array.from({ length: 4000 }, () => ({ item: 'msg_1', body }));
  const turns = [0];
  const getRing = (): KeyRing => {
    turns[0] = (turns[0] ?? 0) + 1;
    return ring;
  };
  const tables: Tables = { read: async () => rows, write: async () => [] };
  const stored = new Stored(tables, getRing, { age: hour, perAccount: plenty, inAll: plenty });
  const listed = stored.listItems('tester', 'conv_1');
  const watching = setInterval(() => turns.unshift(0), 0);
  try {
    expect(await listed).toEqual(rows.map(({ item: id }) => ({ id, text: '{}' })));
  } finally {
    clearInterval(watching);
  }
  expect(Math.max(...turns)).toBeLessThan(2000);
});

it('a kept item is listed as it was written, and none of its numbers is read by itself', () => {
  const [before, after] = ['{"type": "reasoning",', '"odd":[1.0,12345678901234567890,1e2,-0] }'];
  const visit = vi.spyOn(JSON, 'rawJSON');
  const { body } = buildPage([{ id: 'rs_1', text: before + after }], new URLSearchParams());
  expect(visit).not.toHaveBeenCalled();
  expect(body).toContain(`[{"id":"rs_1","type": "reasoning",${after}]`);
  expect(body).toContain('"first_id":"rs_1","last_id":"rs_1","has_more":false');
});
