/**
 * What calls count for, from headers and bodies to budgets and exports; and what they cost, in their replies.
 */
import { request, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { balance } from '../../plugins/meters/balance/index.ts';
import { callLog } from '../../plugins/operations/call-log.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openAdminListener, type AdminListener } from '../support/admin-listener.ts';
import { sendRaw } from '../support/raw-socket.ts';

let listener: AdminListener;
let key: { readonly key: string; readonly id: string };

const made = z.looseObject({ key: z.string(), id: z.string() });

beforeAll(async () => {
  listener = await openAdminListener([
    chatCompletions(),
    messages(),
    demo({ pace: 1 }),
    callLog(),
    balance({ firstCredit: '0' }),
  ]);
  key = made.parse(
    await listener.gateway.verb('keys create', [], {
      account: 'acme',
      credit: '5',
      tags: 'team:search,research',
    }),
  );
});

interface Sent {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  readonly body: string;
}

async function send(
  fields: object,
  headers: Readonly<Record<string, string>> = {},
  path = '/v1/chat/completions',
) {
  const body = {
    model: 'demo/echo',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello!' }],
    ...fields,
  };
  const before = listener.gateway.ends.length;
  const reply = await new Promise<Sent>((resolve, reject) => {
    const sent = request(`${listener.gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json', ...headers },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const { statusCode: status, headers: received } = response;
      text(response).then(
        (read) => resolve({ status, headers: received, trailers: response.trailers, body: read }),
        reject,
      );
    });
    sent.end(JSON.stringify(body));
  });
  await listener.gateway.ended(before + 1);
  return reply;
}

const row = z.looseObject({ id: z.string(), cost: z.string(), tags: z.record(z.string(), z.string()) });

async function listStored(query: string) {
  const { body } = await listener.ask('GET', `/calls?${query}`);
  return z.object({ data: z.array(row) }).parse(body).data;
}

async function findStored({ headers }: Sent) {
  const [call] = await listStored(`id=${String(headers['x-request-id'])}`);
  return row.parse(call);
}

it('the tags of a call, from key, header, body and agent, are stored, found and summed up', async () => {
  const sent = await send(
    { metadata: { job: 'nightly run', team: 'stolen' }, user: 'ann' },
    {
      'x-tollgate-tags': 'env:prod,team:stolen',
      'x-claude-code-session-id': 'session-1',
      'x-claude-code-agent-id': 'agent-1',
      'x-claude-code-parent-agent-id': 'agent-0',
    },
  );
  expect(sent.status).toBe(200);
  const call = await findStored(sent);
  expect(call.tags).toEqual({
    team: 'search',
    research: '',
    env: 'prod',
    session: 'session-1',
    agent: 'agent-1',
    'parent-agent': 'agent-0',
    user: 'ann',
    job: 'nightly run',
  });
  for (const tag of ['team:search', 'research', 'env:prod', 'session:session-1', 'user:ann'])
    expect((await listStored(`tag=${tag}`)).map(({ id }) => id)).toContain(call.id);
  expect(await listStored('tag=team:stolen')).toEqual([]);
  const line = listener.gateway.log
    .map((each) => z.looseObject({ call: z.string().optional() }).parse(JSON.parse(each)))
    .find((each) => each.call === call.id && each.msg === 'call');
  expect(line?.tags).toEqual(call.tags);
  const csv = await fetch(`${listener.url}/admin/calls?format=csv&id=${call.id}`, {
    headers: { authorization: `Bearer ${listener.secret}` },
  });
  expect(await csv.text()).toContain(
    '"team:search, research, env:prod, session:session-1, agent:agent-1, parent-agent:agent-0, user:ann, ' +
      'job:nightly run"',
  );
  const { body } = await listener.ask('GET', '/overview?by=tag');
  const { series } = z
    .object({
      series: z.array(z.object({ name: z.string().nullable(), totals: z.looseObject({ cost: z.string() }) })),
    })
    .parse(body);
  expect(series).toContainEqual({
    name: 'env:prod',
    totals: expect.objectContaining({ calls: 1, cost: call.cost }),
  });
  expect(series.map(({ name }) => name)).toContain('research');
});

it('the tags of a call of a messages call have the end user of its metadata', async () => {
  const user_id = 'user_1_account_2_session_3';
  const sent = await send(
    { metadata: { user_id } },
    { 'anthropic-version': '2023-06-01' },
    '/alpha/v1/messages',
  );
  expect(sent.status).toBe(200);
  expect((await findStored(sent)).tags).toMatchObject({ user: 'user_1_account_2', session: '3' });
});

it('the tags of a call count in their budgets, so that a spent one refuses it', async () => {
  await listener.gateway.verb('budgets set', ['tag', 'env:spent', '0/day']);
  await listener.gateway.verb('budgets set', ['tag', 'job:spent', '0/day']);
  const refused = await send({}, { 'x-tollgate-tags': 'env:spent' });
  expect(refused.status).toBe(402);
  expect(refused.body).toContain('env:spent');
  expect((await findStored(refused)).tags).toMatchObject({ env: 'spent' });
  expect((await send({ metadata: { job: 'spent' } })).status).toBe(402);
  expect((await send({}, { 'x-tollgate-tags': 'env:other' })).status).toBe(200);
  await listener.gateway.verb('budgets set', ['tag', 'team:search', '0/day']);
  expect((await send({}, { 'x-tollgate-tags': 'team:other' })).status).toBe(402);
  await listener.gateway.verb('budgets set', ['tag', 'team:search', '1/day']);
});

it('the tags of a call are refused by the name of the header if they have another form', async () => {
  const refused = await send({}, { 'x-tollgate-tags': 'team=search' });
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.body)).toMatchObject({
    error: { message: expect.stringContaining('"team=search" is not a tag'), param: 'x-tollgate-tags' },
  });
  const alike = await send(
    {},
    { 'x-tollgate-tags': 'a:1,a:2', 'anthropic-version': '2023-06-01' },
    '/alpha/v1/messages',
  );
  expect(alike.status).toBe(400);
  expect(alike.body).toContain('x-tollgate-tags');
});

it('the cost of a call is a header of a JSON reply, as it was booked', async () => {
  const sent = await send({});
  expect(sent.headers['x-tollgate-cost']).toBe((await findStored(sent)).cost);
  expect(sent.headers['x-tollgate-cost']).toMatch(/^0\.0+[1-9]\d*$/);
});

it('the cost of a call is in the usage of a JSON reply too, if the request asks for it', async () => {
  const wish = { 'x-tollgate-cost': 'reply' };
  const sent = await send({}, wish);
  expect(JSON.parse(sent.body)).toMatchObject({
    choices: [{ message: { role: 'assistant' } }],
    usage: { cost: Number((await findStored(sent)).cost), total_tokens: expect.any(Number) },
  });
  expect(sent.body).toContain(`"cost":${String(sent.headers['x-tollgate-cost'])}`);
  expect(sent.headers['content-length']).toBe(String(Buffer.byteLength(sent.body)));
  const alike = await send({}, { ...wish, 'anthropic-version': '2023-06-01' }, '/alpha/v1/messages');
  expect(JSON.parse(alike.body)).toMatchObject({
    usage: { cost: expect.any(Number), output_tokens: expect.any(Number) },
  });
  expect(JSON.parse((await send({})).body).usage).not.toHaveProperty('cost');
  const other = await send({}, { 'x-tollgate-cost': 'please' });
  expect([other.status, JSON.parse(other.body).error.param]).toEqual([400, 'x-tollgate-cost']);
  const stream = await send({ stream: true }, wish);
  expect([stream.status, JSON.parse(stream.body).error.message]).toEqual([
    400,
    expect.stringContaining('include_usage'),
  ]);
});

it('the cost of a call is a trailer of a stream, if the client takes trailers', async () => {
  const sent = await send({ stream: true }, { te: 'trailers', connection: 'TE' });
  expect(sent.headers).toMatchObject({ trailer: 'x-tollgate-cost' });
  expect(sent.headers).not.toHaveProperty('x-tollgate-cost');
  expect(sent.trailers['x-tollgate-cost']).toBe((await findStored(sent)).cost);
  expect(sent.trailers['x-tollgate-cost']).toMatch(/^0\.0+[1-9]\d*$/);
});

it('the cost of a call is in no trailer without a wish, or of a reply whose head has it', async () => {
  const stream = await send({ stream: true });
  expect(stream.headers).not.toHaveProperty('trailer');
  expect(stream.trailers).toEqual({});
  const json = await send({}, { te: 'trailers', connection: 'TE' });
  expect(json.headers).not.toHaveProperty('trailer');
  expect(json.headers).toHaveProperty('x-tollgate-cost');
  expect(json.trailers).toEqual({});
});

it('the cost of a call is in no trailer for a client of HTTP/1.0, whose stream has no chunks', async () => {
  const body = JSON.stringify({
    model: 'demo/echo',
    stream: true,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  const head = ['POST /v1/chat/completions HTTP/1.0', 'te: trailers', `authorization: Bearer ${key.key}`];
  const { text: sent, statuses } = await sendRaw(
    listener.gateway.url,
    `${[...head, `content-length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`,
  );
  expect([statuses, sent]).toEqual([[200], expect.stringMatching(/\n\ndata: \[DONE\]\n\n$/)]);
});

it('the cost of a call is not in a stored reply that is sent again, since that costs nothing', async () => {
  const once = { 'idempotency-key': 'once', te: 'trailers', connection: 'TE' };
  expect((await send({}, once)).headers).toHaveProperty('x-tollgate-cost');
  const again = await send({}, once);
  expect(again.status).toBe(200);
  expect(again.headers).not.toHaveProperty('x-tollgate-cost');
  const streamed = { ...once, 'idempotency-key': 'streamed' };
  expect((await send({ stream: true }, streamed)).trailers).toHaveProperty('x-tollgate-cost');
  const streamedAgain = await send({ stream: true }, streamed);
  expect(streamedAgain).toMatchObject({ status: 200, trailers: {} });
  expect(streamedAgain.headers).not.toHaveProperty('trailer');
});
