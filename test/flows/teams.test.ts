/**
 * Teams over sockets, with both databases: what an account and the accounts below it spent, invitations that
 * give one key, and members who look after their own keys.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Erasure } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openAdminListener, type AdminListener } from '../support/admin-listener.ts';
import { openDatabase } from '../support/database.ts';

const hello = { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] };
const newKey = z.looseObject({ id: z.string(), key: z.string(), account: z.string(), holder: z.string() });
const linkSchema = z.looseObject({ id: z.string(), link: z.string() });

/** What plugins were told to erase. */
const erased: Erasure[] = [];

/** Keeps nothing, and fails at first. */
const witness = definePlugin({
  name: 'witness',
  options: z.strictObject({}),
  apply({ hooks }) {
    hooks.erase.tapPromise('witness', async (erasure) => {
      erased.push(erasure);
      if (erased.length === 1) throw new Error('not now');
    });
  },
});

describe.each(['sqlite', 'postgres'] as const)('with a ledger in %s', (kind) => {
  let open: AdminListener;
  /** The ledger, as another process opens it. */
  let openStore: () => Promise<Store>;

  beforeAll(async () => {
    const database = kind === 'postgres' ? await openDatabase() : undefined;
    const store = database ? ({ kind: 'postgres', url: database.url } as const) : undefined;
    erased.length = 0;
    open = await openAdminListener([
      chatCompletions(),
      responses({ store: { for: '1h' }, dataKey: Buffer.alloc(32, 7).toString('base64') }),
      demo(),
      calls(),
      balance({ firstCredit: '0', ...(store && { store }) }),
      witness(),
    ]);
    const file = join(open.gateway.dataFolder, 'ledger.db');
    openStore = () => (database ? openPostgres({ url: database.url }) : openSqlite({ file }));
    for (const name of ['company', 'search', 'ads', 'ads-lab', 'other'])
      await open.ask('POST', '/accounts', { name });
    await open.ask('PATCH', '/accounts/search', { parent: 'company' });
    await open.ask('PATCH', '/accounts/ads', { parent: 'company' });
    await open.ask('PATCH', '/accounts/ads-lab', { parent: 'ads' });
  });

  async function send(method: string, path: string, key: string, body?: unknown) {
    const response = await fetch(open.gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const reply: unknown = await response.json();
    return { status: response.status, reply, text: JSON.stringify(reply) };
  }

  async function makeKey(account: string, more: object = {}) {
    const { body } = await open.ask('POST', '/keys', { account, credit: '1', ...more });
    return z.looseObject({ id: z.string(), key: z.string() }).parse(body);
  }

  async function invite(order: object) {
    const { body } = await open.ask('POST', '/invitations', order);
    const { id, link } = linkSchema.parse(body);
    return { id, invitation: link.replace('/#invitation=', '') };
  }

  it('an account shows what it spent itself, and what all accounts below it spent', async () => {
    for (const account of ['company', 'search', 'ads-lab', 'ads-lab']) {
      const { key } = await makeKey(account);
      expect((await send('POST', '/v1/chat/completions', key, hello)).status).toBe(200);
    }
    const { body } = await open.ask('GET', '/accounts/company');
    expect(body).toMatchObject({
      above: [],
      own: { accounts: 1, calls: 1 },
      team: { accounts: 4, calls: 4 },
      children: [
        { account: 'ads', team: { accounts: 2, calls: 2 } },
        { account: 'search', team: { accounts: 1, calls: 1 } },
      ],
    });
    expect((await open.ask('GET', '/accounts/ads-lab')).body).toMatchObject({
      above: ['ads', 'company'],
      children: [],
    });
  });

  it("the budgets that count an account are its own, its team's and those of teams above", async () => {
    for (const [scope, subject] of [
      ['team', 'company'],
      ['team', 'ads'],
      ['account', 'ads'],
      ['account', 'ads-lab'],
      ['team', 'search'],
    ])
      expect((await open.ask('POST', '/budgets', { scope, subject, limit: '5' })).status).toBe(201);
    const { body } = await open.ask('GET', '/budgets?counting=ads-lab');
    const { data } = z
      .looseObject({ data: z.array(z.looseObject({ scope: z.string(), subject: z.string() })) })
      .parse(body);
    expect(data.map(({ scope, subject }) => `${scope} ${subject}`)).toEqual([
      'account ads-lab',
      'team ads',
      'team company',
    ]);
  });

  it('an invitation is looked at often and redeemed once, by whoever comes first', async () => {
    const { id, invitation } = await invite({
      account: 'search',
      name: 'ada@example.com',
      limits: { spendCap: '2' },
      tags: ['team:search'],
      budgets: [{ limit: '1', per: 'day' }],
    });
    for (let time = 0; time < 3; time += 1)
      expect(await send('POST', '/v1/invitations/look', '', { invitation })).toMatchObject({
        status: 200,
        reply: { account: 'search', name: 'ada@example.com' },
      });
    const tries = await Promise.all(
      [1, 2, 3, 4].map(() => send('POST', '/v1/invitations/redeem', '', { invitation })),
    );
    expect(tries.map(({ status }) => status).toSorted()).toEqual([201, 404, 404, 404]);
    const made = newKey.parse(tries.find(({ status }) => status === 201)?.reply);
    expect(made).toMatchObject({
      account: 'search',
      holder: 'ada@example.com',
      limits: { spendCap: '2' },
      tags: ['team:search'],
    });
    expect((await send('GET', '/v1/key', made.key)).reply).toMatchObject({
      budgets: [{ scope: 'key', per: 'day' }, { scope: 'team' }, { scope: 'team' }],
    });
    expect(await send('POST', '/v1/invitations/look', '', { invitation })).toMatchObject({
      status: 404,
      reply: { error: { message: 'This invitation is redeemed. Ask for a new one.' } },
    });
    expect((await open.ask('GET', '/invitations?account=search')).body).toMatchObject({
      data: [{ id, state: 'redeemed', key: made.id }],
    });
  });

  it('no list, log or database has the secret of an invitation', async () => {
    const { invitation } = await invite({ account: 'other' });
    await send('POST', '/v1/invitations/redeem', '', { invitation });
    for (const path of ['/invitations', '/actions']) {
      const { status, text } = await open.ask('GET', path);
      expect(status).toBe(200);
      expect(text).not.toContain(invitation);
    }
    expect(open.gateway.log.join('')).not.toContain(invitation);
  });

  it('an invitation that was withdrawn, has expired or is mistyped gives nothing', async () => {
    const withdrawn = await invite({ account: 'other', name: 'bob' });
    expect(await open.ask('DELETE', `/invitations/${withdrawn.id}`)).toMatchObject({
      status: 200,
      body: { state: 'withdrawn' },
    });
    expect((await open.ask('DELETE', `/invitations/${withdrawn.id}`)).status).toBe(409);
    expect((await open.ask('POST', '/invitations', { account: 'nowhere' })).status).toBe(404);
    for (const invitation of [withdrawn.invitation, 'in-nonsense', `${withdrawn.invitation}x`])
      expect((await send('POST', '/v1/invitations/redeem', '', { invitation })).status).toBe(404);
  });

  it('an invitation names each field that is wrong', async () => {
    for (const [order, param] of [
      [{ account: 'other', for: '91d' }, 'for'],
      [{ account: 'other', for: 'week' }, 'for'],
      [{ account: 'other', name: ' ' }, 'name'],
      [{ account: 'other', limits: { models: ['nope/x'] } }, 'limits.models'],
      [{ account: 'other', budgets: [{ limit: '1', per: 'year' }] }, 'budgets.0.per'],
    ] as const) {
      const { status, body } = await open.ask('POST', '/invitations', order);
      expect(status, param).toBe(400);
      expect(body).toMatchObject({ error: { param } });
    }
  });

  it('a member makes no keys until the account allows it', async () => {
    const { key } = await makeKey('other', { holder: 'dan' });
    const refused = await send('POST', '/v1/keys', key, { name: 'laptop' });
    expect(refused).toMatchObject({ status: 403 });
    expect(refused.text).toContain('ask an operator for a key');
    const listed = await send('GET', '/v1/keys', key);
    expect(listed.reply).toMatchObject({ holder: 'dan', allowed: null, data: [{ current: true }] });
  });

  it('a member makes, rotates and revokes keys within what the account allows', async () => {
    const rule = { most: 3, spendCap: '2', models: ['demo/*'], callsPerMinute: 10, days: 30 };
    expect(await open.ask('PATCH', '/accounts/ads/members', { memberKeys: rule })).toMatchObject({
      status: 200,
      body: { memberKeys: rule },
    });
    const first = await makeKey('ads', { holder: 'eve' });
    const stranger = await makeKey('ads', { holder: 'mallory' });
    const made = newKey.parse((await send('POST', '/v1/keys', first.key, { name: 'laptop' })).reply);
    expect(made).toMatchObject({
      account: 'ads',
      holder: 'eve',
      name: 'laptop',
      limits: { spendCap: '2', models: ['demo/*'], callsPerMinute: 10 },
    });
    expect((await send('POST', '/v1/chat/completions', made.key, hello)).status).toBe(200);
    for (const [limits, param] of [
      [{ spendCap: '2.01' }, 'limits.spendCap'],
      [{ models: ['demo/echo', '*'] }, 'limits.models.1'],
      [{ callsPerMinute: 11 }, 'limits.callsPerMinute'],
      [{ expires: '2099-01-01' }, 'limits.expires'],
    ] as const) {
      const { status, text } = await send('POST', '/v1/keys', first.key, { limits });
      expect(status, param).toBe(400);
      expect(text).toContain(param);
    }
    const third = await Promise.all([1, 2, 3].map(() => send('POST', '/v1/keys', first.key, {})));
    expect(third.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
    const rotated = newKey.parse((await send('POST', `/v1/keys/${made.id}/rotate`, first.key)).reply);
    expect(rotated).toMatchObject({ holder: 'eve', name: 'laptop' });
    expect((await send('GET', '/v1/key', rotated.key)).status).toBe(200);
    // A key without limits may do more than the rule allows, so no other key gets its secret.
    expect(await send('POST', `/v1/keys/${first.id}/rotate`, rotated.key)).toMatchObject({ status: 403 });
    expect(await send('DELETE', `/v1/keys/${rotated.id}`, first.key)).toMatchObject({ status: 200 });
    expect(await send('DELETE', `/v1/keys/${first.id}`, stranger.key)).toMatchObject({ status: 404 });
    expect(await send('POST', `/v1/keys/${first.id}/rotate`, stranger.key)).toMatchObject({ status: 404 });
    const { text } = await send('GET', '/v1/keys', stranger.key);
    expect(text).not.toContain('eve');
  });

  it('a member sees the calls of all own keys, and an operator those of a holder', async () => {
    const [one, other] = [
      await makeKey('other', { holder: 'ivy' }),
      await makeKey('other', { holder: 'ivy' }),
    ];
    const stranger = await makeKey('other', { holder: 'joe' });
    for (const { key } of [one, other, stranger])
      expect((await send('POST', '/v1/chat/completions', key, hello)).status).toBe(200);
    const list = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });
    const count = (reply: unknown): number => list.parse(reply).data.length;
    expect(count((await send('GET', '/v1/calls', one.key)).reply)).toBe(1);
    expect(count((await send('GET', '/v1/calls?of=holder', one.key)).reply)).toBe(2);
    expect(count((await open.ask('GET', '/calls?holder=ivy')).body)).toBe(2);
    expect(await send('GET', '/v1/calls?of=team', one.key)).toMatchObject({ status: 400 });
  });

  it("a call opens with any key of its holder in the account, and with nobody else's", async () => {
    const made = await makeKey('other', { holder: 'kim' });
    const second = await makeKey('other', { holder: 'kim' });
    const strangers = [
      await makeKey('other', { holder: 'lee' }),
      await makeKey('other'),
      await makeKey('search', { holder: 'kim' }),
    ];
    expect((await send('POST', '/v1/chat/completions', made.key, hello)).status).toBe(200);
    const list = z.looseObject({ data: z.tuple([z.looseObject({ id: z.string() })]) });
    const [{ id: call }] = list.parse((await send('GET', '/v1/calls?of=holder', second.key)).reply).data;
    for (const { key } of [made, second])
      expect(await send('GET', `/v1/calls/${call}`, key)).toMatchObject({ status: 200, reply: { id: call } });
    for (const { key } of strangers)
      expect(await send('GET', `/v1/calls/${call}`, key)).toMatchObject({ status: 404 });
    // Its key is someone else's now, and so are its calls.
    await open.ask('PATCH', `/keys/${made.id}`, { holder: 'lee' });
    expect(await send('GET', `/v1/calls/${call}`, second.key)).toMatchObject({ status: 404 });
  });

  it('a key without a holder sees itself alone, and makes none', async () => {
    const { id, key } = await makeKey('ads');
    expect((await send('GET', '/v1/keys', key)).reply).toMatchObject({
      holder: null,
      allowed: null,
      data: [{ id }],
    });
    expect(await send('POST', '/v1/keys', key, {})).toMatchObject({ status: 403 });
  });

  it('the log of actions says which key a member made, rotated or revoked a key with', async () => {
    const { text } = await open.ask('GET', '/actions');
    for (const action of [
      'POST /v1/keys',
      'POST /v1/keys/:key/rotate',
      'DELETE /v1/keys/:key',
      'POST /v1/invitations/redeem',
    ])
      expect(text).toContain(`"action":"${action}"`);
  });

  const erasureSchema = z.looseObject({ id: z.string(), account: z.string().nullable(), state: z.string() });

  async function erase(order: object) {
    const { status, body } = await open.ask('POST', '/erasures', order);
    expect(status).toBe(202);
    return erasureSchema.parse(body);
  }

  async function awaitEnd(id: string): Promise<void> {
    const findState = async () => {
      const { body } = await open.ask('GET', '/erasures');
      const { data } = z.looseObject({ data: z.array(erasureSchema) }).parse(body);
      return data.find((each) => each.id === id)?.state;
    };
    await expect.poll(findState, { timeout: 120_000, interval: 500 }).toBe('done');
  }

  /** Makes a call and a stored response, which a key holder can read. */
  async function leaveTraces(key: string) {
    expect((await send('POST', '/v1/chat/completions', key, hello)).status).toBe(200);
    const { reply } = await send('POST', '/v1/responses', key, {
      model: 'demo/echo',
      input: 'My secret plan',
    });
    return z.looseObject({ id: z.string() }).parse(reply).id;
  }

  it(
    'an erased account leaves its entries without names, and nothing else',
    { timeout: 200_000 },
    async () => {
      await open.ask('POST', '/accounts', { name: 'leaver' });
      await open.ask('PATCH', '/accounts/leaver', { parent: 'company' });
      const made = await makeKey('leaver', {
        name: 'laptop-of-lea',
        holder: 'lea@example.com',
        tags: ['user:lea'],
      });
      await leaveTraces(made.key);
      await invite({ account: 'leaver', name: 'next-lea' });
      await open.ask('POST', '/markups', { account: 'leaver', percent: '10' });
      const { id, account } = await erase({ account: 'leaver' });
      expect(account).toMatch(/^erased-\d+$/);
      await awaitEnd(id);
      expect((await send('GET', '/v1/key', made.key)).status).toBe(401);
      expect(erased).toContainEqual({ account: 'leaver', holder: undefined, keys: [made.id] });
      // A tap that failed is called again.
      expect(erased.length).toBeGreaterThan(1);
      for (const path of [
        '/accounts',
        '/accounts/company',
        '/keys',
        '/calls',
        '/entries',
        '/invitations',
        '/markups',
        '/budgets',
        '/usage?by=account,key',
        '/overview?by=account',
        '/erasures',
      ]) {
        const { status, text } = await open.ask('GET', path);
        expect(status, path).toBe(200);
        expect(text, path).not.toMatch(/leaver|lea@|laptop-of-lea|next-lea/);
      }
      const { text } = await open.ask('GET', `/entries?account=${account}`);
      expect(text).toContain(made.id);
      expect((await open.ask('GET', '/audit')).body).toMatchObject({ ok: true });
      expect((await open.ask('POST', '/accounts', { name: account })).status).toBe(409);
      const { text: actions } = await open.ask('GET', '/actions');
      expect(actions).toContain('POST /admin/erasures');
    },
  );

  it('an erased person leaves no key, call or response, and others stay', { timeout: 200_000 }, async () => {
    const mine = await makeKey('search', { holder: 'zoe@example.com' });
    const other = await makeKey('search', { holder: 'yan@example.com' });
    await leaveTraces(mine.key);
    const kept = await leaveTraces(other.key);
    const { id, account } = await erase({ holder: 'zoe@example.com' });
    expect(account).toBeNull();
    await awaitEnd(id);
    expect((await send('GET', '/v1/key', mine.key)).status).toBe(401);
    expect((await open.ask('GET', `/calls?key=${mine.id}`)).body).toMatchObject({ data: [] });
    expect((await send('GET', `/v1/responses/${kept}`, other.key)).status).toBe(200);
    expect((await send('GET', '/v1/calls', other.key)).text).toContain('demo/echo');
    for (const path of ['/keys', '/keys?holder=zoe@example.com', '/calls'])
      expect((await open.ask('GET', path)).text).not.toContain('"zoe@');
    expect((await open.ask('GET', '/audit')).body).toMatchObject({ ok: true });
  });

  it('an erasure that a process left unfinished is finished by a gateway', { timeout: 200_000 }, async () => {
    const { id: key } = await makeKey('search', { holder: 'left-by-another' });
    const other = await openStore();
    const begun = await other.beginErasure({ id: 'left', holder: 'left-by-another', at: Date.now() });
    await other.close();
    expect(begun).toEqual({ status: 'created', id: 'left' });
    await awaitEnd('left');
    expect(erased).toContainEqual({ account: undefined, holder: 'left-by-another', keys: [key] });
  });

  it('an erasure of nobody, of both or of neither is refused with the field', async () => {
    expect(await open.ask('POST', '/erasures', { account: 'nowhere' })).toMatchObject({ status: 404 });
    expect(await open.ask('POST', '/erasures', { holder: 'nobody' })).toMatchObject({ status: 404 });
    for (const order of [{}, { account: 'a', holder: 'b' }])
      expect(await open.ask('POST', '/erasures', order)).toMatchObject({
        status: 400,
        body: { error: { param: 'account' } },
      });
  });
});
