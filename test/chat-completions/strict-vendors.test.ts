/** Vendors of this wire that refuse what they do not know are asked in their own words, whoever asks and on either lane. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CanonicalRequest, Model } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions, protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { hostWith } from '../support/host.ts';
import { isObject } from '../support/json.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { callWith } from './bodies.ts';

const host = hostWith([mistral({ apiKey: 'k' }), groq({ apiKey: 'k' })]);

function modelOf(id: string): Model {
  const [offer] = host.catalog.find(id);
  if (!offer) throw new Error(`no ${id}`);
  return offer.model;
}

const small = modelOf('mistral/mistral-small-2603');
const llama = modelOf('groq/llama-3.1-8b-instant');

function encode(request: Partial<CanonicalRequest>, model = small): { body: Record<string, unknown>; lost: string[] } {
  const { body, losses } = protocol.upstream.encodeRequest({ model: 'a/b', stream: false, turns: [{ role: 'user', blocks: [{ type: 'text', text: 'Ahoy' }] }], ...request }, model, undefined);
  const plain: unknown = JSON.parse(JSON.stringify(body));
  return { body: isObject(plain) ? plain : {}, lost: losses.map(({ path }) => path) };
}

describe('a request of another protocol', () => {
  it('has its seed by the name that Mistral knows', () => {
    const { body, lost } = encode({ seed: 7 });
    expect([body['random_seed'], 'seed' in body, lost]).toEqual([7, false, []]);
  });

  it('does not ask Mistral for usage, which it tells in every stream', () => {
    expect(encode({ stream: true }).body).not.toHaveProperty('stream_options');
    expect(encode({ stream: true }, llama).body).toMatchObject({ stream_options: { include_usage: true } });
  });

  it.each<[string, Partial<CanonicalRequest>, Model, string]>([
    ['user', { user: 'ann' }, small, 'user'],
    ['log probabilities', { logprobs: {} }, small, 'logprobs'],
    ['log probabilities', { logprobs: {} }, llama, 'logprobs'],
    ['names of participants', { turns: [{ role: 'user', name: 'ann', blocks: [{ type: 'text', text: 'Ahoy' }] }] }, small, 'turns[0].name'],
    ['names of participants', { turns: [{ role: 'user', name: 'ann', blocks: [{ type: 'text', text: 'Ahoy' }] }] }, llama, 'turns[0].name'],
  ])('loses its %s aloud', (_, request, model, path) => {
    const { body, lost } = encode(request, model);
    expect(lost).toEqual([path]);
    expect(JSON.stringify(body)).not.toMatch(/ann|logprobs/);
  });

  it('has an answer where its user speaks right behind results, and nowhere else', () => {
    const turns: CanonicalRequest['turns'] = [
      { role: 'assistant', blocks: [{ type: 'tool-call', id: 'abcdefghi', name: 'look', arguments: '{}' }] },
      { role: 'user', blocks: [{ type: 'tool-result', callId: 'abcdefghi', content: [{ type: 'text', text: 'Fog.' }] }, { type: 'text', text: 'Go on.' }] },
      { role: 'user', blocks: [{ type: 'text', text: 'Please.' }] },
    ];
    const said = (model: Model): unknown[] => {
      const all = encode({ turns }, model).body['messages'];
      return Array.isArray(all) ? all.map(({ role, content }) => `${role}: ${content}`) : [];
    };
    expect(said(small)).toEqual(['assistant: null', 'tool: Fog.', 'assistant: OK.', 'user: Go on.', 'user: Please.']);
    expect(said(llama)).toEqual(['assistant: null', 'tool: Fog.', 'user: Go on.', 'user: Please.']);
  });

  it.each([
    [true, 'required'],
    [false, 'auto'],
  ])('offers no more tools than it allows, where a choice cannot name them (one of them required: %s)', (required, choice) => {
    const tools = ['look', 'sail', 'sink'].map((name) => ({ type: 'function' as const, name }));
    const { body } = encode({ tools, toolChoice: { mode: 'subset', names: ['look', 'sail'], required } });
    expect(body).toMatchObject({ tool_choice: choice, tools: [{ function: { name: 'look' } }, { function: { name: 'sail' } }] });
    expect(body['tools']).toHaveLength(2);
  });
});

describe('a request of this protocol', () => {
  const plain = { role: 'user', content: 'Ahoy' };

  it.each([
    [{ seed: 7 }, { random_seed: 7 }],
    [{ user: 'ann' }, {}],
    [{ user: null }, {}],
    [{ messages: [{ ...plain, name: 'ann' }] }, { messages: [plain] }],
    [{ messages: [plain, { role: 'assistant', content: 'Hm.', refusal: null, annotations: [], reasoning_content: null }, plain] }, { messages: [plain, { role: 'assistant', content: 'Hm.' }, plain] }],
    [{ messages: [plain, { role: 'assistant', content: null, refusal: 'No.' }, plain] }, { messages: [plain, { role: 'assistant', content: 'No.' }, plain] }],
  ])('leaves the verbatim lane where Mistral would refuse it: %j', (fields, expected) => {
    const call = callWith({ messages: [plain], ...fields });
    expect(call.suits?.(small)).toBe(false);
    expect(encode(call.decode()).body).toEqual({ model: 'mistral-small-2603', messages: [plain], ...expected });
  });

  it('stays on it otherwise', () => {
    expect(callWith({ stream: true, stream_options: { include_usage: true }, random_seed: 7, max_tokens: 5 }).suits?.(small)).toBe(true);
    expect(callWith({ seed: 7, user: 'ann' }).suits?.(llama)).toBe(true);
  });
});

describe('a stream of Mistral', () => {
  const known = new Set(['model', 'messages', 'stream', 'max_tokens', 'random_seed', 'temperature', 'tools', 'tool_choice']);
  const chunk = (delta: object, finish: string | null = null): string => `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...(finish ? { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } } : {}) })}\n\n`;
  let vendor: ScriptedVendor;
  let gateway: TestGateway;
  let calls = 0;

  beforeAll(async () => {
    vendor = await startScriptedVendor((response, _, body) => {
      const strange = Object.keys(JSON.parse(body)).find((field) => !known.has(field));
      if (strange !== undefined) return void response.writeHead(422).end(JSON.stringify({ detail: [{ type: 'extra_forbidden', loc: ['body', strange], msg: 'Extra inputs are not permitted' }] }));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${chunk({ role: 'assistant', content: 'Hm.' })}${chunk({ content: '' }, 'stop')}data: [DONE]\n\n`);
    });
    gateway = await startGateway({ plugins: [bearer(), chatCompletions(), messages(), mistral({ apiKey: 'k', baseUrl: `${vendor.origin}/v1` }), balance({ firstCredit: '0' })] });
  });
  afterAll(async () => {
    await gateway.close();
    await vendor.close();
  });

  it.each([
    ['/v1/chat/completions', { stream_options: { include_usage: true } }],
    ['/v1/chat/completions', { seed: 7 }],
    ['/alpha/v1/messages', { max_tokens: 9 }],
  ])('comes to a client of %s with %j, and is charged by what Mistral tells unasked', async (path, fields) => {
    const made: unknown = await gateway.verb('keys create', [], { account: 'ann', credit: '5' });
    const key = isObject(made) ? String(made['key']) : '';
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: small.id, messages: [{ role: 'user', content: 'Ahoy' }], stream: true, ...fields }),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hm.')]);
    expect((await gateway.ended(++calls)).at(-1)).toMatchObject({ charge: { basis: 'usage', usage: { output: 4 } } });
  });
});
