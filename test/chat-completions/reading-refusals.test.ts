import { describe, expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { expectRefusal, wrapRows } from '../support/refusals.ts';
import { makeCall, callTool, message, say } from './bodies.ts';

const tools = [{ type: 'function', function: { name: 'f' } }];

/** Fields to add to a valid request, the wrong field, and what the message says about it. */
const wrong: [fields: Record<string, unknown>, param: string, message: RegExp][] = [
  [{ model: undefined }, 'model', /is missing: send a model id of the form <provider>\/<model_name>/],
  [{ model: 7 }, 'model', /is 7: send a model id/],
  [{ model: '' }, 'model', /is "": send a model id/],
  [{ messages: undefined }, 'messages', /is missing: send an array/],
  [{ messages: null }, 'messages', /is null: send an array/],
  [{ messages: [] }, 'messages', /is an empty array: send an array of 1 or more/],
  [{ messages: ['hi'] }, 'messages[0]', /is "hi": send an object/],
  [
    { stop: Array.from({ length: 1001 }, () => 'a') },
    'stop',
    /send a string, or an array of at most 1000 strings/,
  ],
  [{ tool_choice: 'any' }, 'tool_choice', /is "any" without any tools/],
  [say(undefined), 'messages[0].content', /is missing: send a string, or an array of content parts/],
  [say(null), 'messages[0].content', /is null: send a string, or/],
  [say(5), 'messages[0].content', /is 5: send a string, or/],
  [{ temperature: 2.01 }, 'temperature', /is 2.01: send a number from 0 to 2/],
  [{ temperature: -0.5 }, 'temperature', /is -0.5/],
  [{ temperature: '1' }, 'temperature', /is "1": send a number from 0 to 2/],
  [{ top_p: 1.5 }, 'top_p', /send a number from 0 to 1/],
  [{ frequency_penalty: -2.5 }, 'frequency_penalty', /send a number from -2 to 2/],
  [{ presence_penalty: 3 }, 'presence_penalty', /send a number from -2 to 2/],
  [{ n: 0 }, 'n', /is 0: send a whole number from 1 to 128/],
  [{ n: 129 }, 'n', /is 129/],
  [{ n: 1.5 }, 'n', /is 1.5/],
  [{ max_tokens: 0 }, 'max_tokens', /is 0: send a whole number of tokens, at least 1/],
  [{ max_tokens: 10.5 }, 'max_tokens', /is 10.5/],
  [{ max_completion_tokens: -1 }, 'max_completion_tokens', /is -1/],
  [{ max_completion_tokens: '9' }, 'max_completion_tokens', /is "9"/],
  [{ stop: 5 }, 'stop', /is 5: send a string, or an array/],
  [{ stop: [5] }, 'stop[0]', /is 5: send a string/],
  [{ stream: 'true' }, 'stream', /is "true": send true or false/],
  [{ stream_options: { include_usage: true } }, 'stream_options', /is only for streams: send "stream": true/],
  [{ stream: true, stream_options: true }, 'stream_options', /is true: send an object/],
  [
    { stream: true, stream_options: { include_usage: 'yes' } },
    'stream_options.include_usage',
    /is "yes": send true or false/,
  ],
  [{ tools: {} }, 'tools', /is an object: send an array/],
  [
    { tools, tool_choice: { type: 'function', function: { name: 'g' } } },
    'tool_choice',
    /names "g", which is not in "tools"/,
  ],
  [
    {
      tools,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'h' } }] },
      },
    },
    'tool_choice',
    /names "h"/,
  ],
  [{ tools, tool_choice: { type: 'function' } }, 'tool_choice.function', /is missing/],
  [{ tool_choice: 'required' }, 'tool_choice', /is "required" without any tools/],
  [{ parallel_tool_calls: 'no' }, 'parallel_tool_calls', /is "no": send true or false/],
  [{ functions: [{}] }, 'functions[0].name', /is missing/],
  [
    { functions: [{ name: 'f' }], function_call: { name: 'g' } },
    'function_call',
    /names "g", which is not in "functions"/,
  ],
  [{ response_format: 'json' }, 'response_format', /is "json": send an object/],
  [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema', /is missing/],
  [
    { response_format: { type: 'json_schema', json_schema: { schema: {} } } },
    'response_format.json_schema.name',
    /is missing/,
  ],
  [{ logprobs: 1 }, 'logprobs', /is 1: send true or false/],
  [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs', /is 21: send a whole number from 0 to 20/],
  [{ top_logprobs: 3 }, 'top_logprobs', /send "logprobs": true with it/],
  [{ seed: 1.5 }, 'seed', /is 1.5: send a whole number/],
  [{ logit_bias: { 50256: 101 } }, 'logit_bias.50256', /is 101: send a number from -100 to 100/],
  [{ metadata: { trip: 7 } }, 'metadata.trip', /is 7: send a string/],
  [
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v'])) },
    'metadata',
    /at most 16 pairs/,
  ],
  [{ user: 5 }, 'user', /is 5: send a string/],
  [{ reasoning_effort: 3 }, 'reasoning_effort', /is 3: send a string/],
  [{ audio: { format: 'mp3' } }, 'audio.voice', /is missing: send the name of a voice/],
  [{ store: 'yes' }, 'store', /is "yes": send true or false/],
  [{ provider: 'openai' }, 'provider', /is "openai": send an object/],
  [{ top_k: -2 }, 'top_k', /is -2: send a number of tokens/],
  ...wrapRows((part) => say([part]), 'messages[0].content[0]', [
    [{ type: 'image_url', image_url: 5 }, '.image_url', /is 5: send an object with the "url" of an image/],
    [{ type: 5 }, '.type', /is 5/],
    ['x', '', /is "x": send an object/],
    [{ type: 'text' }, '.text', /is missing: send a string/],
    [{ type: 'image_url', image_url: {} }, '.image_url.url', /is missing/],
    [{ type: 'input_audio', input_audio: { format: 'wav' } }, '.input_audio.data', /is missing/],
    [
      { type: 'file', file: { filename: 'a.pdf' } },
      '.file',
      /holds no file: send its content as "file_data"/,
    ],
  ]),
  ...wrapRows(callTool, 'messages[0].tool_calls[0].', [
    [{ type: 'function', function: { name: 'f', arguments: '' } }, 'id', /is missing/],
    [
      { id: 'c', type: 'function', function: { name: 'f', arguments: { a: 1 } } },
      'function.arguments',
      /is an object: send a string holding JSON/,
    ],
    [{ id: 'c', type: 'custom', custom: { name: 'f' } }, 'custom.input', /is missing/],
  ]),
  ...wrapRows(message, 'messages[0]', [
    [{ content: 'x' }, '.role', /is missing/],
    [{ role: 7, content: 'x' }, '.role', /is 7/],
    [{ role: 'assistant' }, '.content', /is missing/],
    [{ role: 'assistant', content: null }, '.content', /it may be null only beside tool calls or reasoning/],
    [
      { role: 'assistant', content: null, tool_calls: [] },
      '.content',
      /is missing: .* it may be null only beside tool calls or reasoning/,
    ],
    [
      { role: 'tool', content: 'x' },
      '.tool_call_id',
      /is missing: send the id of the tool call this answers/,
    ],
    [{ role: 'function', content: 'x' }, '.name', /is missing/],
    [{ role: 'user', content: 'x', name: 3 }, '.name', /is 3: send a string/],
  ]),
  ...wrapRows((tool) => ({ tools: [tool] }), 'tools[0].', [
    [{ type: 5 }, 'type', /is 5/],
    [{ type: 'function' }, 'function', /is missing/],
    [
      { type: 'function', function: { name: '' } },
      'function.name',
      /is "": send a string of 1 or more characters/,
    ],
    [
      { type: 'function', function: { name: 'f', parameters: 'none' } },
      'function.parameters',
      /is "none": send an object/,
    ],
    [{ type: 'custom', custom: {} }, 'custom.name', /is missing/],
  ]),
  ...wrapRows((prices) => ({ provider: { max_price: prices } }), 'provider.max_price.', [
    [{ image: '1' }, 'image', /is not known here: send the request without it/],
    [{ prompt: 'cheap' }, 'prompt', /is "cheap": send an amount in USD/],
    [{ request: 1e21 }, 'request', /is 1e\+21: send an amount in USD/],
  ]),
  ...wrapRows((provider) => ({ provider }), 'provider.', [
    [{ order: 'openai' }, 'order', /is "openai": send an array/],
    [{ only: [1] }, 'only[0]', /is 1: send a string/],
    [{ ignore: {} }, 'ignore', /is an object: send an array/],
    [{ allow_fallbacks: 'no' }, 'allow_fallbacks', /is "no": send true or false/],
    [{ require_parameters: 1 }, 'require_parameters', /is 1: send true or false/],
    [{ routing: 'luck' }, 'routing', /is "luck": send one of "priority", "cost", "latency", "balanced"/],
    [{ sort: 'age' }, 'sort', /is "age": send one of "price", "latency", "throughput"/],
    [{ fallback: 5 }, 'fallback', /is 5: send a model id, or an array of at most 100/],
    [{ fallback: Array(101).fill('a/b') }, 'fallback', /: send a model id, or an array of at most 100/],
    [{ max_price: 5 }, 'max_price', /is 5: send an object/],
    [{ quantization: ['fp8'] }, 'quantization', /is not known here: send the request without it/],
    [{ quantizations: 'fp8' }, 'quantizations', /is "fp8": send an array/],
  ]),
];

describe('a wrong field', () => {
  it.each(wrong)('is refused by its name: %j', (fields, param, expected) => {
    const error = expectRefusal(() => makeCall(fields));
    expect(error.code).toBe('invalid_request');
    expect(error.details.param).toBe(param);
    expect(error.message).toMatch(expected);
    expect(error.message.startsWith(`"${param}" `)).toBe(true);
  });

  it('refuses fallback models of the provider, which have other prices, and names our field for them', () => {
    const error = expectRefusal(() => makeCall({ models: ['openai/gpt-5.5'] }));
    expect(error).toMatchObject({
      code: 'unsupported_parameter',
      details: { param: 'models' },
      message: expect.stringContaining('"provider.fallback"'),
    });
    for (const models of [null, []]) expect(makeCall({ models }).preferences.fallback).toBeUndefined();
  });

  it('is not quoted whole if it is long', () => {
    expect(expectRefusal(() => makeCall({ temperature: 'x'.repeat(100_000) })).message).toMatch(/is "x+…":/);
    expect(expectRefusal(() => makeCall({ temperature: 'x'.repeat(100_000) })).message.length).toBeLessThan(
      200,
    );
  });

  it('is not called null if its number is too large for a double', () => {
    const text = '{"model":"openai/gpt-5.5","messages":[{"role":"user","content":"a"}],"temperature":1e400}';
    expect(
      expectRefusal(() => protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {}))
        .message,
    ).toMatch(/^"temperature" is Infinity: send a number/);
  });

  it.each([['text'], [null], [[1]]])('is refused if the body is %j and not an object', (body) => {
    expect(
      expectRefusal(() => protocol.client.read(body, JSON.stringify(body), { operation: 'generate' }, {}))
        .message,
    ).toMatch(/JSON object/);
  });
});
