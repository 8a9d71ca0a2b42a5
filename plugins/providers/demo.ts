/**
 * Models that need no key and no network, so that a newcomer sees a call, its stream, a picture and their
 * prices within the first minute. The same request always gets the same answer: `demo/echo` quotes what it
 * was sent, calls the first tool it is offered, and repeats what the tool answered.
 */
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import { z } from 'zod';
import {
  checkModel,
  definePlugin,
  resolvePointer,
  type CanonicalEvent,
  type CanonicalRequest,
  type ClientCall,
  type Provider,
  type Routed,
  type UpstreamRequest,
  type UpstreamResponse,
} from '../../core/index.ts';
import { resolveSetting } from '../shared/wire-kit/image-settings.ts';
import { ReplyLog } from '../shared/wire-kit/reply-log.ts';
import { readList, readMember } from '../shared/wire-kit/values.ts';
import { isObject } from '../shared/wire-kit/vendor-bag.ts';

const provider: Provider = {
  name: 'demo',
  endpoints: { 'chat-completions': 'http://demo.invalid/chat', images: () => 'http://demo.invalid/images' },
  sign: (request) => request,
};

const echo = checkModel({
  id: 'demo/echo',
  created: '2026-07-02',
  upstream: 'echo',
  name: 'Demo Echo',
  description: 'Answers offline by quoting what it was sent; its small price is real to the ledger.',
  contextLength: 262_144,
  outputLimit: 16_384,
  input: ['text'],
  output: ['text'],
  price: { input: '0.10', output: '0.40' },
  supportedParameters: ['max_tokens', 'n', 'response_format', 'stop', 'tool_choice', 'tools'],
  protocols: ['chat-completions'],
});

function mapToSelf(values: string): Record<string, string> {
  return Object.fromEntries(values.split(' ').map((value) => [value, value]));
}

const painter = checkModel({
  id: 'demo/paint',
  created: '2026-07-02',
  upstream: 'paint',
  name: 'Demo Paint',
  description: 'Paints bands of colour offline; each picture has a small price that is real to the ledger.',
  contextLength: 262_144,
  outputLimit: 512,
  input: ['text', 'image'],
  output: ['image'],
  price: { input: '0', output: '0', image: '0.002' },
  protocols: ['images'],
  capabilities: {
    tools: false,
    structuredOutput: false,
    sampling: false,
    image: {
      tokens: { auto: 512 },
      sizes: mapToSelf('auto 256x256 512x512 1024x1024 1536x1024 1024x1536 1792x1024 1024x1792'),
      qualities: { ...mapToSelf('auto low medium high'), standard: 'medium', hd: 'high' },
      formats: mapToSelf('png'),
      backgrounds: mapToSelf('auto opaque'),
    },
  },
});

export const demo = definePlugin({
  name: 'demo',
  /** Milliseconds between two words of a stream, so that one can see it flow. */
  options: z.strictObject({ pace: z.int().nonnegative().default(20) }),
  apply(host, { pace }) {
    host.providers.add(provider);
    host.catalog.offer(provider, [echo, painter]);
    host.hooks.dispatch.tap('demo', (request, routed) =>
      routed.attempt.target.provider === provider ? answer(request, routed, pace) : undefined,
    );
  },
});

/** Answers with canonical events, which the client side of the wire writes. */
function answer({ body }: UpstreamRequest, routed: Routed, pace: number): UpstreamResponse {
  const { id, receivedAt, attempt } = routed;
  const { signal, target } = attempt;
  attempt.sent = true;
  const { capabilities, id: model } = target.model;
  const { client } = target.protocol;
  const text = Buffer.from(body).toString('utf8');
  const paints = target.model === painter;
  const call = paints ? routed.call : client.read(JSON.parse(text), text, { operation: 'generate' }, {});
  const events = paints ? paint(call) : writeWords(call, id);
  const context = { id, created: Math.floor(receivedAt / 1000), model, call, capabilities };
  async function* write(): AsyncGenerator<Uint8Array> {
    if (!call.stream) {
      const reply = client.encodeReply(await Array.fromAsync(events), context);
      return yield Buffer.from(JSON.stringify(reply));
    }
    const encoder = client.encodeEvents(context);
    for await (const event of events) {
      if (event.type === 'block-delta' && pace > 0) await pause(pace, undefined, { signal });
      signal.throwIfAborted();
      yield Buffer.from(encoder.push(event));
    }
    yield Buffer.from(encoder.push({ type: 'response-end' }));
  }
  const type = call.stream ? 'text/event-stream; charset=utf-8' : 'application/json';
  return { status: 200, headers: { 'content-type': type }, body: write() };
}

const introduction =
  "This is Tollgate's demo model. It answers offline and knows nothing but what you send it.";
const bytesPerToken = 4;
/** The demo model's own measure, by which it is billed. */
function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

/** Yields the events of a reply, word by word. `id` makes the ids of tool calls unique. */
function* writeWords(call: ClientCall, id: string): Generator<CanonicalEvent> {
  const request = call.decode();
  const { turns, tools = [], toolChoice: choice } = request;
  const isAsked = turns.at(-1)?.role === 'user' && choice?.mode !== 'none';
  const functions = isAsked ? tools.filter((tool) => tool.type === 'function') : [];
  const tool = functions.find(({ name }) => choice?.names?.includes(name) ?? true);
  const whole = tool ? JSON.stringify(buildExample(tool.schema)) : buildText(request);
  // Within the limit, which leaves no half character at the end.
  const room = new Uint8Array(Math.min((call.outputLimit ?? Infinity) * bytesPerToken, whole.length * 3));
  const text = whole.slice(0, new TextEncoder().encodeInto(whole, room).read);
  const end = tool ? 'tool-calls' : 'stop';
  const reason = { unified: text.length < whole.length ? 'length' : end, raw: '' } as const;
  const log = new ReplyLog();
  for (let candidate = 0; candidate < call.candidates; candidate += 1) {
    const block = tool
      ? log.startBlock(candidate, 'tool-call', { id: `call_${id}_${candidate}`, name: tool.name })
      : log.startBlock(candidate, 'text');
    for (const piece of text.match(tool ? /.{1,12}/gsu : /\S+\s*|\s+/g) ?? []) {
      log.addText(candidate, block, piece);
      yield* log.take();
    }
    log.endBlock(candidate, block);
    log.emit({ type: 'finish', candidate, reason });
  }
  // Media are not counted, since the demo model does not read them.
  const read = JSON.stringify({ turns, tools }, (key, value) => (key === 'source' ? undefined : value));
  yield* log.take();
  yield { type: 'usage', usage: { input: countTokens(read), output: countTokens(text) * call.candidates } };
}

/** The text of a turn, or of the results of tools in it. */
function joinText({ blocks }: CanonicalRequest['turns'][number]): string {
  return blocks
    .flatMap((block) => (block.type === 'tool-result' ? block.content : block))
    .map((block) => (block.type === 'text' ? block.text : ''))
    .join('');
}

function buildText({ turns, format, stop = [] }: CanonicalRequest): string {
  if (format?.type === 'schema') return JSON.stringify(buildExample(format.schema));
  const results = turns.slice(turns.findLastIndex(({ role }) => role !== 'tool') + 1);
  const quoted = results.length > 0 ? results : turns.filter(({ role }) => role === 'user').slice(-1);
  const said = quoted.map(joinText).join('\n');
  const [start = ''] = /^.{0,500}/su.exec(said) ?? [];
  const quote = start === said ? said : `${start}…`;
  if (format?.type === 'json') return JSON.stringify({ note: introduction, you_said: quote });
  const whole = `${introduction} ${results.length > 0 ? 'The tool answered' : 'You said'}: ${quote}`;
  return stop.reduce((text, sequence) => text.split(sequence)[0] ?? '', whole);
}

/**
 * A plain value that fits a JSON Schema, for the arguments of a call and for answers in JSON. Schemas come
 * from strangers: beyond a hundred values, or a depth of eight, all are null.
 */
function buildExample(root: unknown = { type: 'object' }): unknown {
  let valuesLeft = 100;
  const build = (schema: unknown, depth: number): unknown => {
    valuesLeft -= 1;
    if (!isObject(schema) || depth > 8 || valuesLeft < 0) return null;
    const buildInner = (part: unknown): unknown => build(part, depth + 1);
    if (typeof schema.$ref === 'string') return buildInner(resolvePointer(root, schema.$ref));
    const [listed] = 'const' in schema ? [schema.const] : readList(schema.enum);
    const [choice] = readList(schema.anyOf ?? schema.oneOf ?? schema.allOf);
    if (choice !== undefined) return buildInner(choice);
    const { type: types = schema.properties ? 'object' : 'string', properties, minimum = 1 } = schema;
    const [type] = [types].flat();
    if (listed !== undefined || type === 'null') return listed ?? null;
    if (type === 'array') return schema.minItems ? [buildInner(schema.items ?? {})] : [];
    if (type === 'integer' || type === 'number') return minimum;
    if (type !== 'object') return type === 'boolean' ? true : 'example';
    const names = readList(schema.required).slice(0, valuesLeft).map(String);
    return Object.fromEntries(names.map((name) => [name, buildInner(readMember(properties, name) ?? {})]));
  };
  return build(root, 0);
}

/** Yields the events of a reply on the images wire. */
async function* paint(call: ClientCall): AsyncGenerator<CanonicalEvent> {
  const { turns, image = {} } = call.decode();
  const size = resolveSetting('size', image, painter.capabilities.image);
  const prompt = turns.map(joinText).join('\n');
  const partials = (call.stream && image.partials) || 0;
  for (let index = 0; index < partials; index += 1) {
    const data = await drawPng(`${prompt} 0`, size, index / partials);
    yield { type: 'partial-image', candidate: 0, index, data };
  }
  const log = new ReplyLog();
  for (let candidate = 0; candidate < call.candidates; candidate += 1) {
    const block = log.startBlock(candidate, 'image', { mediaType: 'image/png' });
    log.addText(candidate, block, await drawPng(`${prompt} ${candidate}`, size));
    log.endBlock(candidate, block);
  }
  yield* log.take();
  yield { type: 'usage', usage: { input: countTokens(prompt), output: 256 * call.candidates } };
}

function writeNumber(value: number): Buffer {
  return Buffer.from(value.toString(16).padStart(8, '0'), 'hex');
}

function buildChunk(type: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  return Buffer.concat([writeNumber(data.length), named, writeNumber(crc32(named))]);
}

/** A PNG in base64, whose pixels are the indexes of ten colours. What is not yet painted is black. */
async function drawPng(subject: string, size: string, share = 1): Promise<string> {
  const [width = 1024, height = 1024] = size === 'auto' ? [] : size.split('x').map(Number);
  // A line begins with the number of its filter, which is 0.
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height * share; y += 1)
    lines.fill(1 + Math.floor((y / height) * 10), y * (width + 1) + 1, (y + 1) * (width + 1));
  const paletted = Buffer.from([8, 3, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    buildChunk('IHDR', Buffer.concat([writeNumber(width), writeNumber(height), paletted])),
    buildChunk('PLTE', Buffer.concat([Buffer.alloc(3), hash('sha256', subject, 'buffer').subarray(2)])),
    buildChunk('IDAT', await promisify(deflate)(lines)),
    buildChunk('IEND', Buffer.alloc(0)),
  ]).toString('base64');
}
