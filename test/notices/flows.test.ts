/** Each event from its cause to what people read in Slack, through a gateway on both kinds of ledger. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { slack } from '../../plugins/channels/slack.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { createKeySecret } from '../../plugins/meters/balance/keys.ts';
import { openStore, storeOptions } from '../../plugins/meters/balance/open-store.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { catalogue } from '../../plugins/operations/catalogue.ts';
import { notices } from '../../plugins/operations/notices.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { health } from '../../plugins/routing/health.ts';
import { notice } from '../../plugins/shared/replies/notices.ts';
import { openAccount } from '../balance/calls.ts';
import { withDatabase } from '../balance/ledger-file.ts';
import { queryDatabase } from '../balance/postgres-database.ts';
import { createBudget, newBudget } from '../contract/made-budgets.ts';
import type { FakeChannel } from '../support/channels/http.ts';
import { startSlack } from '../support/channels/slack.ts';
import { openDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { startTcpLink } from '../support/tcp-link.ts';
import { testProvider } from '../support/test-provider.ts';

const listSchema = z.array(notice);
const day = 24 * 3_600_000;
const toDay = (at: number): string => new Date(at).toISOString().slice(0, 10);
const soon = toDay(Date.now() + 5 * day);
/** Ticks of the gateway come every ten seconds. */
const patience = { timeout: 120_000, interval: 100 };

interface Kind {
  readonly options: NonNullable<Parameters<typeof balance>[0]>['store'];
  /** Changes the ledger as the gateway never would. */
  spoil(statement: string): Promise<unknown>;
  close(): Promise<unknown>;
}

const kinds = {
  async SQLite(folder: string): Promise<Kind> {
    const file = join(folder, 'ledger.db');
    return {
      options: { kind: 'sqlite', file },
      spoil: async (statement) => withDatabase(file, (database) => database.exec(statement)),
      close: async () => undefined,
    };
  },
  async PostgreSQL(): Promise<Kind> {
    const { url, drop } = await openDatabase();
    return {
      options: { kind: 'postgres', url },
      spoil: (statement) => queryDatabase(url, statement),
      close: drop,
    };
  },
};

describe.each(Object.entries(kinds))('a gateway on %s tells people in Slack', (_, openKind) => {
  let gateway: TestGateway;
  let kind: Kind;
  let store: Store;
  let room: FakeChannel;
  /** The room of a team. */
  let teamRoom: FakeChannel;
  let [first, second, unpriced]: ScriptedVendor[] = [];
  let key = '';
  const folder = makeFolder();
  const feed = join(folder, 'feed.json');

  const answerWell: Parameters<ScriptedVendor['conduct']>[0] = (response) =>
    sendJson(response, chatReply('Hello.', {}, [30, 70]));

  beforeAll(async () => {
    kind = await openKind(folder);
    [room, teamRoom] = await Promise.all([startSlack(), startSlack()]);
    first = await startScriptedVendor(answerWell);
    second = await startScriptedVendor(answerWell);
    unpriced = await startScriptedVendor((response) => sendJson(response, { data: [{ id: 'no-price' }] }));
    store = await openStore(storeOptions.parse(kind.options), folder);
    await openAccount(store, 'company', 1n);
    await openAccount(store, 'team', 5_000_000_000n);
    await store.moveAccount({ account: 'team', parent: 'company' });
    const { secret, kept } = createKeySecret('user');
    key = secret;
    const expires = Date.now() + 3 * day;
    await store.createKey({
      ...kept,
      kind: 'user',
      name: 'laptop <!channel>',
      account: 'team',
      at: Date.now() - 30 * day,
      expires,
    });
    const cost = { input: 0.1, output: 0.2 };
    writeFileSync(
      feed,
      JSON.stringify({ one: { models: { 'upstream-model': { id: 'upstream-model', cost } } } }),
    );
    const endpoints = (vendor?: ScriptedVendor) => ({ 'chat-completions': `${vendor?.origin}/v1/chat` });
    gateway = await startGateway({
      dataFolder: folder,
      plugins: [
        bearer(),
        chatCompletions(),
        testProvider({
          name: 'one',
          endpoints: endpoints(first),
          models: [{}, { id: 'house/old', upstream: 'old', expires: soon, successor: 'house/model' }],
        }),
        testProvider({ name: 'two', endpoints: endpoints(second) }),
        vllm({ baseUrl: `${unpriced.origin}/v1` }),
        health({ restWhenBarred: 1, fallbackNotice: 1 }),
        balance({
          store: kind.options,
          firstCredit: '0',
          auditEvery: 1,
          notices: { lowBalance: { team: '100', '*': '0' } },
        }),
        catalogue({ prices: { feed } }),
        notices(),
        slack({ url: room.url, every: 0.1 }),
        slack({
          name: 'team-room',
          url: teamRoom.url,
          every: 0.1,
          accounts: ['company'],
          severity: 'warning',
        }),
      ],
    });
    // The first looks at keys and at models come after a minute. One wait is enough for both.
    expect(await call('house/old')).toBe(200);
  });

  afterAll(async () => {
    await gateway.close();
    await store.close();
    for (const each of [room, teamRoom, first, second, unpriced]) await each?.close();
    await kind.close();
  });

  async function call(model = 'house/model'): Promise<number> {
    const body = { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };
    const url = `${gateway.url}/v1/chat/completions`;
    const response = await postJson(url, body, { authorization: `Bearer ${key}` });
    await response.text();
    return response.status;
  }

  const findShown = (part: string | RegExp, { shown } = room): string[] =>
    shown.map(({ text }) => text).filter((text) => text.match(part));

  async function expectOnce(part: string | RegExp, where = room): Promise<void> {
    await expect.poll(() => findShown(part, where).length, patience).toBe(1);
    expect(room.shown.flatMap(({ marks }) => marks)).toEqual([]);
  }

  it('that a key expires soon, also in the room of its team, with its name as it is', async () => {
    const text =
      /^Warning: A key expires soon\nThe key “laptop <!channel>” \(\w+\) expires on [\d-]+\. Rotate it/;
    await expectOnce(text);
    await expectOnce(text, teamRoom);
  });

  it('that models have no price, in the room of all only', async () => {
    await expectOnce(/^Note: Models have no price\nvllm has models that are not offered.*“no-price”/);
    expect(findShown('no price', teamRoom)).toEqual([]);
  });

  it('that new prices are held back, and that they wait no more', async () => {
    await expectOnce(/^Warning: New prices wait for you\nThe price update 1 of 1 models is held back/);
    await gateway.verb('prices undo', ['1']);
    await expectOnce(/^Over: New prices wait for you/);
  });

  it('that a model which is called retires soon', async () => {
    await expectOnce(`The model “house/old” is served until ${soon}, and clients call it. Its successor is`);
  });

  it('that a balance is low, once for its credit', async () => {
    expect(await call()).toBe(200);
    await expectOnce(/^Warning: A balance is low\nThe account “team” has 4\.\d+ USD left, less than 100\./);
    expect(await call()).toBe(200);
  });

  it('that a budget is nearly used up and then refuses calls, also in the room of its team', async () => {
    const at = Date.now();
    await createBudget(store, newBudget('company', 200_000n, { scope: 'team', thresholds: [50], at }));
    while ((await call()) === 200);
    const texts = [
      /^Warning: A budget is nearly used up\nThe budget 1 has reached 50 % of the team “company”: 0\.\d+ of/,
      /^Critical: A budget refuses calls\nThe budget 1 refuses calls of the team “company”/,
    ];
    for (const text of texts) for (const where of [room, teamRoom]) await expectOnce(text, where);
    await store.deleteBudget({ id: 1, at: Date.now() });
  });

  it('that a vendor refuses our key and its model lives on the fallback, and when that is over', async () => {
    first?.conduct((response) => sendJson(response, { error: { message: 'bad key' } }, 401));
    const calling = setInterval(() => void call(), 500);
    await expectOnce(/^Critical: A provider refuses our key\none answers 401 to key 1, for “house\/model”/);
    await expectOnce(/^Warning: A model lives on its fallback\nFor \d+ minutes one has answered no call/);
    first?.conduct(answerWell);
    await expectOnce(/^Over: A provider refuses our key/);
    await expectOnce(/^Over: A model lives on its fallback/);
    clearInterval(calling);
    expect(findShown('fallback', teamRoom)).toEqual([]);
  });

  it('that an audit found a fault, and when the books are sound again', async () => {
    await kind.spoil("UPDATE accounts SET used = used + 1 WHERE name = 'company'");
    expect(await call()).toBe(200);
    await expectOnce(/^Critical: The books break a rule\nThe audit found \d+ faults\./);
    await kind.spoil("UPDATE accounts SET used = used - 1 WHERE name = 'company'");
    await expectOnce(/^Over: The books break a rule/);
  });

  it('and lists all of it for operators, with what each channel got', async () => {
    const listed = listSchema.parse(await gateway.verb('notices list'));
    const events = listed.map(({ event }) => event);
    expect(new Set(events)).toEqual(
      new Set([
        'balance.low',
        'budget.exhausted',
        'budget.threshold',
        'key.expires',
        'ledger.audit',
        'model.on_fallback',
        'model.retires',
        'price.held',
        'price.missing',
        'provider.key_refused',
      ]),
    );
    const expiring = listed.find(({ event }) => event === 'key.expires');
    expect(expiring).toMatchObject({
      severity: 'warning',
      accounts: ['team', 'company'],
      isOver: false,
      deliveries: [
        { channel: 'slack', status: 'sent', attempts: 1, next: null, fault: null },
        { channel: 'team-room', status: 'sent', attempts: 1 },
      ],
    });
    expect(JSON.stringify(listed)).not.toContain(key);
  });

  it('a test message when an operator asks for one, or says why it cannot', async () => {
    expect(await gateway.verb('notices test', ['slack'])).toEqual({
      channel: 'slack',
      ok: true,
      fault: null,
    });
    expect(findShown(/^Note: A test\nThis channel gets notices of the gateway\.$/)).toHaveLength(1);
    room.failNext({ status: 410 });
    expect(await gateway.verb('notices test', ['slack'])).toEqual({
      channel: 'slack',
      ok: false,
      fault: '127.0.0.1 answered 410',
    });
    await expect(gateway.verb('notices test', ['nope'])).rejects.toThrow(
      'there is no channel "nope"; there are: slack, team-room',
    );
  });
});

it('a database that does not answer any more is told without it, and that it is back', async () => {
  const { url, drop } = await openDatabase();
  const link = await startTcpLink(Number(new URL(url).port));
  const through = new URL(url);
  through.port = String(link.port);
  const room = await startSlack();
  const gateway = await startGateway({
    plugins: [
      balance({ store: { kind: 'postgres', url: through.href }, firstCredit: '0' }),
      slack({ url: room.url, every: 0.1 }),
    ],
  });
  const isShown = (part: string): boolean => room.shown.some(({ text }) => text.startsWith(part));
  link.hold();
  await expect.poll(() => isShown('Critical: The ledger cannot be used'), patience).toBe(true);
  expect(isShown('Over')).toBe(false);
  link.release();
  await expect.poll(() => isShown('Over: The ledger cannot be used'), patience).toBe(true);
  expect(room.shown).toHaveLength(2);
  await gateway.close();
  await room.close();
  await link.close();
  await drop();
});
