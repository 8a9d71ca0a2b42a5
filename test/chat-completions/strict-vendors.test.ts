/**
 * Providers that refuse unknown fields get requests that they accept, from every client and on both lanes.
 */
import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, Model } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { sendOwn } from '../support/families.ts';
import { isObject } from '../support/json.ts';
import { assistant, call, result, tool, user } from '../support/turns.ts';
import { makeCall } from './bodies.ts';
import { requireModel, small } from './strict.ts';

const oss = requireModel('openai/gpt-oss-20b');
const grok = requireModel('xai/grok-4.6');
const flash = requireModel('deepseek/deepseek-v4-flash');

function encode(
  request: Partial<CanonicalRequest>,
  model = small,
): { body: Record<string, unknown>; lost: string[] } {
  const { body, losses } = protocol.upstream.encodeRequest(
    {
      model: 'a/b',
      stream: false,
      turns: [user('Ahoy')],
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
    expect(encode({ stream: true }, oss).body).toMatchObject({ stream_options: { include_usage: true } });
  });

  it.each<[string, Partial<CanonicalRequest>, Model, string]>([
    ['user', { user: 'ann' }, small, 'user'],
    ['log probabilities', { logprobs: {} }, small, 'logprobs'],
    ['log probabilities', { logprobs: {} }, oss, 'logprobs'],
    ['participant names', { turns: [{ ...user('Ahoy'), name: 'ann' }] }, small, 'turns[0].name'],
    ['participant names', { turns: [{ ...user('Ahoy'), name: 'ann' }] }, oss, 'turns[0].name'],
  ])('reports its %s as lost', (_, request, model, path) => {
    const { body, lost } = encode(request, model);
    expect(lost).toEqual([path]);
    expect(JSON.stringify(body)).not.toMatch(/ann|logprobs/);
  });

  it('sends a user message right after tool results, without inventing an answer in between', () => {
    const turns: CanonicalRequest['turns'] = [
      assistant(call('abcdefghi', 'look')),
      user(result('abcdefghi', 'Fog.'), 'Go on.'),
      user('Please.'),
    ];
    const listMessages = (model: Model): unknown[] => {
      const all = encode({ turns }, model).body.messages;
      return Array.isArray(all) ? all.map(({ role, content }) => `${role}: ${content}`) : [];
    };
    expect(listMessages(small)).toEqual(['assistant: null', 'tool: Fog.', 'user: Go on.', 'user: Please.']);
    expect(listMessages(oss)).toEqual(['assistant: null', 'tool: Fog.', 'user: Go on.', 'user: Please.']);
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
    const call = makeCall({ messages: [plain], ...fields });
    expect(call.suits?.(small)).toBe(false);
    expect(encode(call.decode()).body).toEqual({
      model: 'mistral-small-2603',
      messages: [plain],
      ...expected,
    });
  });

  it('leaves out what Grok refuses, even if it says nothing, and stops for it', () => {
    const call = makeCall({ messages: [plain], stop: 'END', presence_penalty: 0, frequency_penalty: 0.5 });
    expect(call.suits?.(grok)).toBe(false);
    const { body, stops, losses } = protocol.upstream.encodeRequest(call.decode(), grok, undefined);
    expect(JSON.parse(JSON.stringify(body))).toEqual({ model: 'grok-4.6', messages: [plain] });
    expect([stops, losses.map(({ path }) => path)]).toEqual([['END'], ['frequencyPenalty']]);
  });

  const wav = 'UklGRiQAAABXQVZF';
  const look = { function: { name: 'look', parameters: { type: 'object' } } };
  const say = (...content: object[]): Record<string, unknown> => ({ messages: [{ role: 'user', content }] });

  it.each<[fields: Record<string, unknown>, writtenOut: Record<string, unknown> | string]>([
    [
      { tools: [{ type: 'function', ...look }], tool_choice: 'any' },
      { tools: [{ type: 'function', ...look }], tool_choice: 'required' },
    ],
    [{ tools: [look] }, { tools: [{ type: 'function', ...look }] }],
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
      say({ type: 'image_url', image_url: 'https://example.com/a.png' }),
      say({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
    ],
    [
      say({ type: 'input_audio', input_audio: wav }),
      say({ type: 'input_audio', input_audio: { data: wav, format: 'wav' } }),
    ],
    [say({ type: 'input_audio', input_audio: 'https://example.com/a.mp3' }), 'messages[0].content[0]'],
    [say({ type: 'input_audio', input_audio: 'AAAA' }), 'messages[0].content[0]'],
    [
      say({ type: 'document_url', document_url: 'https://example.com/a.pdf', document_name: 'a.pdf' }),
      'messages[0].content[0]',
    ],
    [
      say({
        type: 'document_url',
        document_url: 'data:application/pdf;base64,JVBERi0=',
        document_name: 'a.pdf',
      }),
      say({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } }),
    ],
  ])(
    'goes to Mistral verbatim, and to others written out or refused by its field: %j',
    (fields, writtenOut) => {
      const call = makeCall({ messages: [plain], ...fields });
      expect([call.suits?.(small), call.suits?.(oss)]).toEqual([true, false]);
      if (typeof writtenOut === 'string')
        expect(() => encode(call.decode(), oss)).toThrow(
          expect.objectContaining({ details: { param: writtenOut } }),
        );
      else
        expect(encode(call.decode(), oss)).toEqual({
          body: { model: oss.upstream, messages: [plain], ...writtenOut },
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
    expect(
      sendOwn('chat-completions', { model: 'a/b', messages, user: 'ann' }, { model: small }).body,
    ).toEqual({
      model: small.upstream,
      messages,
    });
  });

  it('holds a video for OpenRouter, and is encoded as it was written', () => {
    const films = say(
      { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
      { type: 'video_url', video_url: 'data:video/mp4;base64,AAAA' },
    );
    const call = makeCall(films);
    expect(call.suits?.(oss)).toBe(true);
    expect(call.size).toMatchObject({ fetched: true, mediaBytes: 3 });
    expect(sendOwn('chat-completions', { model: 'a/b', ...films }, { model: oss }).body).toMatchObject(films);
  });

  it('goes to Mistral verbatim if a user message follows tool results', () => {
    const calls = [{ id: 'abcdefghi', type: 'function', function: { name: 'look', arguments: '{}' } }];
    const messages = [
      plain,
      { role: 'assistant', content: '', tool_calls: calls },
      { role: 'tool', tool_call_id: 'abcdefghi', content: 'Fog.' },
      plain,
    ];
    expect(makeCall({ messages }).suits?.(small)).toBe(true);
    expect(
      sendOwn('chat-completions', { model: 'a/b', messages, user: 'ann' }, { model: small }).body,
    ).toEqual({
      model: small.upstream,
      messages,
    });
  });

  describe('with tool calls but without their reasoning', () => {
    const calls = [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }];
    const messages = [
      plain,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'call_1', content: 'Fog.' },
    ];

    it('goes to DeepSeek verbatim if thinking is off', () => {
      const call = makeCall({ messages, thinking: { type: 'disabled' } });
      expect(call.suits?.(flash)).toBe(true);
      expect(encode(call.decode(), flash)).toMatchObject({
        body: { messages, thinking: { type: 'disabled' } },
        lost: [],
      });
    });

    it('gets blank reasoning, and reports it, if DeepSeek has to think', () => {
      const call = makeCall({ messages });
      expect(call.suits?.(flash)).toBe(false);
      expect(sendOwn('chat-completions', { model: 'a/b', messages }, { model: flash })).toMatchObject({
        body: { messages: [plain, { reasoning_content: ' ' }, {}] },
        lost: ['messages'],
      });
    });

    it('gets no reasoning if a client of another protocol turns thinking off', () => {
      const turns: CanonicalRequest['turns'] = [
        user('Ahoy'),
        assistant(call('call_1', 'look')),
        tool(result('call_1', 'Fog.')),
      ];
      expect(JSON.stringify(encode({ turns, reasoning: { effort: 'none' } }, flash).body)).not.toContain(
        'reasoning_content',
      );
      expect(encode({ turns }, flash).body).toMatchObject({ messages: [{}, { reasoning_content: ' ' }, {}] });
    });
  });

  it('is passed on verbatim otherwise', () => {
    expect(
      makeCall({
        stream: true,
        stream_options: { include_usage: true },
        random_seed: 7,
        max_tokens: 5,
      }).suits?.(small),
    ).toBe(true);
    expect(makeCall({ seed: 7, user: 'ann' }).suits?.(oss)).toBe(true);
  });
});
