/**
 * Calls of every protocol, streamed and whole, on models with every form of price, with usage that a provider
 * might send; and the cost of each, computed from the provider's own wire with decimal numbers and none of
 * the gateway's code.
 */
import { join } from 'node:path';
import { Decimal } from 'decimal.js';
import { z } from 'zod';
import { checkModel, definePlugin, type UpstreamRequest } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import type { AuditReport } from '../../plugins/meters/balance/audit-report.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { startGateway } from '../support/gateway.ts';
import { temporaryFolder } from './ledger-file.ts';

/** USD for a million tokens, and separate fees. */
interface Rates {
  readonly input: string;
  readonly output: string;
  readonly cacheRead?: string;
  readonly cacheWrite5m?: string;
  readonly cacheWrite1h?: string;
  readonly reasoning?: string;
  readonly inputAudio?: string;
  readonly outputAudio?: string;
  readonly inputImage?: string;
  readonly outputImage?: string;
}

interface Shape extends Rates {
  readonly image?: string;
  readonly request?: string;
  readonly webSearch?: string;
  readonly tiers?: readonly (Rates & { readonly above: number })[];
}

const shapes: Readonly<Record<string, Shape>> = {
  plain: { input: '0.15', output: '0.6' },
  fractions: { input: '0.0375', output: '0.000000001' },
  cached: { input: '2.5', output: '10', cacheRead: '1.25' },
  written: { input: '3', output: '15', cacheRead: '0.3', cacheWrite5m: '3.75', cacheWrite1h: '6' },
  reasoned: { input: '1.1', output: '4.4', cacheRead: '0.275', reasoning: '3.333333333' },
  spoken: { input: '2.5', output: '10', inputAudio: '40', outputAudio: '80', cacheRead: '1.25' },
  searched: { input: '1', output: '5', request: '0.0005', webSearch: '0.01' },
  tiered: {
    input: '1.25',
    output: '10',
    cacheRead: '0.31',
    tiers: [
      { above: 1000, input: '2.5', output: '15', cacheRead: '0.625' },
      { above: 2500, input: '5', output: '20' },
    ],
  },
};

/** What image models cost: by tokens, or by image. */
const paintings: Readonly<Record<string, Shape>> = {
  painted: { input: '5', output: '10', cacheRead: '1.25', inputImage: '8', outputImage: '32' },
  apiece: { input: '0', output: '0', image: '0.0417' },
};

/** Usage as two providers' wires report it: all input with its cached part inside, or beside it. */
interface Figures {
  readonly fresh: number;
  readonly cached: number;
  readonly written5m: number;
  readonly written1h: number;
  readonly audioIn: number;
  readonly output: number;
  readonly reasoning: number;
  readonly audioOut: number;
  readonly searches: number;
  readonly imageIn: number;
  readonly imageOut: number;
  readonly pictures: number;
}

function inputOf({ fresh, cached, written5m, written1h, audioIn, imageIn }: Figures): number {
  return fresh + cached + written5m + written1h + audioIn + imageIn;
}

/**
 * The cost kind by kind, where a kind without a rate has the rate of the whole; rounded once, half to even.
 */
function expectedCost(figures: Figures, shape: Shape): bigint {
  const tier = (shape.tiers ?? []).filter(({ above }) => inputOf(figures) > above).at(-1);
  const rates: Rates = tier ?? shape;
  const million = (count: number, rate: string): Decimal =>
    new Decimal(count).times(rate).dividedBy(1_000_000);
  const {
    fresh,
    cached,
    written5m,
    written1h,
    audioIn,
    output,
    reasoning,
    audioOut,
    searches,
    imageIn,
    imageOut,
    pictures,
  } = figures;
  const sum = Decimal.sum(
    million(fresh, rates.input),
    million(cached, rates.cacheRead ?? rates.input),
    million(written5m, rates.cacheWrite5m ?? rates.input),
    million(written1h, rates.cacheWrite1h ?? rates.input),
    million(audioIn, rates.inputAudio ?? rates.input),
    million(imageIn, rates.inputImage ?? rates.input),
    million(output - reasoning - audioOut - imageOut, rates.output),
    million(imageOut, rates.outputImage ?? rates.output),
    million(reasoning, rates.reasoning ?? rates.output),
    million(audioOut, rates.outputAudio ?? rates.output),
    shape.request ?? '0',
    new Decimal(shape.webSearch ?? '0').times(searches),
    new Decimal(shape.image ?? '0').times(pictures),
  );
  return BigInt(sum.times(1_000_000_000).toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN).toFixed(0));
}

/** The wire of messages has no audio, and that of chat-completions no cache writes. */
function drawFigures(wire: string, draw: (most: number) => number): Figures {
  if (wire === 'images') {
    const [pictures, imageOut] = [1 + draw(3), 1 + draw(1000)];
    return {
      fresh: 1 + draw(500),
      cached: draw(50),
      imageIn: draw(300),
      imageOut,
      output: imageOut + draw(20),
      pictures,
      written5m: 0,
      written1h: 0,
      audioIn: 0,
      reasoning: 0,
      audioOut: 0,
      searches: 0,
    };
  }
  const isMessages = wire === 'messages';
  const [reasoning, audioOut] = [isMessages ? 0 : draw(300), isMessages ? 0 : draw(50)];
  return {
    fresh: 1 + draw(1500),
    cached: draw(2) ? draw(1500) : 0,
    written5m: isMessages ? draw(400) : 0,
    written1h: isMessages ? draw(400) : 0,
    audioIn: isMessages ? 0 : draw(100),
    output: 1 + draw(600) + reasoning + audioOut,
    reasoning,
    audioOut,
    searches: isMessages ? draw(3) : 0,
    imageIn: 0,
    imageOut: 0,
    pictures: 0,
  };
}

/** A provider searches, and writes to its cache, only for calls that ask for it. */
function asAsked(figures: Figures, body: string): Figures {
  const searches = body.includes('"web_search') ? figures.searches : 0;
  if (!body.includes('"cache_control"')) return { ...figures, searches, written5m: 0, written1h: 0 };
  return { ...figures, searches, written1h: body.includes('"1h"') ? figures.written1h : 0 };
}

function events(frames: readonly (readonly [type: string, data: object])[]): string {
  return frames
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    .join('');
}

function chatReply(figures: Figures, stream: boolean): string {
  const usage = {
    prompt_tokens: inputOf(figures),
    completion_tokens: figures.output,
    total_tokens: inputOf(figures) + figures.output,
    prompt_tokens_details: { cached_tokens: figures.cached, audio_tokens: figures.audioIn },
    completion_tokens_details: { reasoning_tokens: figures.reasoning, audio_tokens: figures.audioOut },
  };
  if (!stream)
    return JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
      usage,
    });
  return chunk({ role: 'assistant', content: 'Yes.' }) + chunk({}, 'stop') + ending(usage);
}

function messagesReply(
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
  return events([
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

function imagesReply(figures: Figures): string {
  const { cached, imageIn, output, imageOut, pictures } = figures;
  const usage = {
    input_tokens: inputOf(figures),
    input_tokens_details: {
      text_tokens: inputOf(figures) - imageIn,
      image_tokens: imageIn,
      cached_tokens: cached,
    },
    output_tokens: output,
    output_tokens_details: { image_tokens: imageOut, text_tokens: output - imageOut },
    total_tokens: inputOf(figures) + output,
  };
  return JSON.stringify({
    created: 1,
    data: Array.from({ length: pictures }, () => ({ b64_json: pixel })),
    usage,
  });
}

const replies: Readonly<Record<string, (figures: Figures, stream: boolean) => string>> = {
  'chat-completions': chatReply,
  messages: messagesReply,
  images: imagesReply,
};

async function* once(text: string): AsyncGenerator<Uint8Array> {
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
function vendor(wire: string, record: Map<string, Figures>, draw: (most: number) => number) {
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
        const figures = asAsked(drawFigures(wire, draw), String(request.body));
        record.set(id, figures);
        const stream = String(request.body).includes('"stream":true');
        return {
          status: 200,
          headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
          body: once(replies[wire]?.(figures, stream) ?? ''),
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

function searching(model: string): object {
  return shapes[model.replace(/^.*\//, '')]?.webSearch === undefined
    ? {}
    : { tools: [{ type: 'web_search_20250305', name: 'web_search' }] };
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
    { model, stream, max_tokens: 2000, messages: [{ role: 'user', content: marked }], ...searching(model) },
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

export interface Mixed {
  readonly calls: number;
  /** Calls whose entry differs from the cost of the provider's usage: id, charged, expected. */
  readonly wrong: readonly string[];
  readonly used: bigint;
  readonly expected: bigint;
  readonly statuses: Readonly<Record<number, number>>;
  readonly audit: AuditReport;
}

/** Makes so many calls, some at once; `draw` returns a whole number below its argument. */
export async function mixedCalls(count: number, draw: (most: number) => number): Promise<Mixed> {
  const folder = temporaryFolder();
  const record = new Map<string, Figures>();
  const gateway = await startGateway({
    dataFolder: folder.path,
    plugins: [
      bearer(),
      chatCompletions(),
      responses(),
      messages(),
      generateContent(),
      vendor('chat-completions', record, draw),
      vendor('messages', record, draw),
      images(),
      vendor('images', record, draw),
      balance({ firstCredit: '0' }),
    ],
  });
  const made = await gateway.verb('keys create', [], { account: 'a', credit: '1000000' });
  const key = typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
  const statuses: Record<number, number> = {};
  const expected = new Map<string, bigint>();
  const names = Object.keys(shapes);
  let left = count;
  const lane = async (): Promise<void> => {
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
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      await response.arrayBuffer();
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      const id = response.headers.get('x-request-id') ?? '';
      const figures = record.get(id);
      if (figures)
        expected.set(
          id,
          expectedCost(figures, shapes[shape] ?? paintings[shape] ?? { input: '0', output: '0' }),
        );
      record.delete(id);
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  await gateway.close();
  const store = await openSqlite({ file: join(folder.path, 'ledger.db') });
  const wrong: string[] = [];
  const charged = new Map<string, bigint>();
  let after: number | undefined;
  for (;;) {
    const page = await store.entries({ kinds: ['post', 'overage', 'void'], limit: 5000, after });
    for (const { call = '', revenue } of page) charged.set(call, (charged.get(call) ?? 0n) + revenue);
    if (page.length === 0) break;
    after = page.at(-1)?.number;
  }
  for (const [id, cost] of expected)
    if (charged.get(id) !== cost) wrong.push(`${id} ${charged.get(id)} ${cost}`);
  const [sums, audit] = [await store.balance('a'), await store.audit()];
  await store.close();
  folder.remove();
  return {
    calls: expected.size,
    wrong,
    used: sums?.used ?? 0n,
    expected: [...expected.values()].reduce((sum, cost) => sum + cost, 0n),
    statuses,
    audit,
  };
}
