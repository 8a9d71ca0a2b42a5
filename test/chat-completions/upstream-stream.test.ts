import { describe, expect, it } from 'vitest';
import { decodeAll, fold } from '../contract/replies.ts';
import { readCases } from '../support/cases.ts';
import { makeCall } from './bodies.ts';
import { choices, decode, done, read, upstream } from './upstream-events.ts';

const cases = readCases<readonly (readonly [string, object, object])[]>(
  'upstream-stream.json',
  import.meta.url,
);

describe('the end of a reply', () => {
  it('is a finish reason for every candidate with content, and [DONE]', () => {
    expect(read([choices([{ content: 'a' }, 'stop'])]).complete).toBe(true);
    expect(read([choices([{ content: 'a' }])]).complete).toBe(false);
    expect(read([choices([{ content: 'a' }, 'stop'], [{ content: 'b' }, null, 1])]).complete).toBe(false);
    expect(read([]).complete).toBe(false);
  });

  it('needs no [DONE] once all requested candidates have finished', () => {
    const one = [choices([{ content: 'a' }, 'stop'])];
    expect(read(one, makeCall(), []).complete).toBe(true);
    expect(read(one, makeCall({ n: 2 }), []).complete).toBe(false);
  });

  it('needs no finish reason if usage comes last before [DONE]', () => {
    const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } };
    const said = choices([{ content: 'a' }]);
    expect(read([said, usage])).toMatchObject({
      complete: true,
      candidates: { 0: { text: 'a', reason: 'stop' } },
    });
    expect(read([said, usage], makeCall({ max_tokens: 2 })).candidates[0]?.reason).toBe('length');
    expect(read([{ ...said, usage: usage.usage }]).complete).toBe(true);
    expect(read([said, usage], makeCall(), []).complete).toBe(false);
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
    const events = decode([choices([{ content: 'a' }, 'stop']), choices([{}, 'stop'])], makeCall(), [
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
    ['tool_calls', 'stop'],
    ['function_call', 'stop'],
    ['content_filter', 'content-filter'],
    ['content_filter: PROHIBITED_CONTENT', 'content-filter'],
    ['sensitive', 'content-filter'],
    ['guardrail_intervened', 'content-filter'],
    ['SAFETY', 'content-filter'],
    ['refusal', 'refusal'],
    ['repetition', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_length', 'context-length'],
    ['COMPLETE', 'stop'],
    ['eos_token', 'stop'],
    ['load', 'other'],
    ['constructor', 'other'],
  ])('reads the finish reason %s of a reply without calls as %s', (raw, unified) => {
    expect(decode([choices([{}, raw])])).toContainEqual({
      type: 'finish',
      candidate: 0,
      reason: { unified, raw },
    });
  });

  it.each([
    ['{"to":"Ann"}', 'stop', 'tool-calls'],
    ['{"to":"Ann"}', 'tool_use', 'tool-calls'],
    ['{"to":"Ann"}', 'strange', 'other'],
    ['{"to":"Ann"}', 'length', 'length'],
    ['{"to":"An', 'tool_calls', 'length'],
    ['{"to":["Ann"', 'stop', 'length'],
    ['', 'tool_calls', 'tool-calls'],
    ['null', 'tool_calls', 'tool-calls'],
  ])('after a call with the arguments %j and the word %s has the reason %s', (text, raw, unified) => {
    const call = { index: 0, id: 'a', function: { name: 'send', arguments: text } };
    expect(read([choices([{ tool_calls: [call] }]), choices([{}, raw])]).candidates[0]?.reason).toBe(unified);
  });

  it.each(['network_error', 'error', 'abort', 'insufficient_system_resource', 'MALFORMED_FUNCTION_CALL'])(
    'is an error at %s, and no call of the reply ends',
    (raw) => {
      const call = { index: 0, id: 'a', function: { name: 'send', arguments: '{}' } };
      const events = decode([choices([{ tool_calls: [call] }]), choices([{}, raw])]);
      expect(events.at(-1)).toMatchObject({ type: 'error', message: `it ended with "${raw}".` });
      expect(events.some(({ type }) => type === 'block-end')).toBe(false);
    },
  );

  it('is unfinished if its reason is no text', () => {
    const strange = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: { why: 3 } }] };
    expect(read([strange])).toMatchObject({ complete: true, candidates: { 0: { reason: 'other' } } });
  });

  it('is not an empty finish reason', () => {
    expect(read([choices([{ content: 'a' }, ''])]).complete).toBe(false);
  });
});

describe('an error inside a stream', () => {
  it.each(cases)('may be %s, and is the last event', (_, chunk, error) => {
    const events = decode([choices([{ content: 'Half' }]), chunk, choices([{ content: ' more' }, 'stop'])]);
    expect(events.at(-1)).toMatchObject({ type: 'error', ...error });
    expect(events.some(({ type }) => type === 'response-end')).toBe(false);
  });

  it('of one choice is the last event, though another choice ends in the same chunk', () => {
    const events = decode([
      choices([{ content: 'a' }], [{ content: 'b' }, null, 1]),
      choices([{}, 'error'], [{}, 'stop', 1]),
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'error', message: 'it ended with "error".' });
  });

  it('may be an event named error whose data is the error itself', () => {
    const events = decodeAll(upstream.decodeEvents(makeCall()), [
      { event: 'error', data: '{"message":"no","status_code":400}' },
    ]);
    expect(events).toMatchObject([{ type: 'error', message: 'no', status: 400 }]);
  });
});

it('reasoning is read from the plain field if the entries only hold seals', () => {
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

it('reasoning keeps entries apart, each with its own seal', () => {
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

it('usage is emitted as soon as it is known, and later counts replace it', () => {
  const events = decode([
    { ...choices([{ content: 'a' }]), usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
    { ...choices([{}, 'stop']), usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } },
  ]);
  expect(events.filter(({ type }) => type === 'usage').length).toBe(2);
  expect(fold(events).usage).toEqual({ input: 5, output: 2 });
});

it('usage is the only event of a chunk without choices', () => {
  expect(
    upstream
      .decodeEvents(makeCall())
      .push({ event: undefined, data: JSON.stringify({ choices: [], usage: { prompt_tokens: 1 } }) })
      .map(({ type }) => type),
  ).toEqual(['response-start', 'usage']);
  const decoder = upstream.decodeEvents(makeCall());
  decoder.push({ event: undefined, data: JSON.stringify(choices([{}, 'stop'])) });
  expect(decoder.push({ event: undefined, data: '{"choices":[],"usage":{"prompt_tokens":1}}' })).toEqual([
    { type: 'usage', usage: { input: 1 } },
  ]);
});

it('usage counts reasoning that a provider leaves out of its output', () => {
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

it('usage ignores values that are no counts', () => {
  const usage = {
    prompt_tokens: '5',
    completion_tokens: -1,
    total_tokens: 1e300,
    prompt_tokens_details: { cached_tokens: 1.5 },
    completion_tokens_details: [],
  };
  expect(decode([{ ...choices([{}, 'stop']), usage }]).some(({ type }) => type === 'usage')).toBe(false);
});

it('usage is found in the fields of Groq, DeepSeek and Alibaba', () => {
  expect(
    read([{ ...choices([{}, 'stop']), x_groq: { usage: { prompt_tokens: 3, completion_tokens: 4 } } }]).usage,
  ).toEqual({ input: 3, output: 4 });
  expect(
    read([{ ...choices([{}, 'stop']), usage: { prompt_tokens: 9, prompt_cache_hit_tokens: 8 } }]).usage,
  ).toEqual({ input: 9, cacheRead: 8 });
  const alibaba = { prompt_tokens: 9, prompt_tokens_details: { cache_creation_input_tokens: 8 } };
  expect(read([{ ...choices([{}, 'stop']), usage: alibaba }]).usage).toEqual({ input: 9, cacheWrite5m: 8 });
});

describe('usage in other places and spellings', () => {
  const readUsage = (usage: object): unknown => read([{ ...choices([{}, 'stop']), usage }]).usage;
  const counts = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };

  it('is found in the choice that ends, as Moonshot sends it', () => {
    const ended = { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: counts }] };
    expect(read([choices([{ content: 'a' }]), ended]).usage).toEqual({ input: 9, output: 4 });
    const late = { choices: [], usage: { ...counts, completion_tokens: 5, total_tokens: 14 } };
    expect(read([ended, late]).usage).toEqual({ input: 9, output: 5 });
  });

  it.each([
    ['Moonshot', { cached_tokens: 8 }],
    ['Moonshot with both', { cached_tokens: 8, prompt_tokens_details: { cached_tokens: 8 } }],
    ['Mistral', { num_cached_tokens: 8 }],
    ['Mistral with its other name', { prompt_token_details: { cached_tokens: 8 } }],
    ['DeepSeek', { prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 1 }],
  ])('counts what was read from the cache: %s', (_, fields) => {
    expect(readUsage({ ...counts, ...fields })).toEqual({ input: 9, output: 4, cacheRead: 8 });
  });

  it('adds reasoning that only the total counts, wherever its own count is', () => {
    for (const fields of [{ completion_tokens_details: { reasoning_tokens: 60 } }, { reasoning_tokens: 60 }])
      expect(readUsage({ ...counts, ...fields, total_tokens: 73 })).toEqual({
        input: 9,
        output: 64,
        reasoning: 60,
      });
  });

  it.each([
    ['by its tokens', { prompt_tokens_details: { audio_tokens: 375 } }, 379],
    [
      'by its tokens, besides reasoning',
      { prompt_tokens_details: { audio_tokens: 375 }, reasoning_tokens: 9 },
      388,
    ],
    ['by its seconds alone', { prompt_audio_seconds: 30 }, 379],
  ])('adds the audio that Mistral leaves out of the prompt: %s', (_, fields, total) => {
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: total, ...fields };
    expect(readUsage(usage)).toMatchObject({ input: 378, inputAudio: 375, output: total - 378 });
  });

  it('adds no audio that the prompt includes, as with OpenAI', () => {
    const usage = { prompt_tokens: 50, completion_tokens: 7, prompt_tokens_details: { audio_tokens: 40 } };
    const silent = { ...usage, prompt_tokens_details: undefined, prompt_audio_seconds: {} };
    expect(readUsage({ ...silent, total_tokens: 60 })).toEqual({ input: 50, output: 10 });
    for (const total_tokens of [57, undefined, 77])
      expect(readUsage({ ...usage, total_tokens })).toMatchObject({ input: 50, inputAudio: 40 });
  });
});

it('a chunk is ignored if it does not concern the reply', () => {
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
