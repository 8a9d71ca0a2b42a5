/**
 * Providers that cut their deltas between the halves of an emoji: clients of every protocol get whole
 * characters, in text, reasoning and arguments of tools.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { createHost } from '../support/host.ts';
import { postJson } from '../support/post.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

const wires = ['chat-completions', 'responses', 'messages', 'generate-content'];
const face = '\u{1f600}';
const [first = '', second = ''] = face.split('');

const place = { candidate: 0, block: 0 };
const events: CanonicalEvent[] = [
  { type: 'response-start', id: 'r1', model: 'm' },
  { type: 'block-start', ...place, kind: 'reasoning' },
  { type: 'block-delta', ...place, text: `thought ${first}` },
  { type: 'block-delta', ...place, text: `${second} one` },
  { type: 'block-end', ...place },
  { type: 'block-start', ...place, block: 1, kind: 'text' },
  { type: 'block-delta', ...place, block: 1, text: first },
  { type: 'block-delta', ...place, block: 1, text: `${second} two ${first}` },
  { type: 'block-delta', ...place, block: 1, text: second },
  { type: 'block-delta', ...place, block: 1, text: 'escaped \\ud83d' },
  { type: 'block-end', ...place, block: 1 },
  { type: 'block-start', ...place, block: 2, kind: 'tool-call', id: 'call_1', name: 'find' },
  { type: 'block-delta', ...place, block: 2, text: `{"what":"three ${first}` },
  { type: 'block-delta', ...place, block: 2, text: `${second}"}` },
  { type: 'block-end', ...place, block: 2 },
  { type: 'usage', usage: { input: 5, output: 9 } },
  { type: 'finish', candidate: 0, reason: { unified: 'tool-calls', raw: 'tool_calls' } },
  { type: 'response-end' },
];

const tool = { name: 'find', description: 'Finds.' };
const schema = { type: 'object', properties: { what: { type: 'string' } } };
const requests: Readonly<Record<string, { readonly path: string; readonly body: object }>> = {
  'chat-completions': {
    path: '/v1/chat/completions',
    body: {
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ type: 'function', function: { ...tool, parameters: schema } }],
      reasoning_effort: 'low',
      stream_options: { include_usage: true },
    },
  },
  responses: {
    path: '/v1/responses',
    body: {
      input: 'x',
      tools: [{ type: 'function', ...tool, parameters: schema }],
      reasoning: { effort: 'low', summary: 'auto' },
    },
  },
  messages: {
    path: '/v1/messages',
    body: {
      max_tokens: 3000,
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ ...tool, input_schema: schema }],
      thinking: { type: 'enabled', budget_tokens: 1024 },
    },
  },
  'generate-content': {
    path: '/v1beta/models/MODEL:streamGenerateContent?alt=sse',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
      tools: [{ functionDeclarations: [{ ...tool, parametersJsonSchema: schema }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    },
  },
};

/** The reply of a provider: what our own encoder writes for its clients, cut as the events are. */
function writeReply(wire: string): string {
  const { client } = createHost(textProtocols()).protocols.get(wire);
  const { path = '', body = {} } = requests[wire] ?? {};
  const match = client.match('POST', path.split('?')[0] ?? '', 'alt=sse') ?? { operation: 'generate' };
  const asked = { model: 'house/m', stream: true, ...body };
  const call = client.read(asked, JSON.stringify(asked), match, { 'anthropic-version': '2023-06-01' });
  const encoder = client.encodeEvents({ id: 'r1', model: 'm', created: 1, call });
  const frames = events.map((event) => encoder.push(event)).join('');
  return wire === 'chat-completions' && !frames.includes('[DONE]') ? `${frames}data: [DONE]\n\n` : frames;
}

function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : [];
}

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      ...textProtocols(),
      ...wires.map((wire) =>
        tappedVendor(`at-${wire}`, [wire], () => ({ body: writeReply(wire) }), { id: `house/${wire}` }),
      ),
    ],
  });
});
afterAll(() => gateway.close());

const pairs = wires.flatMap((wire) => wires.map((client) => [wire, client]));

it.each(wires)('a reply cut within characters is what the fake of %s sends', (wire) => {
  expect(writeReply(wire)).toContain('\\ud83d"');
});

it.each(pairs)(
  'a reply cut within characters on %s reaches clients of %s in whole characters',
  async (wire, client) => {
    const { path, body } = requests[client] ?? { path: '', body: {} };
    const model = `house/${wire}`;
    const asked = client === 'generate-content' ? body : { model, stream: true, ...body };
    const headers = { 'anthropic-version': '2023-06-01' };
    const response = await postJson(gateway.url + path.replace('MODEL', model), asked, headers);
    const sent = await response.text();
    expect(response.status, sent).toBe(200);
    const frames = [...sent.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']): unknown => JSON.parse(json));
    const texts = frames.flatMap(listTexts);
    expect(texts.filter((text) => !text.isWellFormed() || text.includes('\ufffd'))).toEqual([]);
    const all = texts.join('');
    for (const words of ['thought ', ' one', ' two ', 'escaped \\ud83d', 'three '])
      expect(all).toContain(words);
    expect(all.split(face).length).toBeGreaterThan(4);
  },
);
