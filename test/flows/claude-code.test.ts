/** What Claude Code asks of a gateway: its start, models, settings, telemetry, and the text that bills it. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { checkModel, definePlugin } from '../../core/index.ts';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { claudeCode as claudeCodePlugin } from '../../plugins/operations/claude-code.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { bareNames } from '../../plugins/routing/bare-names.ts';
import { hashConversation } from '../../plugins/shared/routing/conversation.ts';
import { makeFolder } from '../support/folder.ts';
import { getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { hear, joinStream } from '../support/listen.ts';
import { postJson } from '../support/post.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import { pixel } from '../support/vendor/improvise.ts';
import { refusals, startMessagesVendor } from '../support/vendor/index.ts';
import { claudeCode } from './agent-sessions.ts';

const billing = 'x-anthropic-billing-header: cc_version=2.1.332.0b8; cc_entrypoint=sdk-cli;';
const claude = 'anthropic/claude-opus-4-8';
const gpt = 'openai/gpt-4o-mini';

/** A vendor of Anthropic's wire that is not Anthropic, with a model whose id looks like one of ours. */
function createHouse({ url, key }: { readonly url: string; readonly key: string }) {
  return definePlugin({
    name: 'house',
    options: z.strictObject({}),
    apply(host) {
      const provider = {
        name: 'house',
        endpoints: { messages: `${url}/v1/messages` },
        sign: <Sent extends { headers: Readonly<Record<string, string>> }>(request: Sent): Sent => ({
          ...request,
          headers: { ...request.headers, 'x-api-key': key },
        }),
      };
      host.providers.add(provider);
      const upstream = 'claude-opus-4-8';
      const ids = ['house/model', 'claude-house/model'];
      host.catalog.offer(
        provider,
        ids.map((id) => checkModel(buildModelFacts({ id, upstream }))),
      );
    },
  });
}

let vendor: Awaited<ReturnType<typeof startMessagesVendor>>;
let harness: Harness;
let fourWires: FourWires;
let file: string;

beforeAll(async () => {
  vendor = await startMessagesVendor();
  file = join(makeFolder(), 'claude.json');
  writeFileSync(file, JSON.stringify({ permissions: { deny: ['WebFetch'] }, env: { B: '1', A: '2' } }));
  harness = await openHarness({
    plugins: [
      apiKeyHeader(),
      messages(),
      anthropic({ apiKey: vendor.key, baseUrl: vendor.url }),
      createHouse(vendor)(),
      bareNames(),
      claudeCodePlugin({ settings: file }),
    ],
  });
  fourWires = await openFourWires();
});

const agent = { 'user-agent': 'claude-code/2.1.332', 'anthropic-version': '2023-06-01' };

function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  return fetch(harness.gateway.url + path, { method, headers });
}

const listingSchema = z.object({
  data: z.array(z.looseObject({ id: z.string(), display_name: z.string() })),
  has_more: z.boolean(),
  last_id: z.string().nullable(),
});

async function list(path: string, headers: Record<string, string>) {
  return listingSchema.parse(await (await get(path, headers)).json());
}

it.each(['/alpha/api/hello', '/api/hello', '/alpha', '/alpha/', '/'])(
  'the start of Claude Code finds that %s answers',
  async (path) => expect((await get(path, {}, 'HEAD')).status).toBe(200),
);

it.each(['/alpha/v1/models', '/v1/models', '/models', '/alpha/models'])(
  'the listing at %s shows each model to Claude Code by an id that it accepts',
  async (path) => {
    const { data } = await list(`${path}?limit=1000`, agent);
    const usual = await list(`${path}?limit=1000`, { ...agent, 'user-agent': 'anthropic-sdk' });
    expect(data.map(({ id }) => id).filter((id) => !/claude|anthropic/i.test(id))).toEqual(['house/model']);
    expect(data.map(({ display_name: name }) => name)).toEqual(usual.data.map((each) => each.display_name));
    expect(usual.data.map(({ id }) => id)).toEqual(expect.arrayContaining([claude, gpt, 'house/model']));
    expect(data.map(({ id }) => id)).toEqual(
      expect.arrayContaining([claude, `claude-${gpt}`, 'claude-house/model']),
    );
  },
);

it('the listing for Claude Code pages by its own ids, and finds one of them', async () => {
  const whole = await list('/alpha/v1/models', agent);
  const ids: string[] = [];
  for (let after = ''; ids.length < whole.data.length;) {
    const page = await list(`/alpha/v1/models?limit=7${after}`, agent);
    ids.push(...page.data.map(({ id }) => id));
    after = `&after_id=${encodeURIComponent(page.last_id ?? '')}`;
    expect(page.has_more).toBe(ids.length < whole.data.length);
  }
  expect(ids).toEqual(whole.data.map(({ id }) => id));
  const one = await get(`/alpha/v1/models/claude-${gpt}`, agent);
  expect(await one.json()).toMatchObject({ id: `claude-${gpt}` });
});

const body = { max_tokens: 50, messages: [{ role: 'user', content: 'Ahoy' }] };

function call(model: string, more: object = {}, key = harness.key): Promise<Response> {
  return postJson(
    `${harness.gateway.url}/alpha/v1/messages`,
    { model, ...body, ...more },
    { 'x-api-key': key, ...agent },
  );
}

it('a call by such an id reaches the model, and the reply names the model', async () => {
  const response = await call(`claude-${gpt}`);
  expect([response.status, await response.json()]).toMatchObject([200, { model: gpt }]);
  const chat = await harness.post({ model: `claude-${gpt}`, messages: body.messages });
  expect([chat.status, await chat.json()]).toMatchObject([200, { model: gpt }]);
});

it('a model wins over such an id of another model', async () => {
  const response = await call('claude-house/model');
  expect(await response.json()).toMatchObject({ model: 'claude-house/model' });
});

it('a key reaches by such an id only the models that it may call', async () => {
  const key = await harness.gateway.newKey({ account: 'tester', models: gpt });
  expect((await call(`claude-${gpt}`, {}, key)).status).toBe(200);
  expect((await call('claude-house/model', {}, key)).status).toBe(403);
  const listed = await list('/alpha/v1/models', { ...agent, 'x-api-key': key });
  expect(listed.data.map(({ id }) => id)).toEqual([`claude-${gpt}`]);
});

it('an id without a model gets a 404 that says what it means', async () => {
  expect(await (await call('claude-openai/gpt-none')).text()).toContain('which means \\"openai/gpt-none\\"');
});

const system = [
  { type: 'text', text: billing },
  { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
];

it.each<[string, unknown, unknown]>([
  ['a block', system, [system[1]]],
  ['the only block', [system[0]], undefined],
  ['a line of a text', `${billing}\nYou are an agent.`, 'You are an agent.'],
  ['a line of a block', [{ type: 'text', text: `${billing}\n\nAye.` }], [{ type: 'text', text: 'Aye.' }]],
])(
  'the text by which Claude Code is billed, as %s, reaches Anthropic and no other vendor',
  async (_, given, left) => {
    const sent = async (model: string): Promise<unknown> => {
      expect((await call(model, { system: given })).status).toBe(200);
      return JSON.parse(String(vendor.requests.at(-1)?.body));
    };
    expect(await sent(claude)).toEqual({ model: 'claude-opus-4-8', ...body, system: given });
    expect(await sent('house/model')).toEqual({
      model: 'claude-opus-4-8',
      ...body,
      ...(left === undefined ? {} : { system: left }),
    });
    expect((await call(gpt, { system: given })).status).toBe(200);
    expect(String(harness.vendor.requests.at(-1)?.body)).not.toContain('billing');
  },
);

it('no key by which conversations are recognised holds the text that changes with the version', () => {
  const hashFor = (version: string, order: (system: object, rest: object) => object): string => {
    const text = JSON.stringify(
      order(
        { system: [{ type: 'text', text: `x-anthropic-billing-header: cc_version=${version};` }] },
        { messages: [{ content: [], role: 'user' }] },
      ),
    );
    // @ts-expect-error The function reads few members of a call.
    return hashConversation({ headers: {}, text, principal: { account: 'a' }, call: { model: 'm' } });
  };
  for (const order of [
    (one: object, other: object) => ({ ...one, ...other }),
    (one: object, other: object) => ({ ...other, ...one }),
  ])
    expect(hashFor('2.1.332', order)).toBe(hashFor('2.1.333', order));
});

it("no header of the vendor's about its limits reaches a client", async () => {
  for (const stream of [false, true]) {
    const response = await call(claude, { stream });
    await response.text();
    expect([...response.headers.keys()].filter((name) => /ratelimit|organization/.test(name))).toEqual([]);
  }
  vendor.script('claude-opus-4-8', { reply: refusals.messages.rateLimited });
  const refused = await call(claude);
  expect([...refused.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  vendor.unscript();
});

it.each(['/managed/settings', '/alpha/managed/settings'])(
  'the settings of the operator are at %s, with a checksum by which they are not sent twice',
  async (path) => {
    const authorization = `Bearer ${harness.key}`;
    const response = await get(path, { authorization });
    const settings = { permissions: { deny: ['WebFetch'] }, env: { B: '1', A: '2' } };
    const sorted = '{"env":{"A":"2","B":"1"},"permissions":{"deny":["WebFetch"]}}';
    const checksum = createHash('sha256').update(sorted).digest('hex');
    expect(await response.json()).toEqual({ uuid: checksum, checksum, settings });
    expect(response.headers.get('etag')).toBe(`"${checksum}"`);
    const again = await get(path, { authorization, 'if-none-match': `"${checksum}"` });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect((await get(path)).status).toBe(401);
  },
);

it('a gateway without such a file answers 404, and one with a broken file does not start', async () => {
  const plain = await openHarness({ plugins: [messages(), claudeCodePlugin()] });
  const response = await fetch(`${plain.gateway.url}/managed/settings`, {
    headers: { authorization: `Bearer ${plain.key}` },
  });
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { error: { type: 'not_found_error' } },
  ]);
  await plain.close();
  for (const text of ['{', '[]', '"text"']) {
    writeFileSync(`${file}.broken`, text);
    const plugins = [messages(), claudeCodePlugin({ settings: `${file}.broken` })];
    await expect(openHarness({ plugins })).rejects.toThrow(`${file}.broken`);
  }
});

it.each(['/v1/metrics', '/v1/logs', '/alpha/v1/traces'])(
  'telemetry at %s is taken in any form from who has a key, and dropped',
  async (path) => {
    const post = (headers: Record<string, string>, sent: Uint8Array<ArrayBuffer>): Promise<Response> =>
      fetch(harness.gateway.url + path, { method: 'POST', headers, body: sent });
    const authorization = `Bearer ${harness.key}`;
    const asJson = await post({ authorization, 'content-type': 'application/json' }, Buffer.from('{"a":[]}'));
    expect([asJson.status, await asJson.json()]).toEqual([200, {}]);
    const type = 'application/x-protobuf';
    const bytes = new Uint8Array(gzipSync(Buffer.from([10, 0, 1])));
    const packed = await post({ authorization, 'content-type': type, 'content-encoding': 'gzip' }, bytes);
    expect([packed.status, packed.headers.get('content-type'), await packed.text()]).toEqual([200, type, '']);
    expect((await post({ 'content-type': type }, bytes)).status).toBe(401);
    const long = Buffer.alloc(9 * 1024 * 1024);
    expect((await post({ authorization, 'content-type': type }, long)).status).toBe(413);
    const stream = ReadableStream.from(Array.from({ length: 9 }, () => Buffer.alloc(1024 * 1024)));
    const chunked = await fetch(harness.gateway.url + path, {
      method: 'POST',
      headers: { authorization },
      body: stream,
      duplex: 'half',
    });
    expect(chunked.status).toBe(413);
  },
);

/** A body as Claude Code 2.1.332 sends it, with a picture and a turn of two tools. */
const measured = {
  ...claudeCode.body([
    ...claudeCode.opening,
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } },
        { type: 'tool_use', id: 'toolu_2', name: 'TodoRead', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'boats.txt' },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_2',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }],
        },
      ],
    },
  ]),
  system: [
    { type: 'text', text: billing },
    { type: 'text', text: 'You are an agent in a terminal.' },
  ],
};

it.each(wires)('a body as measured reaches a model of %s, or its losses are named', async (wire) => {
  const { id, upstream } = getModel(wire, 'thinking');
  fourWires.vendors[wire].script(upstream, { text: 'One boat.' });
  const { status, text, sent, headers } = await fourWires.ask(
    'messages',
    id,
    measured,
    true,
    claudeCode.headers,
  );
  expect(status).toBe(200);
  expect(hear('messages', joinStream('messages', text)).text).toBe('One boat.');
  const written = JSON.stringify(sent);
  for (const part of ['The folder is /harbour.', 'You are an agent', 'boats.txt', pixel])
    expect(written).toContain(part);
  expect(written).not.toContain('x-anthropic-billing-header');
  const dropped = (headers.get('x-tollgate-dropped') ?? '').split(',');
  if (wire === 'messages') expect(dropped).toEqual(['']);
  else expect(dropped).toEqual(expect.arrayContaining(['context_management', 'tools[2].defer_loading']));
});
