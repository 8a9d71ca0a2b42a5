/** Bodies that `JSON.parse` would read for seconds are refused before it reads them. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { checkArguments } from '../../core/crossing/tool-results.ts';
import { parseJson } from '../../core/http/json-body.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { webSockets } from '../../plugins/protocols/responses/web-sockets.ts';
import { writesBriefly } from '../../plugins/shared/wire-kit/cache-writes.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { countOperations } from '../support/operations.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';
import { isEnd, openSocket } from '../support/web-socket.ts';

const million = 1_000_000;

function repeatItem(count: number, item: string | ((index: number) => string)): string {
  if (typeof item === 'string') return `${item},`.repeat(count).slice(0, -1);
  return Array.from({ length: count }, (_, index) => item(index)).join(',');
}

const bodies: readonly (readonly [kind: string, limit: string, body: () => string])[] = [
  ['open lists', 'deeper than 128 levels', () => `{"a":${'['.repeat(3 * million)}`],
  ['open objects', 'deeper than 128 levels', () => '{"a":'.repeat(million)],
  ['lists in lists', 'deeper than 128 levels', () => `{"a":${'['.repeat(million)}${']'.repeat(million)}}`],
  ['empty objects', 'more than 100000 fields', () => `{"a":[${repeatItem(million, '{}')}]}`],
  ['empty lists', 'more than 100000 fields', () => `{"a":[${repeatItem(million, '[]')}]}`],
  [
    'objects with names of their own',
    'more than 100000 fields',
    () => `{"a":[${repeatItem(300_000, (at) => `{"${at}":0}`)}]}`,
  ],
  ['short names', 'more than 100000 fields', () => `{"a":{${repeatItem(300_000, (at) => `"${at}":0`)}}}`],
  ['short strings', 'more than 500000 values', () => `{"a":[${repeatItem(600_000, (at) => `"${at}"`)}]}`],
  ['numbers', 'more than 500000 values', () => `{"a":[${repeatItem(2 * million, '0')}]}`],
];

it.each(bodies)('a long body of %s is refused before it is parsed: %s', async (_, limit, body) => {
  const bytes = Buffer.from(body());
  const parse = vi.spyOn(JSON, 'parse');
  try {
    expect(() => parseJson(bytes)).toThrow(limit);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});

it('a long body of backslashes is searched as a whole, and not once for each of them', () => {
  const text = JSON.stringify({ text: '\\\\'.repeat(million) });
  const bytes = Buffer.from(text);
  const searches = [vi.spyOn(bytes, 'includes'), vi.spyOn(String.prototype, 'includes')];
  try {
    parseJson(bytes);
    writesBriefly(text);
    for (const search of searches) expect(search).not.toHaveBeenCalled();
  } finally {
    for (const search of searches) search.mockRestore();
  }
});

it('a long body of one long text takes no more steps than a short one', async () => {
  const bytes = Buffer.from(JSON.stringify({ image: 'QUJD'.repeat(million), text: ':,[{'.repeat(million) }));
  const counter = countOperations();
  try {
    const { blocks } = await counter.of(() => parseJson(bytes));
    expect(blocks).toBeLessThan(10_000);
  } finally {
    counter.stop();
  }
});

it.each([
  [
    'messages',
    { messages: Array.from({ length: 30_000 }, () => ({ role: 'user', content: 'Hi! '.repeat(20) })) },
  ],
  ['numbers', { input: Array.from({ length: 499_000 }, (_, at) => at / 7) }],
  ['escaped text', { text: '\\"\n'.repeat(million) }],
])('a long body of %s that a real call may have is accepted', (_, value) => {
  const text = JSON.stringify(value);
  expect(text.length).toBeGreaterThan(million);
  expect(parseJson(Buffer.from(text)).value).toEqual(value);
});

it('a long body with a field twice is refused for it', () => {
  const body = `{"text":"${'\\":'.repeat(million)}","a":1,"a":2}`;
  expect(() => parseJson(Buffer.from(body))).toThrow('the field "a" twice');
});

/** A translated call whose conversation has called tools with these arguments. */
const check = (texts: readonly string[], custom = false): void =>
  checkArguments({
    model: 'house/model',
    stream: false,
    turns: texts.map((text, at) => ({
      role: 'assistant',
      blocks: [{ type: 'tool-call', id: `call_${at}`, name: 'look', arguments: text, custom }],
    })),
  });

it.each([
  ['lists', 'deeper than 128 levels', ['['.repeat(2 * million)]],
  ['names', 'more than 100000 fields', Array(12).fill(`{${repeatItem(10_000, (at) => `"name${at}":0`)}}`)],
  ['numbers', 'more than 500000 values', Array(3).fill(`{"a":[${repeatItem(200_000, '0')}]}`)],
  ['a broken text before others', '100000 fields', ['"', `[${repeatItem(million, '{}')}]`]],
])('the arguments of tool calls are refused together, before they are parsed: %s', (_, limit, texts) => {
  expect(() => check(texts)).toThrow(limit);
});

it('the arguments of tool calls may be long, and free text may be anything', () => {
  expect(() => check([JSON.stringify({ file: ':,[{'.repeat(million) })])).not.toThrow();
  expect(() => check(['['.repeat(2 * million)], true)).not.toThrow();
});

const names = `{"a":{${repeatItem(120_000, (at) => `"${at}":0`)}}}`;

it.each([
  ['fields', 'more than 100000 fields', names],
  ['fields beside a text that looks like one', 'more than 100000 fields', `{":)":0,${names.slice(1)}`],
  ['broken fields', 'more than 100000 fields', names.slice(0, -9)],
])('a body of one to two megabytes of %s is refused before it is parsed', (_, limit, text) => {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    expect(() => parseJson(Buffer.from(text))).toThrow(limit);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});

it.each([
  ['depth', 'deeper than 128 levels', `{"a":${'['.repeat(600_000)}${']'.repeat(600_000)}}`],
  ['lists', 'more than 100000 fields', `{"a":[${repeatItem(400_000, '[]')}]}`],
  ['values', 'more than 500000 values', `{"a":[${repeatItem(600_000, '0')}]}`],
])('a body of one to two megabytes is refused for its %s', (_, limit, text) => {
  expect(() => parseJson(Buffer.from(text))).toThrow(limit);
});

it('a body of one to two megabytes is not refused for what its texts contain', () => {
  const value = { ':)': 'a', text: ',":[{'.repeat(250_000) };
  expect(parseJson(Buffer.from(JSON.stringify(value))).value).toEqual(value);
});

it('a short body is never refused for its values, since too few fit into it', () => {
  const zeros = `{"a":[${repeatItem(499_996, '0')}]}`;
  expect(zeros.length).toBeGreaterThan(999_990);
  expect(() => parseJson(Buffer.from(zeros))).not.toThrow();
  expect(() => parseJson(Buffer.from(zeros.replace('[', '[         ')))).not.toThrow();
});

describe('the gateway', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({
      plugins: [
        acceptAnyKey(),
        tappedVendor('house', ['messages'], () => ({ body: '{}' }), { contextLength: 10 * million }),
        chatCompletions(),
        messages(),
        responses(),
        webSockets(),
      ],
    });
  });

  it.each([
    ['open lists', '['.repeat(5 * million), 'nested deeper than 128 levels'],
    ['numbers', `[${repeatItem(million, '0')}]`, 'more than 500000 values'],
    [
      'arguments for another protocol',
      `[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function",
        "function":{"name":"look","arguments":"${'['.repeat(2 * million)}"}}]}]`,
      'nested deeper than 128 levels',
    ],
  ])('answers a long body of %s with a 400 that names the limit', async (_, value, limit) => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"model":"house/model","messages":${value}}`,
    });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { message: expect.stringContaining(limit) } },
    ]);
  });

  it('gives a frame of a WebSocket the limits of a body, and at most 16 MiB', async () => {
    const client = await openSocket(gateway.url, 'any-key');
    for (const [limit, input] of [
      ['deeper than 128 levels', '['.repeat(5 * million)],
      ['more than 100000 fields', `[${repeatItem(million, '{}')}]`],
      ['more than 500000 values', `[${repeatItem(million, '0')}]`],
    ]) {
      const from = client.frames.length;
      client.socket.send(`{"type":"response.create","model":"house/model","input":${input}}`);
      expect(await client.waitFor(isEnd, from)).toMatchObject({
        error: { message: expect.stringContaining(limit ?? '') },
      });
    }
    client.socket.send(' '.repeat(2 ** 24 + 1));
    expect(await client.closed).toBe(1009);
  });
});
