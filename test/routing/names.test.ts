/** Model names that are not ids: bare names of the catalogue, the operator's aliases, and weighted splits. */
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { aliases } from '../../plugins/routing/aliases.ts';
import { bareNames } from '../../plugins/routing/bare-names.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { keyHeaders } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { startReplayingVendor, type ReplayingVendor } from '../support/replaying-vendor.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

let vendor: ReplayingVendor;
let down: ScriptedVendor;
let gateway: TestGateway;
let key: string;

async function createKey(options: Record<string, string> = {}): Promise<string> {
  return gateway.newKey({ account: 'tester', credit: '5', ...options });
}

beforeAll(async () => {
  vendor = await startReplayingVendor();
  down = await startScriptedVendor((response) => void response.writeHead(503).end('{}'));
  const chat = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
  gateway = await startGateway({
    plugins: [
      ...keyHeaders(),
      chatCompletions(),
      messages(),
      generateContent(),
      testProvider({
        name: 'openai',
        endpoints: chat,
        models: [
          { id: 'openai/gpt-4o', upstream: 'gpt-4o', canonicalSlug: 'openai/gpt-4o-2024-11-20' },
          { id: 'openai/gpt-mini', upstream: 'gpt-mini' },
          { id: 'openai/both', upstream: 'both' },
        ],
      }),
      testProvider({
        name: 'anthropic',
        endpoints: { messages: `${vendor.origin}/v1/messages` },
        models: [
          { id: 'anthropic/claude-sonnet', upstream: 'claude-sonnet' },
          { id: 'anthropic/both', upstream: 'both' },
        ],
      }),
      testProvider({
        name: 'google',
        endpoints: { 'generate-content': `${vendor.origin}/v1beta/models/x:generateContent` },
        models: [{ id: 'google/gemini-flash', upstream: 'gemini-flash' }],
      }),
      testProvider({
        name: 'broken',
        endpoints: { 'chat-completions': `${down.origin}/v1/chat/completions` },
        models: [{ id: 'house/broken' }],
      }),
      aliases({
        'house/fast': 'openai/gpt-mini',
        'old-*': 'openai/*',
        'old-fast-*': 'house/fast',
        circle: 'circle-2',
        'circle-2': 'circle',
        lost: 'unknown/nothing',
        'house/split': [
          { model: 'openai/gpt-4o', weight: 3 },
          { model: 'gpt-mini' },
          { model: 'unknown/nothing' },
        ],
        'gemini-flash': [{ model: 'openai/gpt-4o' }, { model: 'google/gemini-flash', weight: 0 }],
        'openai/gpt-4o': [{ model: 'house/broken' }, { model: 'google/gemini-flash' }],
        'openai/gpt-4o-2024-11-*': [{ model: 'house/broken' }, { model: 'google/gemini-flash' }],
        'house/reserve': [{ model: 'house/broken' }, { model: 'openai/gpt-4o', weight: 0 }],
        'house/shaky': [
          { model: 'house/broken', weight: 1e6 },
          { model: 'openai/gpt-4o', weight: 1e-6 },
        ],
      }),
      bareNames(),
      preferences(),
      calls(),
      balance({ firstCredit: '0' }),
    ],
  });
  key = await createKey();
});
afterEach(() => vi.restoreAllMocks());

function ask(model: string, more: object = {}, headers: Record<string, string> = {}): Promise<Response> {
  return postJson(
    `${gateway.url}/v1/chat/completions`,
    { model, messages: [{ role: 'user', content: 'Hi' }], ...more },
    { authorization: `Bearer ${key}`, ...headers },
  );
}

async function askForModel(
  model: string,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await ask(model, more, headers);
  const body: unknown = await response.json();
  if (!response.ok) return JSON.stringify(body);
  const named = typeof body === 'object' && body && 'model' in body ? body.model : undefined;
  expect(response.headers.get('x-tollgate-model')).toBe(named);
  return String(named);
}

it.each([
  ['gpt-4o', 'openai/gpt-4o'],
  ['gpt-4o-2024-11-20', 'openai/gpt-4o'],
  ['gpt-4o-2024-05-13', 'openai/gpt-4o'],
  ['openai/gpt-4o-2024-05-13', 'openai/gpt-4o'],
  ['gpt-mini-20250807', 'openai/gpt-mini'],
  ['gpt-mini-latest', 'openai/gpt-mini'],
  ['house/fast', 'openai/gpt-mini'],
  ['old-gpt-4o', 'openai/gpt-4o'],
  ['old-fast-1', 'openai/gpt-mini'],
])('the name "%s" reaches %s', async (name, id) => {
  expect(await askForModel(name)).toBe(id);
});

it.each(['gpt-9', 'gpt-4o-1', 'circle', 'lost', 'old-gpt-9', '', '*'])(
  'the name "%s" is unknown',
  async (name) => {
    expect((await ask(name)).status).toBeGreaterThanOrEqual(400);
  },
);

it('a name for a model that no provider serves gets a 404 that names the model', async () => {
  expect(await (await ask('lost')).text()).toContain(
    'The model \\"lost\\", which means \\"unknown/nothing\\", does not exist',
  );
  expect(await (await ask('openai/gpt-9')).text()).toContain('The model \\"openai/gpt-9\\" does not exist');
});

it('a name that several owners have is a 404 with all their ids', async () => {
  const response = await ask('both');
  expect(response.status).toBe(404);
  expect(await response.text()).toContain('can mean openai/both or anthropic/both');
});

it('a name can be a fallback', async () => {
  expect(await askForModel('house/broken', { provider: { fallback: 'gpt-4o' } })).toBe('openai/gpt-4o');
});

it('a name finds its model in the listing, under its id', async () => {
  const found = await fetch(`${gateway.url}/v1/models/gpt-4o`);
  expect(await found.json()).toMatchObject({ id: 'openai/gpt-4o' });
});

it('a name of an alias is in a header, and the listing has ids alone', async () => {
  const response = await ask('old-gpt-4o');
  expect(response.headers.get('x-tollgate-alias')).toBe('old-gpt-4o');
  expect((await ask('openai/gpt-4o')).headers.has('x-tollgate-alias')).toBe(false);
  const listed = await (await fetch(`${gateway.url}/v1/models`)).text();
  expect(listed).not.toMatch(/old-|house\/fast|house\/split|"id":"gpt/);
});

it('a name opens no model to a key that may not call it', async () => {
  const narrow = await createKey({ models: 'openai/gpt-mini' });
  const as = { authorization: `Bearer ${narrow}` };
  expect(await askForModel('gpt-mini', {}, as)).toBe('openai/gpt-mini');
  expect(await askForModel('house/fast', {}, as)).toBe('openai/gpt-mini');
  expect((await ask('gpt-4o', {}, as)).status).toBe(403);
  // A key is limited to models by their ids, so one that names an alias could call nothing.
  await expect(createKey({ models: 'house/fast' })).rejects.toThrow('no model on offer matches "house/fast"');
  vi.spyOn(Math, 'random').mockReturnValue(0);
  expect(await askForModel('house/split', {}, as)).toBe('openai/gpt-mini');
});

it('a weighted split deals short calls by weight', async () => {
  const draw = vi.spyOn(Math, 'random');
  const dealt: string[] = [];
  for (const drawn of [0, 0.74, 0.76, 0.99]) {
    draw.mockReturnValue(drawn);
    dealt.push(await askForModel('house/split'));
  }
  expect(dealt).toEqual(['openai/gpt-4o', 'openai/gpt-4o', 'openai/gpt-mini', 'openai/gpt-mini']);
});

it('a weighted split keeps a long conversation, and a named session, with one model', async () => {
  const seen = new Set<string>();
  for (const topic of ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']) {
    const turns = [{ role: 'user', content: `${topic} ${'x'.repeat(5000)}` }];
    const first = await askForModel('house/split', { messages: turns });
    const more = [...turns, { role: 'assistant', content: 'Yes.' }, { role: 'user', content: 'Go on.' }];
    expect(await askForModel('house/split', { messages: more })).toBe(first);
    seen.add(first);
  }
  expect(seen.size).toBe(2);
  const random = vi.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValueOnce(0.99);
  const session = { 'x-session-id': 'abc' };
  const first = await askForModel('house/split', {}, session);
  expect(await askForModel('house/split', {}, session)).toBe(first);
  random.mockRestore();
});

it('a weighted split falls back to its other models', async () => {
  const response = await ask('house/shaky');
  expect(response.headers.get('x-tollgate-model')).toBe('openai/gpt-4o');
  expect(response.headers.get('x-tollgate-alias')).toBe('house/shaky');
  const record: unknown = await (
    await fetch(`${gateway.url}/v1/calls/${response.headers.get('x-request-id')}`, {
      headers: { authorization: `Bearer ${key}` },
    })
  ).json();
  expect(record).toMatchObject({ model: 'house/shaky', answered_by: 'openai/gpt-4o' });
});

it('a model of weight 0 gets calls only when another one of the split fails', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
  const response = await ask('house/reserve');
  expect(response.headers.get('x-tollgate-model')).toBe('openai/gpt-4o');
  expect(response.headers.get('x-tollgate-alias')).toBe('house/reserve');
});

it('a weighted split comes before a bare name, and after an id and its other names', async () => {
  expect(await askForModel('gemini-flash')).toBe('openai/gpt-4o');
  expect(await askForModel('openai/gpt-4o')).toBe('openai/gpt-4o');
  expect(await askForModel('openai/gpt-4o-2024-11-20')).toBe('openai/gpt-4o');
});

it('options that are contradictory are refused by name', () => {
  expect(() => aliases({ 'a*b*': 'openai/gpt-4o' })).toThrow('may have one *');
  expect(() => aliases({ fast: [{ model: 'a/b', weight: 0 }] })).toThrow('whose weight is not 0');
  expect(() => aliases({ fast: [{ model: 'a/b', weight: -1 }] })).toThrow('fast.0.weight');
  expect(() => aliases({ fast: [] })).toThrow('option "fast"');
});
