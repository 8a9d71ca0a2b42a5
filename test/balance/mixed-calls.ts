/**
 * Calls of every protocol, streamed and whole, on models with every form of price, with usage that a provider
 * might send; and the cost of each, computed from the provider's own wire with decimal numbers and none of
 * the gateway's code.
 */
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { checkModel, definePlugin, type UpstreamRequest } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { makeFolder } from '../support/folder.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import { sumInput, type Figures, drawFigures, computeCost, paintings, shapes } from './mixed-figures.ts';

function joinEvents(frames: readonly (readonly [type: string, data: object])[]): string {
  return frames
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    .join('');
}

function buildChatReply(figures: Figures, stream: boolean): string {
  const usage = {
    prompt_tokens: sumInput(figures),
    completion_tokens: figures.output,
    total_tokens: sumInput(figures) + figures.output,
    prompt_tokens_details: { cached_tokens: figures.cached, audio_tokens: figures.audioIn },
    completion_tokens_details: { reasoning_tokens: figures.reasoning, audio_tokens: figures.audioOut },
  };
  if (!stream) return JSON.stringify(chatReply('Yes.', { usage }));
  return chunk({ role: 'assistant', content: 'Yes.' }) + chunk({}, 'stop') + ending(usage);
}

function buildMessagesReply(
  { fresh, cached, written5m, written1h, output, searches }: Figures,
  stream: boolean,
): string {
  const cache = {
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written5m + written1h,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
  };
  const usage = {
    input_tokens: fresh,
    ...cache,
    output_tokens: output,
    server_tool_use: { web_search_requests: searches },
  };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: null,
    stop_sequence: null,
  };
  if (!stream)
    return JSON.stringify({
      ...message,
      content: [{ type: 'text', text: 'Yes.' }],
      stop_reason: 'end_turn',
      usage,
    });
  return joinEvents([
    ['message_start', { message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } }],
    ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Yes.' } }],
    ['content_block_stop', { index: 0 }],
    [
      'message_delta',
      {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: output, server_tool_use: { web_search_requests: searches } },
      },
    ],
    ['message_stop', {}],
  ]);
}

/** A picture of one pixel. */
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function buildImagesReply(figures: Figures): string {
  const { cached, imageIn, output, imageOut, pictures } = figures;
  const usage = {
    input_tokens: sumInput(figures),
    input_tokens_details: {
      text_tokens: sumInput(figures) - imageIn,
      image_tokens: imageIn,
      cached_tokens: cached,
    },
    output_tokens: output,
    output_tokens_details: { image_tokens: imageOut, text_tokens: output - imageOut },
    total_tokens: sumInput(figures) + output,
  };
  return JSON.stringify({
    created: 1,
    data: Array.from({ length: pictures }, () => ({ b64_json: pixel })),
    usage,
  });
}

const replies: Readonly<Record<string, (figures: Figures, stream: boolean) => string>> = {
  'chat-completions': buildChatReply,
  messages: buildMessagesReply,
  images: buildImagesReply,
};

/** A provider searches, and writes to its cache, only for calls that ask for it. */
function adjustFigures(figures: Figures, body: string): Figures {
  const searches = body.includes('"web_search') ? figures.searches : 0;
  if (!body.includes('"cache_control"')) return { ...figures, searches, written5m: 0, written1h: 0 };
  return { ...figures, searches, written1h: body.includes('"1h"') ? figures.written1h : 0 };
}

async function* yieldOnce(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const painting = {
  output: ['image' as const],
  capabilities: {
    image: {
      tokens: { low: 1000 },
      sizes: { auto: 'auto' },
      qualities: { low: 'low' },
      formats: { png: 'png' },
      backgrounds: { auto: 'auto' },
    },
  },
};

/** A provider for each of three wires; records what it answers to a call under the call's id. */
function defineVendor(wire: string, record: Map<string, Figures>, draw: (most: number) => number) {
  return definePlugin({
    name: `${wire}-vendor`,
    options: z.strictObject({}),
    apply(host) {
      const provider = {
        name: `${wire}-vendor`,
        endpoints: { [wire]: `http://${wire}.invalid/` },
        sign: (request: UpstreamRequest) => request,
      };
      host.providers.add(provider);
      host.catalog.offer(
        provider,
        Object.entries(wire === 'images' ? paintings : shapes).map(([name, price]) =>
          checkModel({
            id: `${wire}/${name}`,
            upstream: name,
            name,
            description: '',
            created: '2026-01-01',
            contextLength: 100_000,
            outputLimit: 5000,
            input: ['text', 'audio'],
            output: ['text', 'audio'],
            ...(wire === 'images' ? painting : {}),
            price: { ...price, tiers: price.tiers ? [...price.tiers] : [] },
          }),
        ),
      );
      host.hooks.dispatch.tapPromise(provider.name, async (request, { attempt, id }) => {
        if (attempt.target.provider !== provider) return undefined;
        attempt.sent = true;
        const figures = adjustFigures(drawFigures(wire, draw), String(request.body));
        record.set(id, figures);
        const stream = String(request.body).includes('"stream":true');
        return {
          status: 200,
          headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
          body: yieldOnce(replies[wire]?.(figures, stream) ?? ''),
        };
      });
    },
  })();
}

const version = { 'anthropic-version': '2023-06-01' };

const marked = [
  { type: 'text', text: 'Is it so?', cache_control: { type: 'ephemeral', ttl: '1h' } },
  { type: 'text', text: 'Is it?', cache_control: { type: 'ephemeral' } },
];

/** Only the wire of messages has this search, and a call for nothing else is refused on others. */
function buildSearchTools(model: string): object {
  const [wire, name = ''] = model.split('/');
  return wire === 'messages' && shapes[name]?.webSearch !== undefined
    ? { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }
    : {};
}

/** A call of each protocol: its path and its body. */
const families: readonly ((
  model: string,
  stream: boolean,
) => readonly [path: string, body: object, headers?: Record<string, string>])[] = [
  (model, stream) => [
    '/v1/chat/completions',
    { model, stream, max_tokens: 2000, messages: [{ role: 'user', content: 'Is it so?' }] },
  ],
  (model, stream) => ['/v1/responses', { model, stream, max_output_tokens: 2000, input: 'Is it so?' }],
  (model, stream) => [
    '/alpha/v1/messages',
    { model, stream, max_tokens: 2000, messages: [{ role: 'user', content: 'Is it so?' }] },
    version,
  ],
  (model, stream) => [
    '/alpha/v1/messages',
    {
      model,
      stream,
      max_tokens: 2000,
      messages: [{ role: 'user', content: marked }],
      ...buildSearchTools(model),
    },
    version,
  ],
  (model, stream) => [
    `/beta/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    {
      contents: [{ role: 'user', parts: [{ text: 'Is it so?' }] }],
      generationConfig: { maxOutputTokens: 2000 },
    },
  ],
];

function paint(model: string): readonly [path: string, body: object, headers?: Record<string, string>] {
  return ['/v1/images/generations', { model, prompt: 'Is it so?', quality: 'low', size: 'auto', n: 3 }];
}

/** Makes so many calls, some at once; `draw` returns a whole number below its argument. */
export async function expectMixedCallsPaid(count: number, draw: (most: number) => number): Promise<void> {
  const folder = makeFolder();
  const record = new Map<string, Figures>();
  const gateway = await startGateway({
    dataFolder: folder,
    plugins: [
      bearer(),
      ...textProtocols(),
      defineVendor('chat-completions', record, draw),
      defineVendor('messages', record, draw),
      images(),
      defineVendor('images', record, draw),
      balance({ firstCredit: '0' }),
    ],
  });
  const key = await gateway.newKey({ account: 'a', credit: '1000000' });
  const statuses: Record<number, number> = {};
  const expected = new Map<string, bigint>();
  const names = Object.keys(shapes);
  let left = count;
  const runLane = async (): Promise<void> => {
    for (; left > 0;) {
      left -= 1;
      const paints = draw(8) === 0;
      const wire = paints ? 'images' : draw(2) ? 'messages' : 'chat-completions';
      const [shape, stream] = [
        paints ? (draw(2) ? 'painted' : 'apiece') : (names[draw(names.length)] ?? 'plain'),
        draw(5) > 0,
      ];
      const family = paints ? paint : families[draw(families.length)];
      const [path, body, headers] = family?.(`${wire}/${shape}`, stream) ?? ['', {}];
      const response = await postJson(gateway.url + path, body, {
        authorization: `Bearer ${key}`,
        ...headers,
      });
      await response.arrayBuffer();
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      const id = response.headers.get('x-request-id') ?? '';
      const figures = record.get(id);
      if (figures)
        expected.set(
          id,
          computeCost(figures, shapes[shape] ?? paintings[shape] ?? { input: '0', output: '0' }),
        );
      record.delete(id);
    }
  };
  await Promise.all(Array.from({ length: 16 }, runLane));
  await gateway.close();
  const store = await openSqlite({ file: join(folder, 'ledger.db') });
  const charged = new Map<string, bigint>();
  let after: number | undefined;
  for (;;) {
    const page = await store.listEntries({ kinds: ['post', 'overage', 'void'], limit: 5000, after });
    for (const { call = '', revenue } of page) charged.set(call, (charged.get(call) ?? 0n) + revenue);
    if (page.length === 0) break;
    after = page.at(-1)?.number;
  }
  expect(statuses).toEqual({ 200: count });
  expect(expected.size).toBe(count);
  for (const [id, cost] of expected) expect([id, charged.get(id)]).toEqual([id, cost]);
  expect((await store.readBalance('a'))?.used).toBe(expected.values().reduce((sum, cost) => sum + cost, 0n));
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
  await store.close();
}
