/** When the plugins of delivery see a cause for a notice, and when not, without waiting for their ticks. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { GatewayError, type Documents, type Host, type Notice } from '../../core/index.ts';
import { slack } from '../../plugins/channels/slack.ts';
import { createKeySecret } from '../../plugins/meters/balance/keys.ts';
import { AccountWatch, noticeOptions } from '../../plugins/meters/balance/notices.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { formatSource } from '../../plugins/operations/catalogue/load-feed.ts';
import { createPriceService } from '../../plugins/operations/catalogue/price-service.ts';
import { raiseRetirements } from '../../plugins/operations/catalogue/retirements.ts';
import { showOptions } from '../../plugins/operations/configuration/shown-options.ts';
import { HealthBook } from '../../plugins/routing/health/book.ts';
import { watchHealth } from '../../plugins/routing/health/notices.ts';
import { raiseNotice } from '../../plugins/shared/notices/events.ts';
import { openAccount, quote, settlement } from '../balance/calls.ts';
import { openTemporary } from '../balance/ledger-file.ts';
import { createBudget, newBudget } from '../contract/made-budgets.ts';
import { makeFolder } from '../support/folder.ts';
import { createHost } from '../support/host.ts';
import { testProvider } from '../support/test-provider.ts';

const day = 24 * 3_600_000;

/** A host whose outbox only writes down what it gets. */
function createListening(host: Host) {
  const said: string[] = [];
  const over = new Set<string>();
  const notices: Notice[] = [];
  host.notices.outboxes.add({
    name: 'list',
    async raise(notice) {
      const name = `${notice.event} ${notice.subject}`;
      if (said.at(-1) !== name) said.push(name);
      notices.push(notice);
      return true;
    },
    resolve: (event, subject) => void over.add(`${event} ${subject}`),
  });
  return { said, over, notices };
}

describe('health', () => {
  const first = { name: 'one', endpoints: {} };
  const second = { name: 'two', endpoints: {} };

  function open(patience = 60_000) {
    const host = createHost([testProvider(first), testProvider(second)]);
    const settings = { pause: 1000, restWhenFull: 1000, restWhenBarred: 1000, whenAllFail: 'ask' } as const;
    const book = new HealthBook(
      settings,
      () => undefined,
      () => undefined,
    );
    const look = watchHealth(host, book, patience);
    const [one, two] = host.catalog.find('house/model');
    if (!one || !two) throw new Error('no offers');
    let now = 1_800_000_000_000;
    let calls = 0;
    function call(target: typeof one, error?: GatewayError, status = error ? 500 : 200): void {
      const id = `call-${(calls += 1)}`;
      const attempt = {
        number: 1,
        isRetry: false,
        sent: true,
        status,
        firstEventAfter: undefined,
        error,
        target,
      };
      // What an attempt is beyond that does not matter here.
      const made = attempt as unknown as Parameters<HealthBook['read']>[1];
      book.admit(id, made);
      book.read(id, { ...made, phase: 'end' });
    }
    return {
      ...createListening(host),
      one,
      two,
      call,
      look(after = 10_000) {
        now += after;
        look(now);
      },
    };
  }

  const down = new GatewayError('upstream_failed', 'The provider failed.');

  it('says nothing while the first provider answers, and nothing of what others answer by choice', () => {
    const { said, one, two, call, look } = open();
    for (let round = 0; round < 20; round += 1) {
      call(one);
      call(one, down);
      call(two);
      look();
    }
    expect(said).toEqual([]);
    const other = open();
    for (let round = 0; round < 20; round += 1) {
      other.call(other.two);
      other.look();
    }
    expect(other.said).toEqual([]);
  });

  it('tells of a fallback after its time only, and not while nobody calls', () => {
    const { said, over, one, two, call, look } = open();
    call(one, down);
    for (let round = 0; round < 30; round += 1) look();
    expect(said).toEqual([]);
    for (let round = 0; round < 6; round += 1) {
      call(one, down);
      call(two);
      look();
    }
    expect(said).toEqual([]);
    call(one, down);
    call(two);
    look();
    expect(said).toEqual(['model.on_fallback house/model']);
    expect(over).not.toContain('model.on_fallback house/model');
    call(one);
    look();
    expect(over).toContain('model.on_fallback house/model');
  });

  it('tells of a refused key, not of a fault or of a model that is missing, and when it works again', () => {
    const { said, over, notices, one, call, look } = open();
    call(one, down, 500);
    call(one, new GatewayError('model_not_found', 'No such model.'), 404);
    look();
    expect(said).toEqual([]);
    call(one, down, 403);
    look();
    look();
    expect(said).toEqual(['provider.key_refused one 1']);
    expect(over).toEqual(new Set());
    expect(notices[0]?.text).toContain('one answers 403 to key 1, for “house/model”');
    call(one);
    look();
    expect(over).toContain('provider.key_refused one 1');
  });
});

describe('the ledger', () => {
  async function withLedger(work: (store: Store) => Promise<void>): Promise<void> {
    const { store, dispose } = await openTemporary();
    await work(store).finally(dispose);
  }

  function createWatch(options: Parameters<typeof noticeOptions.parse>[0]) {
    const host = createHost([]);
    const listening = createListening(host);
    const watch = new AccountWatch(host, noticeOptions.parse(options));
    return { ...listening, watch };
  }

  it('tells of keys that end within the days, unless they were meant to or cannot be used', () =>
    withLedger(async (store) => {
      await openAccount(store, 'a', 1n);
      const now = Date.now();
      const make = async (name: string, ends: number, more = {}): Promise<string> => {
        const { kept } = createKeySecret('user');
        const at = now - 20 * day;
        const expires = now + ends * day;
        await store.createKey({
          ...kept,
          kind: 'user',
          account: 'a',
          name,
          at,
          expires,
          ...more,
        });
        return kept.id;
      };
      const soon = await make('soon', 6);
      await make('later', 8);
      await make('over', -1);
      await make('short', 3, { at: now });
      await make('never', 0, { expires: undefined });
      const off = await make('off', 6);
      await store.changeKey({ id: off, changes: { disabled: true } });
      const rotated = await make('rotated', 6);
      await store.rotateKey({ id: rotated, until: now + 3 * day, key: createKeySecret('user').kept });
      const { said, watch } = createWatch({});
      await watch.lookAtKeys(store);
      expect(said.filter((each) => !each.includes(rotated))).toEqual([`key.expires ${soon}`]);
      const { said: nothing, watch: idle } = createWatch({ keyExpires: 0 });
      await idle.lookAtKeys(store);
      expect(nothing).toEqual([]);
    }));

  it('tells of a low balance by the limit of the account, of nobody who did not call or pays later', () =>
    withLedger(async (store) => {
      for (const name of ['a', 'b', 'c', 'later']) await openAccount(store, name, 2_000_000_000n);
      await createBudget(store, newBudget('later', 1_000_000_000n));
      const terms = { account: 'later', changes: { postpaid: true }, at: 1 };
      expect(await store.setTerms(terms)).toBe('changed');
      await store.reserve({ id: 'r', account: 'a', key: 'k', quotes: [quote(10n)], at: 1 });
      await store.settle(settlement('r', 10n));
      const { said, notices, watch } = createWatch({ lowBalance: { a: '2', b: '1', later: '3', '*': '0' } });
      const stop = watch.start(store);
      for (const account of ['a', 'b', 'c', 'later', 'nobody'])
        watch.note({ exchange: { principal: { kind: 'user', account, key: 'k' } } } as unknown as Parameters<
          AccountWatch['note']
        >[0]);
      await watch.lookAtAccounts(store);
      expect(said).toEqual(['balance.low a']);
      expect(notices[0]).toMatchObject({ period: 'of 2', accounts: ['a'] });
      expect(notices[0]?.text).toContain('“a” has 1.99999999 USD left, less than 2.');
      await watch.lookAtAccounts(store);
      expect(notices).toHaveLength(1);
      stop();
    }));
});

it('the catalogue tells of models that retire within the days only', () => {
  const at = (days: number): string => new Date(Date.now() + days * day).toISOString().slice(0, 10);
  const models = [
    { id: 'house/soon', upstream: 'soon', expires: at(3) },
    { id: 'house/later', upstream: 'later', expires: at(40) },
    { id: 'house/stays', upstream: 'stays' },
  ];
  const host = createHost([testProvider({ name: 'one', endpoints: {}, models })]);
  const { said } = createListening(host);
  raiseRetirements(host, ['house/soon', 'house/later', 'house/stays', 'house/unknown'], 30);
  expect(said).toEqual(['model.retires house/soon']);
});

it('the catalogue tells of a feed that fails, and that it works again', async () => {
  const feed = join(makeFolder(), 'feed.json');
  const host = createHost([testProvider({ name: 'one', endpoints: {} })]);
  const { said, over, notices } = createListening(host);
  let kept: { version: number; text: string } | undefined;
  const documents: Documents = {
    read: async () => kept,
    async write(_, text, replaces) {
      kept = { version: replaces + 1, text };
      return true;
    },
  };
  const work = { catalog: host.catalog, publicKey: undefined, use: useDocuments };
  function useDocuments<Result>(edit: (used: Documents) => Promise<Result>): Promise<Result> {
    return edit(documents);
  }
  const service = createPriceService(host, work, { feed, every: 0 });
  await service.look();
  expect(said).toEqual([`price.feed_failed ${formatSource(feed)}`]);
  expect(notices[0]).toMatchObject({ severity: 'warning', title: 'The price feed fails' });
  expect(notices[0]?.text).toMatch(/^The price feed “.*feed\.json” could not be applied, .*: ENOENT/);
  over.clear();
  const model = { id: 'upstream-model', cost: { input: 1, output: 2 } };
  writeFileSync(feed, JSON.stringify({ one: { models: { 'upstream-model': model } } }));
  await service.look();
  expect(over).toEqual(new Set([`price.feed_failed ${formatSource(feed)}`]));
});

it('a text has names on one line, without links and not too long, and no secret of the gateway', async () => {
  vi.stubEnv('SOME_API_KEY', 'a-secret-of-the-environment');
  const host = createHost([]);
  const { notices } = createListening(host);
  const name = `evil\nhttps://evil.example/${'x'.repeat(500)}`;
  await raiseNotice(host.notices, 'key.expires', { subject: 'k' }, { id: 'k', name, expires: '2030-01-01' });
  const facts = { machine: 'm', reason: 'no\nentry for a-secret-of-the-environment' };
  await raiseNotice(host.notices, 'ledger.unreachable', { subject: 'm' }, facts);
  expect(notices[0]?.text).toMatch(
    /^The key “evil\ufffdhttps:evil\.example\/x+” \(k\) expires on 2030-01-01\./,
  );
  expect(notices[0]?.text.length).toBeLessThan(320);
  expect(notices[1]?.text).toContain('no\ufffdentry for ••••');
  vi.unstubAllEnvs();
});

it('a notice without an outbox goes nowhere, and fails nothing', async () => {
  const { notices } = createHost([]);
  expect(await raiseNotice(notices, 'ledger.audit', { subject: 'ledger' }, { findings: 1 })).toBe(false);
  expect(notices.resolve('ledger.audit', 'ledger')).toBeUndefined();
});

it('the address of a channel is shown to no operator', () => {
  const { options } = slack({ url: 'https://hooks.example.com/services/aSecretOfSlack' });
  expect(options && JSON.stringify(showOptions(options))).toContain('"isSecret":true');
  expect(options && JSON.stringify(showOptions(options))).not.toContain('aSecretOfSlack');
});
