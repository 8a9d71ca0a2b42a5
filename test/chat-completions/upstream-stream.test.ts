import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, ClientCall } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { decodeAll, fold, type Folded } from '../contract/replies.ts';
import { callWith } from './bodies.ts';

const { upstream } = protocol;
const done = { event: undefined, data: '[DONE]' };

function choices(...deltas: [delta: object, finish?: string | null, index?: number][]): object {
  return {
    id: 'r1',
    created: 1,
    model: 'm',
    choices: deltas.map(([delta, finish = null, index = 0]) => ({ index, delta, finish_reason: finish })),
  };
}

function decode(
  chunks: readonly (object | string)[],
  call: ClientCall = callWith(),
  last = [done],
): CanonicalEvent[] {
  const events = chunks.map((chunk) => ({
    event: undefined,
    data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk),
  }));
  return decodeAll(upstream.decodeEvents(call), [...events, ...last]);
}

function read(...parameters: Parameters<typeof decode>): Folded {
  return fold(decode(...parameters));
}

function callsOf(...fragments: object[]): unknown {
  const folded = read([
    ...fragments.map((fragment) => choices([{ tool_calls: [fragment] }])),
    choices([{}, 'tool_calls']),
  ]);
  return folded.candidates[0]?.calls.map(({ id, name, arguments: text }) => [id, name, text]);
}

describe('tool calls', () => {
  it('are distinguished by id if all have index 0', () => {
    expect(
      callsOf(
        { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } },
        { index: 0, function: { arguments: '1}' } },
        { index: 0, id: 'b', function: { name: 'f', arguments: '{}' } },
      ),
    ).toEqual([
      ['a', 'f', '{"x":1}'],
      ['b', 'f', '{}'],
    ]);
  });

  it('continue if the id and the name are repeated', () => {
    expect(
      callsOf(
        { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
        { index: 0, id: 'a', function: { name: 'f', arguments: ' ' } },
      ),
    ).toEqual([['a', 'f', '{} ']]);
    expect(
      callsOf(
        { index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } },
        { index: 0, function: { name: 'f', arguments: ':1}' } },
      ),
    ).toEqual([['a', 'f', '{"x":1}']]);
  });

  it('without ids get generated ones, the same each time the reply is read', () => {
    const fragments = [
      { index: 0, id: '', function: { name: 'f', arguments: '{}' } },
      { index: 0, id: '', function: { name: 'g', arguments: '{}' } },
    ];
    const first = callsOf(...fragments);
    expect(first).toEqual([
      [expect.stringMatching(/^call_[A-Za-z0-9]{24}$/), 'f', '{}'],
      [expect.stringMatching(/^call_[A-Za-z0-9]{24}$/), 'g', '{}'],
    ]);
    expect(callsOf(...fragments)).toEqual(first);
    expect(new Set(JSON.stringify(first).match(/call_\w+/g)).size).toBe(2);
  });

  it('of two replies never share a generated id', () => {
    const reply = (id: string): unknown =>
      read([
        {
          ...choices([{ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] }, 'stop']),
          id,
        },
      ]).candidates[0]?.calls[0]?.id;
    expect(reply('r1')).not.toBe(reply('r2'));
  });

  it('may have no index at all', () => {
    expect(
      callsOf(
        { id: 'a', function: { name: 'f', arguments: '{' } },
        { function: { arguments: '}' } },
        { id: 'b', function: { name: 'g', arguments: '' } },
      ),
    ).toEqual([
      ['a', 'f', '{}'],
      ['b', 'g', '{}'],
    ]);
  });

  it('may have their arguments as an object', () => {
    expect(callsOf({ index: 0, id: 'a', function: { name: 'f', arguments: { x: [1] } } })).toEqual([
      ['a', 'f', '{"x":[1]}'],
    ]);
  });

  it.each([['null'], [' null\n'], [''], [null], [undefined]])(
    'without arguments have an empty object, whatever the provider writes: %j',
    (args) => {
      expect(callsOf({ index: 0, id: 'a', function: { name: 'f', arguments: args } })).toEqual([
        ['a', 'f', '{}'],
      ]);
    },
  );

  it('hold text back only while it may become null', () => {
    const events = decode([
      ...['n', 'ul', 'l'].map((piece, at) =>
        choices([
          {
            tool_calls: [
              {
                index: 0,
                ...(at === 0 ? { id: 'a' } : {}),
                function: { ...(at === 0 ? { name: 'f' } : {}), arguments: piece },
              },
            ],
          },
        ]),
      ),
      choices([{}, 'stop']),
    ]);
    expect(events.flatMap((event) => (event.type === 'block-delta' ? [event.text] : []))).toEqual(['{}']);
    expect(
      callsOf(
        { index: 0, id: 'a', function: { name: 'f', arguments: 'nu' } },
        { index: 0, function: { arguments: 'ts' } },
      ),
    ).toEqual([['a', 'f', 'nuts']]);
  });

  it('may lack index, id and type', () => {
    expect(callsOf({ index: null, id: null, type: null, function: { name: 'f', arguments: '{}' } })).toEqual([
      [expect.stringMatching(/^call_/), 'f', '{}'],
    ]);
  });

  it.each([
    ['function_call', { function_call: { name: '', arguments: '' } }],
    ['function_call without fields', { function_call: {} }],
    [
      'tool_calls',
      { tool_calls: [{ index: 0, id: '', type: 'function', function: { name: '', arguments: '' } }] },
    ],
    ['tool_calls without fields', { tool_calls: [{}] }],
  ])('are ignored if %s is empty, as Snowflake sends it', (_, empty) => {
    expect(read([choices([{ content: 'a', ...empty }]), choices([{}, 'stop'])]).candidates[0]).toMatchObject({
      text: 'a',
      calls: [],
      reason: 'stop',
    });
  });

  it('of a custom tool keep an input of null', () => {
    const fragment = { index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'null' } };
    expect(callsOf(fragment)).toEqual([['a', 'f', 'null']]);
  });

  it('may get their name late', () => {
    expect(
      callsOf(
        { index: 0, id: 'a', function: { arguments: '{' } },
        { index: 0, function: { name: 'f', arguments: '}' } },
      ),
    ).toEqual([['a', 'f', '{}']]);
  });

  it('may share a delta with text', () => {
    const { candidates } = read([
      choices([
        { content: 'Look:', tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] },
        'stop',
      ]),
    ]);
    expect([candidates[0]?.text, candidates[0]?.calls.length, candidates[0]?.reason]).toEqual([
      'Look:',
      1,
      'tool-calls',
    ]);
  });

  it('do not hide a cut or filtered reply', () => {
    for (const [said, reason] of [
      ['length', 'length'],
      ['content_filter', 'content-filter'],
    ] as const) {
      expect(
        read([
          choices([{ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }] }, said]),
        ]).candidates[0]?.reason,
      ).toBe(reason);
    }
  });

  it('keep the signature of their vendor', () => {
    const signed = {
      index: 0,
      id: 'a',
      function: { name: 'f', arguments: '{}' },
      extra_content: { google: { thought_signature: 'c2VhbA==' } },
    };
    const [call] = read([choices([{ tool_calls: [signed] }, 'stop'])]).candidates[0]?.calls ?? [];
    expect(call?.sealed).toEqual([{ vendor: 'google', kind: 'signature', value: 'c2VhbA==' }]);
  });

  it('of a custom tool that was offered as a function return its bare input', () => {
    const foreign: ClientCall = {
      ...callWith(),
      decode: () => ({ model: 'a/b', stream: true, turns: [], tools: [{ type: 'custom', name: 'patch' }] }),
    };
    const chunks = [
      choices([
        { tool_calls: [{ index: 0, id: 'a', function: { name: 'patch', arguments: '{"input":"a' } }] },
      ]),
      choices([{ tool_calls: [{ index: 0, function: { arguments: '\\nb"}' } }] }, 'tool_calls']),
    ];
    expect(read(chunks, foreign).candidates[0]?.calls).toEqual([
      { id: 'a', name: 'patch', custom: true, arguments: 'a\nb', sealed: undefined },
    ]);
    expect(read(chunks).candidates[0]?.calls).toMatchObject([
      { custom: false, arguments: '{"input":"a\\nb"}' },
    ]);
  });
});

describe('the end of a reply', () => {
  it('is a finish reason for every candidate with content, and [DONE]', () => {
    expect(read([choices([{ content: 'a' }, 'stop'])]).complete).toBe(true);
    expect(read([choices([{ content: 'a' }])]).complete).toBe(false);
    expect(read([choices([{ content: 'a' }, 'stop'], [{ content: 'b' }, null, 1])]).complete).toBe(false);
    expect(read([]).complete).toBe(false);
  });

  it('needs no [DONE] once all requested candidates have finished', () => {
    const one = [choices([{ content: 'a' }, 'stop'])];
    expect(read(one, callWith(), []).complete).toBe(true);
    expect(read(one, callWith({ n: 2 }), []).complete).toBe(false);
  });

  it('needs no finish reason if usage comes last before [DONE]', () => {
    const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } };
    const said = choices([{ content: 'a' }]);
    expect(read([said, usage])).toMatchObject({
      complete: true,
      candidates: { 0: { text: 'a', reason: 'stop' } },
    });
    expect(read([said, usage], callWith({ max_tokens: 2 })).candidates[0]?.reason).toBe('length');
    expect(read([{ ...said, usage: usage.usage }]).complete).toBe(true);
    expect(read([said, usage], callWith(), []).complete).toBe(false);
    expect(read([usage, said]).complete).toBe(false);
    expect(read([usage]).complete).toBe(false);
  });

  it('is incomplete without a finish reason if the arguments of a call break off', () => {
    const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } };
    const call = (text: string): object =>
      choices([{ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: text } }] }]);
    expect(read([call('{"x":'), usage]).complete).toBe(false);
    expect(read([call('{"x":1}'), usage])).toMatchObject({
      complete: true,
      candidates: { 0: { reason: 'tool-calls' } },
    });
  });

  it('is emitted once even if sent twice, and nothing follows [DONE]', () => {
    const events = decode([choices([{ content: 'a' }, 'stop']), choices([{}, 'stop'])], callWith(), [
      done,
      { event: undefined, data: JSON.stringify(choices([{ content: 'b' }])) },
      done,
    ]);
    expect(events.map(({ type }) => type)).toEqual([
      'response-start',
      'block-start',
      'block-delta',
      'block-end',
      'finish',
      'response-end',
    ]);
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool_calls', 'tool-calls'],
    ['function_call', 'tool-calls'],
    ['content_filter', 'content-filter'],
    ['model_length', 'context-length'],
    ['constructor', 'other'],
  ])('reads the finish reason %s as %s', (raw, unified) => {
    expect(decode([choices([{}, raw])])).toContainEqual({
      type: 'finish',
      candidate: 0,
      reason: { unified, raw },
    });
  });

  it('is not an empty finish reason', () => {
    expect(read([choices([{ content: 'a' }, ''])]).complete).toBe(false);
  });
});

describe('an error inside a stream', () => {
  it.each([
    [
      'beside choices',
      { ...choices([{ content: '' }]), error: { code: 502, message: 'gone', metadata: {} } },
      { message: 'gone', code: '502', status: 502 },
    ],
    [
      'in their place',
      { error: { message: 'no', type: 'server_error', code: null, param: null } },
      { message: 'no' },
    ],
    ['as bare text', { error: 'no' }, { message: 'no' }],
    [
      'in a choice',
      {
        choices: [
          { index: 0, delta: {}, finish_reason: 'error', error: { code: 429, message: 'slow down' } },
        ],
      },
      { message: 'slow down', code: '429', status: 429 },
    ],
    [
      'in a finish reason',
      choices([{}, 'insufficient_system_resource']),
      { message: 'The provider ended its reply with "insufficient_system_resource".' },
    ],
  ])('may be %s, and is the last event', (_, chunk, error) => {
    const events = decode([choices([{ content: 'Half' }]), chunk, choices([{ content: ' more' }, 'stop'])]);
    expect(events.at(-1)).toMatchObject({ type: 'error', ...error });
    expect(events.some(({ type }) => type === 'response-end')).toBe(false);
  });

  it('may be an event named error whose data is the error itself', () => {
    const events = decodeAll(upstream.decodeEvents(callWith()), [
      { event: 'error', data: '{"message":"no","status_code":400}' },
    ]);
    expect(events).toMatchObject([{ type: 'error', message: 'no', status: 400 }]);
  });
});

describe('reasoning', () => {
  it('is read once if a provider sends it in two fields', () => {
    const chunk = choices([
      { reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm', index: 0 }] },
    ]);
    expect(read([chunk, choices([{ content: 'a' }, 'stop'])]).candidates[0]).toMatchObject({
      reasoning: 'hm',
      text: 'a',
    });
  });

  it('is read from the plain field if the entries only hold seals', () => {
    const chunk = choices([
      {
        reasoning: 'hm',
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'xx', format: 'openai-responses-v1' }],
      },
    ]);
    expect(read([chunk, choices([{ content: 'a' }, 'stop'])]).candidates[0]).toMatchObject({
      reasoning: 'hm',
      sealed: [[{ vendor: 'openai', kind: 'encrypted', value: 'xx' }]],
    });
  });

  it('keeps entries apart, each with its own seal', () => {
    const entry = (index: number, fields: object): object =>
      choices([
        { reasoning_details: [{ type: 'reasoning.text', format: 'anthropic-claude-v1', index, ...fields }] },
      ]);
    const { candidates } = read([
      entry(0, { text: 'a' }),
      entry(0, { signature: 'A' }),
      entry(1, { text: 'b' }),
      entry(1, { signature: 'B' }),
      choices([{}, 'stop']),
    ]);
    expect(candidates[0]?.sealed).toEqual([
      [{ vendor: 'anthropic', kind: 'signature', value: 'A' }],
      [{ vendor: 'anthropic', kind: 'signature', value: 'B' }],
    ]);
  });
});

describe('usage', () => {
  it('is emitted as soon as it is known, and later counts replace it', () => {
    const events = decode([
      { ...choices([{ content: 'a' }]), usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
      { ...choices([{}, 'stop']), usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } },
    ]);
    expect(events.filter(({ type }) => type === 'usage').length).toBe(2);
    expect(fold(events).usage).toEqual({ input: 5, output: 2 });
  });

  it('is the only event of a chunk without choices', () => {
    expect(
      upstream
        .decodeEvents(callWith())
        .push({ event: undefined, data: JSON.stringify({ choices: [], usage: { prompt_tokens: 1 } }) })
        .map(({ type }) => type),
    ).toEqual(['response-start', 'usage']);
    const decoder = upstream.decodeEvents(callWith());
    decoder.push({ event: undefined, data: JSON.stringify(choices([{}, 'stop'])) });
    expect(decoder.push({ event: undefined, data: '{"choices":[],"usage":{"prompt_tokens":1}}' })).toEqual([
      { type: 'usage', usage: { input: 1 } },
    ]);
  });

  it('counts reasoning that a provider leaves out of its output', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 75,
      completion_tokens_details: { reasoning_tokens: 60 },
    };
    expect(read([{ ...choices([{}, 'stop']), usage }]).usage).toEqual({
      input: 10,
      output: 65,
      reasoning: 60,
    });
  });

  it('ignores values that are no counts', () => {
    const usage = {
      prompt_tokens: '5',
      completion_tokens: -1,
      total_tokens: 1e300,
      prompt_tokens_details: { cached_tokens: 1.5 },
      completion_tokens_details: [],
    };
    expect(decode([{ ...choices([{}, 'stop']), usage }]).some(({ type }) => type === 'usage')).toBe(false);
  });

  it('is found in the fields of Groq and DeepSeek', () => {
    expect(
      read([{ ...choices([{}, 'stop']), x_groq: { usage: { prompt_tokens: 3, completion_tokens: 4 } } }])
        .usage,
    ).toEqual({ input: 3, output: 4 });
    expect(
      read([{ ...choices([{}, 'stop']), usage: { prompt_tokens: 9, prompt_cache_hit_tokens: 8 } }]).usage,
    ).toEqual({ input: 9, cacheRead: 8 });
  });
});

describe('a chunk that does not concern the reply', () => {
  it('is ignored', () => {
    const chunks = [
      {},
      { choices: null },
      { choices: [null, 5] },
      { choices: [{ index: 0 }] },
      { choices: [{ index: 0, delta: { content: '', tool_calls: null, x: 1 } }], obfuscation: 'zz' },
      { choices: [], prompt_filter_results: [] },
    ];
    expect(decode([...chunks, choices([{ content: 'a' }, 'stop'])]).map(({ type }) => type)).toEqual([
      'response-start',
      'block-start',
      'block-delta',
      'block-end',
      'finish',
      'response-end',
    ]);
  });
});

describe('a whole reply', () => {
  it.each([[null], ['text'], [[]], [{}], [{ object: 'list', data: [] }], [{ error: null }]])(
    'is refused if it is %j',
    (body) => {
      expect(() => upstream.decodeReply(body, callWith())).toThrow(/no chat completion/);
    },
  );

  it('may be an error with status 200', () => {
    expect(upstream.decodeReply({ error: { code: 502, message: 'gone' } }, callWith())).toMatchObject([
      { type: 'error', message: 'gone', code: '502', status: 502, meaning: 'upstream_failed' },
    ]);
  });

  it('is complete without a finish reason if it has content', () => {
    const whole = (choice: object, more: object = {}): Folded =>
      fold(
        upstream.decodeReply(
          { choices: [{ index: 0, finish_reason: null, ...choice }], ...more },
          callWith({ max_tokens: 9 }),
        ),
      );
    expect(whole({ message: { content: 'a' } })).toMatchObject({
      complete: true,
      candidates: { 0: { text: 'a', reason: 'stop' } },
    });
    expect(
      whole({ message: { content: 'a' } }, { usage: { prompt_tokens: 1, completion_tokens: 9 } })
        .candidates[0]?.reason,
    ).toBe('length');
    expect(
      whole({ message: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] } })
        .candidates[0]?.reason,
    ).toBe('tool-calls');
    expect(whole({ message: { content: null } }).complete).toBe(false);
    expect(fold(upstream.decodeReply({ choices: [] }, callWith())).complete).toBe(false);
  });

  it('fails if a choice has no message, unless it was filtered', () => {
    const whole = (choice: object): Folded =>
      fold(upstream.decodeReply({ choices: [{ index: 0, ...choice }] }, callWith()));
    expect(whole({ message: null, finish_reason: 'stop' })).toMatchObject({
      complete: false,
      error: 'The provider sent a choice without a message.',
    });
    expect(whole({ finish_reason: 'content_filter' })).toMatchObject({
      complete: true,
      candidates: { 0: { reason: 'content-filter' } },
    });
  });
});
