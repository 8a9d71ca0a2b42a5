/**
 * What operators look for: sessions of agents with what their clients lost, names by a few letters, what
 * other operators did, and prices that they change by hand.
 */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { openConsole, type ConsoleHarness } from '../support/operated-console.ts';
import { postJson } from '../support/post.ts';

let open: ConsoleHarness;
const model = 'openai/gpt-4o-mini';

async function ask(path: string, init: RequestInit = {}): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${open.secret}`, 'content-type': 'application/json' };
  const response = await fetch(`${open.adminUrl}/admin/${path}`, { headers, ...init });
  return { status: response.status, body: await response.json() };
}
const send = (path: string, body: object, method = 'POST') =>
  ask(path, { method, body: JSON.stringify(body) });

async function callAs(session: string, system: object): Promise<string> {
  const reply = await postJson(
    `${open.harness.gateway.url}/v1/messages`,
    { model, max_tokens: 20, system: [system], messages: [{ role: 'user', content: 'Hello!' }] },
    {
      'x-api-key': open.harness.key,
      'anthropic-version': '2023-06-01',
      'user-agent': 'claude-cli/2.1.0 (external, cli)',
      'x-claude-code-session-id': session,
    },
  );
  expect([reply.status, await reply.text()]).toEqual([200, expect.any(String)]);
  return reply.headers.get('x-request-id') ?? '';
}

let calls: string[];
beforeAll(async () => {
  open = await openConsole();
  const cached = { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } };
  calls = [
    await callAs('one', cached),
    await callAs('one', cached),
    await callAs('two', { type: 'text', text: 'Be brief.' }),
  ];
  await open.harness.gateway.ended(3);
});

it('sessions have the sums of their calls, and what their client lost at a provider', async () => {
  const { body } = await ask('sessions');
  expect(body).toMatchObject({
    tag: 'session',
    others: 0,
    data: [
      {
        tag: 'session:one',
        name: 'one',
        calls: 2,
        errors: 0,
        account: 'tester',
        clients: ['claude-cli'],
        models: [model],
        losses: 1,
      },
      { name: 'two', calls: 1, losses: 0 },
    ],
    losses: [
      { client: 'claude-cli', provider: 'openai', field: 'cache_control', calls: 2, example: calls[1] },
    ],
  });
  expect(await ask('sessions?tag=unknown')).toMatchObject({ status: 200, body: { data: [], losses: [] } });
  expect(await ask('sessions?from=2020-01-01')).toMatchObject({
    status: 400,
    body: { error: { param: 'from', message: 'from: a list of sessions spans at most 31 days' } },
  });
});

const foundSchema = z.object({
  data: z.array(z.object({ kind: z.string(), id: z.string(), name: z.string() })),
});

async function find(query: string): Promise<string[]> {
  const { data } = foundSchema.parse((await ask(`search?${query}`)).body);
  return data.map(({ kind, name }) => `${kind} ${name}`);
}

it('a search finds keys, accounts, models, providers, calls and sessions that exist', async () => {
  await send('keys', { account: 'analytics', name: 'ada' });
  expect(await find('text=ada')).toEqual(['key ada', 'model openai/text-embedding-ada-002']);
  expect(await find('text=ANALY')).toEqual(['account analytics']);
  expect(await find('text=gpt-4o-mini&kind=model')).toContain(`model ${model}`);
  expect(await find('text=&kind=provider')).toEqual(
    expect.arrayContaining(['provider demo', 'provider openai']),
  );
  expect(await find(`text=${calls[0]?.slice(0, 20)}`)).toContain(`call ${calls[0]}`);
  expect(await find('text=on&kind=tag')).toEqual(['tag session:one']);
  expect(await find('text=nothing-has-this-name')).toEqual([]);
  expect(await ask('search?kind=thing')).toMatchObject({ status: 400, body: { error: { param: 'kind' } } });
});

it('the log of operators names whose key was made, and is filtered by each of its columns', async () => {
  await send('keys', { account: 'logged', name: 'first' });
  await send('accounts/logged/state', { state: 'disabled' }, 'PATCH');
  const list = async (query: string) => (await ask(`actions?${query}`)).body;
  expect(await list('subject=logged')).toMatchObject({
    data: [
      { action: 'PATCH /admin/accounts/:account/state', author: 'operator-secret' },
      { action: 'POST /admin/keys', subject: 'logged' },
    ],
    next: null,
  });
  const post = encodeURIComponent('POST /admin/keys');
  expect(await list(`subject=logged&action=${post}`)).toMatchObject({ data: [{ subject: 'logged' }] });
  expect(await list('author=nobody')).toMatchObject({ data: [] });
  const { body } = await send('keys', { kind: 'operator', name: 'deputy' });
  const { key } = z.looseObject({ key: z.string() }).parse(body);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const made = { method: 'POST', headers, body: JSON.stringify({ name: 'of-the-deputy' }) };
  expect((await fetch(`${open.adminUrl}/admin/accounts`, made)).status).toBe(201);
  expect(await list('author=deputy')).toMatchObject({
    data: [{ author_name: 'deputy', subject: 'of-the-deputy' }],
  });
  expect(await list('from=2099-01-01')).toMatchObject({ data: [] });
});

it('calls show the address, the client and the reservation, and name their key', async () => {
  expect((await ask(`calls/${calls[0]}`)).body).toMatchObject({
    address: '127.0.0.1',
    client: 'claude-cli/2.1.0 (external, cli)',
    reserved: expect.stringMatching(/^0\.0/),
  });
  const listed = z.object({ data: z.tuple([z.looseObject({ key: z.string() })]) });
  const [{ key }] = listed.parse((await ask(`calls?id=${calls[0]}`)).body).data;
  await send(`keys/${key}`, { name: 'laptop' }, 'PATCH');
  expect((await ask(`calls?id=${calls[0]}`)).body).toMatchObject({ data: [{ key, key_name: 'laptop' }] });
  expect((await ask('keys?account=tester')).body).toMatchObject({
    data: [{ lastUsed: expect.stringMatching(/^20\d\d-/) }],
  });
});

const modelsSchema = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      offers: z.array(
        z.looseObject({
          price: z
            .looseObject({ rates: z.array(z.looseObject({ unit: z.string(), rate: z.string() })) })
            .nullable(),
        }),
      ),
    }),
  ),
});

async function readRate(unit: string): Promise<string | undefined> {
  const { data } = modelsSchema.parse((await ask('models')).body);
  const offer = data.find(({ id }) => id === model)?.offers[0];
  return offer?.price?.rates.find((rate) => rate.unit === unit)?.rate;
}

it('a price is changed by hand, now or from a date on, and the change is undone', async () => {
  const before = { input: await readRate('input'), output: await readRate('output') };
  const now = await send('prices', { model, rates: { input: '7.50' } });
  expect(now).toMatchObject({
    status: 201,
    body: {
      state: 'applied',
      reasons: [],
      fields: [{ provider: 'openai', field: 'input', old: before.input, new: '7.5' }],
    },
  });
  await expect.poll(() => readRate('input')).toBe('7.5');
  expect(await readRate('output')).toBe(before.output);
  const { id } = z.looseObject({ id: z.int() }).parse(now.body);
  expect(await send(`prices/${id}/undo`, {})).toMatchObject({ status: 200, body: { state: 'undone' } });
  await expect.poll(() => readRate('input')).toBe(before.input);
  const later = await send('prices', { model, rates: { output: '99' }, from: '2099-01-01' });
  expect(later).toMatchObject({ status: 201, body: { state: 'applied', from: '2099-01-01T00:00:00.000Z' } });
  expect(await readRate('output')).toBe(before.output);
});

it('a wrong change of a price is refused by the name of its field', async () => {
  for (const [order, param] of [
    [{ model: 'openai/none', rates: { input: '1' } }, 'model'],
    [{ model, provider: 'anthropic', rates: { input: '1' } }, 'provider'],
    [{ model, rates: { banana: '1' } }, 'rates.banana'],
    [{ model, rates: { input: '-1' } }, 'rates.input'],
    [{ model, rates: {} }, 'rates'],
    [{ model, rates: { input: '1' }, from: 'soon' }, 'from'],
  ] as const)
    expect([order, (await send('prices', order)).body]).toEqual([
      order,
      { error: expect.objectContaining({ param }) },
    ]);
  const rate = await readRate('input');
  expect((await send('prices', { model, rates: { input: rate } })).status).toBe(409);
});
