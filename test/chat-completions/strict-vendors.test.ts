/**
 * Providers that refuse unknown fields get requests that they accept, from every client and on both lanes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CanonicalRequest, Model } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions, protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { chunk } from '../support/chat-stream.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { hostWith } from '../support/host.ts';
import { isObject } from '../support/json.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { callWith } from './bodies.ts';

const host = hostWith([mistral({ apiKey: 'k' }), groq({ apiKey: 'k' }), deepseek({ apiKey: 'k' })]);

function modelOf(id: string): Model {
  const [offer] = host.catalog.find(id);
  if (!offer) throw new Error(`no ${id}`);
  return offer.model;
}

const small = modelOf('mistral/mistral-small-2603');
const llama = modelOf('groq/llama-3.1-8b-instant');
const flash = modelOf('deepseek/deepseek-v4-flash');

function encode(
  request: Partial<CanonicalRequest>,
  model = small,
): { body: Record<string, unknown>; lost: string[] } {
  const { body, losses } = protocol.upstream.encodeRequest(
    {
      model: 'a/b',
      stream: false,
      turns: [{ role: 'user', blocks: [{ type: 'text', text: 'Ahoy' }] }],
      ...request,
    },
    model,
    undefined,
  );
  const plain: unknown = JSON.parse(JSON.stringify(body));
  return { body: isObject(plain) ? plain : {}, lost: losses.map(({ path }) => path) };
}

describe('a request of another protocol', () => {
  it('has its seed under the name that Mistral takes', () => {
    const { body, lost } = encode({ seed: 7 });
    expect([body.random_seed, 'seed' in body, lost]).toEqual([7, false, []]);
  });

  it('does not ask Mistral for usage, which every stream of it reports', () => {
    expect(encode({ stream: true }).body).not.toHaveProperty('stream_options');
    expect(encode({ stream: true }, llama).body).toMatchObject({ stream_options: { include_usage: true } });
  });

  it.each<[string, Partial<CanonicalRequest>, Model, string]>([
    ['user', { user: 'ann' }, small, 'user'],
    ['log probabilities', { logprobs: {} }, small, 'logprobs'],
    ['log probabilities', { logprobs: {} }, llama, 'logprobs'],
    [
      'names of participants',
      { turns: [{ role: 'user', name: 'ann', blocks: [{ type: 'text', text: 'Ahoy' }] }] },
      small,
      'turns[0].name',
    ],
    [
      'names of participants',
      { turns: [{ role: 'user', name: 'ann', blocks: [{ type: 'text', text: 'Ahoy' }] }] },
      llama,
      'turns[0].name',
    ],
  ])('reports its %s as lost', (_, request, model, path) => {
    const { body, lost } = encode(request, model);
    expect(lost).toEqual([path]);
    expect(JSON.stringify(body)).not.toMatch(/ann|logprobs/);
  });

  it('sends a user message right after tool results, without inventing an answer in between', () => {
    const turns: CanonicalRequest['turns'] = [
      { role: 'assistant', blocks: [{ type: 'tool-call', id: 'abcdefghi', name: 'look', arguments: '{}' }] },
      {
        role: 'user',
        blocks: [
          { type: 'tool-result', callId: 'abcdefghi', content: [{ type: 'text', text: 'Fog.' }] },
          { type: 'text', text: 'Go on.' },
        ],
      },
      { role: 'user', blocks: [{ type: 'text', text: 'Please.' }] },
    ];
    const said = (model: Model): unknown[] => {
      const all = encode({ turns }, model).body.messages;
      return Array.isArray(all) ? all.map(({ role, content }) => `${role}: ${content}`) : [];
    };
    expect(said(small)).toEqual(['assistant: null', 'tool: Fog.', 'user: Go on.', 'user: Please.']);
    expect(said(llama)).toEqual(['assistant: null', 'tool: Fog.', 'user: Go on.', 'user: Please.']);
  });

  it.each([
    [true, 'required'],
    [false, 'auto'],
  ])(
    'only offers the allowed tools if the choice cannot name them (one of them required: %s)',
    (required, choice) => {
      const tools = ['look', 'sail', 'sink'].map((name) => ({ type: 'function' as const, name }));
      const { body } = encode({ tools, toolChoice: { mode: 'subset', names: ['look', 'sail'], required } });
      expect(body).toMatchObject({
        tool_choice: choice,
        tools: [{ function: { name: 'look' } }, { function: { name: 'sail' } }],
      });
      expect(body.tools).toHaveLength(2);
    },
  );
});

describe('a request of this protocol', () => {
  const plain = { role: 'user', content: 'Ahoy' };

  it.each([
    [{ seed: 7 }, { random_seed: 7 }],
    [{ user: 'ann' }, {}],
    [{ user: null }, {}],
    [{ messages: [{ ...plain, name: 'ann' }] }, { messages: [plain] }],
    [
      {
        messages: [
          plain,
          { role: 'assistant', content: 'Hm.', refusal: null, annotations: [], reasoning_content: null },
          plain,
        ],
      },
      { messages: [plain, { role: 'assistant', content: 'Hm.' }, plain] },
    ],
    [
      { messages: [plain, { role: 'assistant', content: null, refusal: 'No.' }, plain] },
      { messages: [plain, { role: 'assistant', content: 'No.' }, plain] },
    ],
  ])('is translated if Mistral would refuse it: %j', (fields, expected) => {
    const call = callWith({ messages: [plain], ...fields });
    expect(call.suits?.(small)).toBe(false);
    expect(encode(call.decode()).body).toEqual({
      model: 'mistral-small-2603',
      messages: [plain],
      ...expected,
    });
  });

  const wav = 'UklGRiQAAABXQVZF';
  const tool = { function: { name: 'look', parameters: { type: 'object' } } };
  const said = (...content: object[]): Record<string, unknown> => ({ messages: [{ role: 'user', content }] });

  it.each<[fields: Record<string, unknown>, writtenOut: Record<string, unknown> | string]>([
    [
      { tools: [{ type: 'function', ...tool }], tool_choice: 'any' },
      { tools: [{ type: 'function', ...tool }], tool_choice: 'required' },
    ],
    [{ tools: [tool] }, { tools: [{ type: 'function', ...tool }] }],
    [{ messages: [{ role: 'user', content: [] }] }, { messages: [{ role: 'user', content: '' }] }],
    [
      {
        messages: [
          plain,
          {
            role: 'assistant',
            content: [],
            tool_calls: [{ id: 'abcdefghi', function: { name: 'look', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'abcdefghi', content: [] },
        ],
      },
      {
        messages: [
          plain,
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'abcdefghi', type: 'function', function: { name: 'look', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'abcdefghi', content: '' },
        ],
      },
    ],
    [
      said({ type: 'image_url', image_url: 'https://example.com/a.png' }),
      said({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
    ],
    [
      said({ type: 'input_audio', input_audio: wav }),
      said({ type: 'input_audio', input_audio: { data: wav, format: 'wav' } }),
    ],
    [said({ type: 'input_audio', input_audio: 'https://example.com/a.mp3' }), 'messages[0].content[0]'],
    [said({ type: 'input_audio', input_audio: 'AAAA' }), 'messages[0].content[0]'],
    [
      said({ type: 'document_url', document_url: 'https://example.com/a.pdf', document_name: 'a.pdf' }),
      'messages[0].content[0]',
    ],
    [
      said({
        type: 'document_url',
        document_url: 'data:application/pdf;base64,JVBERi0=',
        document_name: 'a.pdf',
      }),
      said({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } }),
    ],
  ])(
    'goes to Mistral verbatim, and to others written out or refused by its field: %j',
    (fields, writtenOut) => {
      const call = callWith({ messages: [plain], ...fields });
      expect([call.suits?.(small), call.suits?.(llama)]).toEqual([true, false]);
      if (typeof writtenOut === 'string')
        expect(() => encode(call.decode(), llama)).toThrow(
          expect.objectContaining({ details: { param: writtenOut } }),
        );
      else
        expect(encode(call.decode(), llama)).toEqual({
          body: { model: llama.upstream, messages: [plain], ...writtenOut },
          lost: [],
        });
    },
  );

  it('keeps the short forms when it is encoded for Mistral', () => {
    const content = [
      { type: 'image_url', image_url: 'https://example.com/a.png' },
      { type: 'input_audio', input_audio: wav },
      { type: 'input_audio', input_audio: 'https://example.com/a.mp3' },
      { type: 'document_url', document_url: 'https://example.com/a.pdf', document_name: 'a.pdf' },
    ];
    const messages = [
      { role: 'user', content },
      { role: 'assistant', content: 'Hm.' },
      { role: 'user', content: [] },
    ];
    expect(encode(callWith({ messages, user: 'ann' }).decode()).body.messages).toEqual(messages);
  });

  it('holds a video for OpenRouter, and is encoded as it was written', () => {
    const films = said(
      { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
      { type: 'video_url', video_url: 'data:video/mp4;base64,AAAA' },
    );
    const call = callWith(films);
    expect(call.suits?.(llama)).toBe(true);
    expect(call.size).toMatchObject({ fetched: true, mediaBytes: 3 });
    expect(encode(call.decode(), llama).body).toMatchObject(films);
  });

  it('goes to Mistral verbatim if a user message follows tool results', () => {
    const calls = [{ id: 'abcdefghi', type: 'function', function: { name: 'look', arguments: '{}' } }];
    const messages = [
      plain,
      { role: 'assistant', content: '', tool_calls: calls },
      { role: 'tool', tool_call_id: 'abcdefghi', content: 'Fog.' },
      plain,
    ];
    expect(callWith({ messages }).suits?.(small)).toBe(true);
    expect(encode(callWith({ messages, user: 'ann' }).decode()).body.messages).toEqual(messages);
  });

  describe('with tool calls but without their reasoning', () => {
    const calls = [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }];
    const messages = [
      plain,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'call_1', content: 'Fog.' },
    ];

    it('goes to DeepSeek verbatim if thinking is off', () => {
      const call = callWith({ messages, thinking: { type: 'disabled' } });
      expect(call.suits?.(flash)).toBe(true);
      expect(encode(call.decode(), flash)).toMatchObject({
        body: { messages, thinking: { type: 'disabled' } },
        lost: [],
      });
    });

    it('gets blank reasoning, and reports it, if DeepSeek has to think', () => {
      const call = callWith({ messages });
      expect(call.suits?.(flash)).toBe(false);
      expect(encode(call.decode(), flash)).toMatchObject({
        body: { messages: [plain, { reasoning_content: ' ' }, {}] },
        lost: ['turns'],
      });
    });

    it('gets no reasoning if a client of another protocol turns thinking off', () => {
      const turns: CanonicalRequest['turns'] = [
        { role: 'user', blocks: [{ type: 'text', text: 'Ahoy' }] },
        { role: 'assistant', blocks: [{ type: 'tool-call', id: 'call_1', name: 'look', arguments: '{}' }] },
        {
          role: 'tool',
          blocks: [{ type: 'tool-result', callId: 'call_1', content: [{ type: 'text', text: 'Fog.' }] }],
        },
      ];
      expect(JSON.stringify(encode({ turns, reasoning: { effort: 'none' } }, flash).body)).not.toContain(
        'reasoning_content',
      );
      expect(encode({ turns }, flash).body).toMatchObject({ messages: [{}, { reasoning_content: ' ' }, {}] });
    });
  });

  it('is passed on verbatim otherwise', () => {
    expect(
      callWith({
        stream: true,
        stream_options: { include_usage: true },
        random_seed: 7,
        max_tokens: 5,
      }).suits?.(small),
    ).toBe(true);
    expect(callWith({ seed: 7, user: 'ann' }).suits?.(llama)).toBe(true);
  });
});

describe('a stream from Mistral', () => {
  const known = new Set([
    'model',
    'messages',
    'stream',
    'max_tokens',
    'random_seed',
    'temperature',
    'tools',
    'tool_choice',
  ]);
  const thinking = chunk({ role: 'assistant', content: 'Hm.' });
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  let vendor: ScriptedVendor;
  let gateway: TestGateway;
  let calls = 0;

  beforeAll(async () => {
    vendor = await startScriptedVendor((response, _, body) => {
      const strange = Object.keys(JSON.parse(body)).find((field) => !known.has(field));
      if (strange !== undefined)
        return void response.writeHead(422).end(
          JSON.stringify({
            detail: [
              { type: 'extra_forbidden', loc: ['body', strange], msg: 'Extra inputs are not permitted' },
            ],
          }),
        );
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`${thinking}${chunk({ content: '' }, 'stop', { usage })}data: [DONE]\n\n`);
    });
    gateway = await startGateway({
      plugins: [
        bearer(),
        chatCompletions(),
        messages(),
        mistral({ apiKey: 'k', baseUrl: `${vendor.origin}/v1` }),
        balance({ firstCredit: '0' }),
      ],
    });
  });
  afterAll(async () => {
    await gateway.close();
    await vendor.close();
  });

  it.each([
    ['/v1/chat/completions', { stream_options: { include_usage: true } }],
    ['/v1/chat/completions', { seed: 7 }],
    ['/alpha/v1/messages', { max_tokens: 9 }],
  ])(
    'reaches a client of %s with %j, and is charged by the usage that Mistral sends unasked',
    async (path, fields) => {
      const made: unknown = await gateway.verb('keys create', [], { account: 'ann', credit: '5' });
      const key = isObject(made) ? String(made.key) : '';
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
        },
        body: JSON.stringify({
          model: small.id,
          messages: [{ role: 'user', content: 'Ahoy' }],
          stream: true,
          ...fields,
        }),
      });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hm.')]);
      expect((await gateway.ended(++calls)).at(-1)).toMatchObject({
        charge: { basis: 'usage', usage: { output: 4 } },
      });
    },
  );
});
