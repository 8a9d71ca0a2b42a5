/** Previews of the requests that a call would send, over the admin listener: nothing leaves the gateway. */
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, type UpstreamRequest } from '../../core/index.ts';
import { crossing } from '../../plugins/operations/crossing.ts';
import { fetchImages } from '../../plugins/operations/fetch-images.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { aliases } from '../../plugins/routing/aliases.ts';
import { health } from '../../plugins/routing/health.ts';
import { KeyRing } from '../../plugins/shared/key-ring.ts';
import { openAdminListener, type AdminListener } from '../support/admin-listener.ts';
import { textProtocols } from '../support/front.ts';
import { testProvider } from '../support/test-provider.ts';

const secret = 'the-vendors-own-secret';
let signed = 0;

/** A provider that signs, so that a credential in a preview would show. */
const signing = definePlugin({
  name: 'signing',
  options: z.strictObject({}),
  apply(host) {
    const { model } = host.catalog.find('house/model')[0] ?? {};
    if (!model) throw new Error('the provider comes first');
    const provider = {
      name: 'signing',
      endpoints: { messages: `https://operator:${secret}@signing.example/v1/messages` },
      sign(request: UpstreamRequest) {
        signed += 1;
        return { ...request, headers: { ...request.headers, authorization: secret } };
      },
    };
    host.providers.add(provider);
    host.catalog.offer(provider, [model]);
  },
});

let sent = 0;
/** Records every request that a provider would get. */
const tap = definePlugin({
  name: 'tap',
  options: z.strictObject({}),
  apply: ({ hooks }) =>
    hooks.dispatch.tap({ name: 'tap', stage: Number.MIN_SAFE_INTEGER }, () => {
      sent += 1;
      return undefined;
    }),
});

let listener: AdminListener;
beforeAll(async () => {
  listener = await openAdminListener([
    ...textProtocols(),
    images(),
    rerank(),
    demo(),
    testProvider({
      name: 'open',
      endpoints: {
        'chat-completions': 'https://open.example/v1/chat',
        responses: 'https://open.example/v1/responses',
      },
    }),
    signing(),
    aliases({ 'own/alias': 'house/model' }),
    health(),
    fetchImages(),
    tap(),
    crossing(),
  ]);
});

const shown = z.object({
  protocol: z.string(),
  model: z.string().optional(),
  error: z.object({ status: z.number(), body: z.unknown() }).optional(),
  omitted: z.number(),
  crossings: z.array(
    z.object({
      provider: z.string(),
      wire: z.string(),
      isChosen: z.boolean(),
      isSpoken: z.boolean(),
      lane: z.string().optional(),
      request: z
        .object({ url: z.string().optional(), headers: z.record(z.string(), z.string()), body: z.string() })
        .optional(),
      losses: z.array(z.object({ path: z.string(), reason: z.string(), code: z.string() })),
      error: z.object({ status: z.number(), body: z.unknown() }).optional(),
    }),
  ),
});

async function preview(order: object): Promise<z.output<typeof shown>> {
  const { status, text } = await listener.ask('POST', '/crossing', order);
  expect(status, text).toBe(200);
  return shown.parse(JSON.parse(text));
}

const hello = { max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

describe('the preview of a call', () => {
  it('shows every provider and wire, the verbatim one byte for byte', async () => {
    const body = `{"model":"other/model","temperature":1.0,"messages":[{"role":"user","content":"Hi"}]}`;
    const { crossings, model } = await preview({ protocol: 'chat-completions', body, model: 'house/model' });
    expect(model).toBe('house/model');
    expect(crossings.map(({ provider, wire, lane, isChosen }) => [provider, wire, lane, isChosen])).toEqual([
      ['open', 'chat-completions', 'verbatim', true],
      ['open', 'responses', 'translated', false],
      ['signing', 'messages', 'translated', true],
    ]);
    expect(crossings[0]?.request).toMatchObject({
      url: 'https://open.example/v1/chat',
      body: '{"model":"upstream-model","temperature":1.0,"messages":[{"role":"user","content":"Hi"}]}',
    });
  });

  it('names what each wire loses by the path of the client', async () => {
    const body = { ...hello, logit_bias: { 50: 1 }, seed: 7 };
    const { crossings } = await preview({ protocol: 'chat-completions', body, model: 'house/model' });
    const byWire = Object.fromEntries(
      crossings.map(({ wire, losses }) => [wire, losses.map(({ path }) => path)]),
    );
    expect(byWire['chat-completions']).toEqual([]);
    expect(byWire.messages).toEqual(expect.arrayContaining(['logit_bias', 'seed']));
  });

  it("shows the request for a summary, and not what a client's own summary says", async () => {
    const sealed = new KeyRing([randomBytes(32)]).sealText('compaction', 'ada', Buffer.from('a canary'));
    const item = { type: 'compaction', encrypted_content: sealed };
    const input = [item, { role: 'user', content: 'Ahoy' }, { type: 'compaction_trigger' }];
    for (const order of [{ body: { input } }, { body: { input: input.slice(0, 2) }, operation: 'compact' }]) {
      const { crossings } = await preview({ protocol: 'responses', model: 'house/model', ...order });
      expect(crossings.length).toBeGreaterThan(1);
      for (const { request, error } of crossings) {
        expect(error).toBeUndefined();
        expect(request?.body).toContain('Your context is about to be cleared');
        expect(request?.body).toContain('A summary of the conversation so far follows');
        expect(request?.body).not.toContain('canary');
      }
    }
  });

  it('shows an error as the client would get it', async () => {
    const { error, crossings } = await preview({
      protocol: 'messages',
      body: { messages: 'no list' },
      model: 'house/model',
    });
    expect(crossings).toEqual([]);
    expect(error).toMatchObject({
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error' } },
    });
    const unknown = await preview({ protocol: 'chat-completions', body: hello, model: 'no/model' });
    expect(unknown.error?.status).toBe(404);
    const garbage = await preview({ protocol: 'chat-completions', body: '{"model":', model: 'no/model' });
    expect(garbage.error?.status).toBe(400);
  });

  it('shows the error of a client that accepts no losses, and what would have been sent', async () => {
    const body = { ...hello, logit_bias: { 50: 1 }, provider: { require_parameters: true } };
    const { crossings } = await preview({ protocol: 'chat-completions', body, model: 'house/model' });
    const refused = crossings.find(({ wire }) => wire === 'messages');
    expect(refused?.error?.status).toBe(400);
    expect(refused?.request?.body).toContain('Hello!');
  });

  it('shows wires that the provider does not speak, without a URL', async () => {
    const { crossings } = await preview({
      protocol: 'generate-content',
      body: { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
      model: 'house/model',
      stream: true,
      everyWire: true,
    });
    const open = crossings.filter(({ provider }) => provider === 'open');
    expect(open.map(({ wire, isSpoken }) => [wire, isSpoken])).toEqual([
      ['chat-completions', true],
      ['responses', true],
      ['messages', false],
      ['generate-content', false],
    ]);
    expect(open[2]?.request?.url).toBeUndefined();
    expect(JSON.parse(open[2]?.request?.body ?? '')).toMatchObject({ messages: [{ role: 'user' }] });
  });

  it('follows an alias, and says for a token count who answers it', async () => {
    const { crossings, error } = await preview({
      protocol: 'messages',
      operation: 'count',
      body: { messages: hello.messages },
      model: 'own/alias',
    });
    expect(error).toBeUndefined();
    expect(crossings.map(({ provider, wire, lane }) => [provider, wire, lane])).toEqual([
      ['open', 'responses', 'translated'],
      ['open', 'chat-completions', 'estimated'],
      ['signing', 'messages', 'verbatim'],
    ]);
  });

  it('signs, sends and fetches nothing, and shows no credential', async () => {
    const content = [{ type: 'image_url', image_url: { url: 'https://pictures.example/cat.png' } }];
    const body = { max_tokens: 20, messages: [{ role: 'user', content }] };
    const { text } = await listener.ask('POST', '/crossing', {
      protocol: 'chat-completions',
      body,
      model: 'house/model',
      everyWire: true,
    });
    expect(text).toContain('signing.example');
    expect(text).not.toContain(secret);
    expect([signed, sent, listener.gateway.ends.length]).toEqual([0, 0, 0]);
  });

  it('names the field of an invalid request', async () => {
    for (const [order, param] of [
      [{ body: {}, model: 'house/model' }, 'protocol'],
      [{ protocol: 'smoke-signals', body: {} }, 'protocol'],
      [{ protocol: 'chat-completions', body: 7 }, 'body'],
      [{ protocol: 'chat-completions', body: {}, nonsense: 1 }, 'nonsense'],
      [{ protocol: 'chat-completions', body: {}, operation: 'edit' }, 'operation'],
      [{ protocol: 'generate-content', body: {} }, 'model'],
    ] as const)
      expect(await listener.ask('POST', '/crossing', order)).toMatchObject({
        status: 400,
        body: { error: { param } },
      });
  });

  it('answers 20 kB of hostile text in every field without failing', async () => {
    const long = `<script>alert(1)</script>\u0000"'{}[]${'💥'.repeat(10_000)}`;
    for (const order of [
      { protocol: long, body: {} },
      { protocol: 'chat-completions', body: long, model: 'house/model' },
      { protocol: 'chat-completions', body: { [long]: long, messages: [{ role: long, content: long }] } },
      { protocol: 'chat-completions', body: { ...hello, [long]: long }, model: 'house/model' },
      { protocol: 'generate-content', body: { contents: [] }, model: long.slice(0, 300) },
      { protocol: 'messages', body: hello, model: 'house/model', headers: { 'anthropic-beta': long } },
    ])
      expect((await listener.ask('POST', '/crossing', order)).status).toBeLessThan(500);
  });

  it('is for operators alone', async () => {
    const response = await fetch(`${listener.url}/admin/crossing`, { method: 'POST' });
    expect(response.status).toBe(401);
    await response.arrayBuffer();
  });
});

it('the capabilities are listed by group, client and wire', async () => {
  const { body } = await listener.ask('GET', '/capabilities');
  expect(body).toMatchObject({
    groups: expect.arrayContaining([
      {
        name: 'conversation',
        capabilities: expect.arrayContaining([
          {
            name: 'developer message',
            cells: expect.objectContaining({
              responses: expect.objectContaining({ messages: 'approximated' }),
            }),
          },
        ]),
      },
    ]),
  });
});

it('what calls that are no conversations can ask for is listed with the wires of their own', async () => {
  const { body } = await listener.ask('GET', '/capabilities');
  expect(body).toMatchObject({
    groups: expect.arrayContaining([
      {
        name: 'scores',
        capabilities: expect.arrayContaining([
          {
            name: 'limit of a document',
            cells: {
              rerank: expect.objectContaining({ rerank: 'lost', 'cohere-rerank': 'works' }),
              'cohere-rerank': expect.objectContaining({ 'voyage-rerank': 'lost' }),
            },
          },
        ]),
      },
    ]),
  });
});

it('a call that is no conversation is shown by the wires of its family alone', async () => {
  const body = { query: 'a lamp', documents: ['A lamp', 'Tea'], max_tokens_per_doc: 100 };
  const order = { protocol: 'cohere-rerank', body, model: 'demo/rank', everyWire: true };
  const { crossings } = await preview(order);
  const lanes = crossings.map(({ wire, isSpoken, lane }) => [wire, isSpoken, lane]);
  expect(lanes).toContainEqual(['rerank', true, 'translated']);
  expect(lanes).toContainEqual(['cohere-rerank', false, 'verbatim']);
  expect(lanes.flatMap(([wire]) => (/rerank|rank$/.test(String(wire)) ? [] : wire))).toEqual([]);
  const spoken = crossings.find(({ isChosen }) => isChosen);
  expect(spoken?.losses.map(({ path }) => path)).toEqual(['max_tokens_per_doc']);
  expect(JSON.parse(spoken?.request?.body ?? '')).toMatchObject({ model: 'rank', query: 'a lamp' });
});
