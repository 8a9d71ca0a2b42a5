import { describe, expect, it } from 'vitest';
import { isGatewayError, type GatewayError } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { families, readCall } from '../support/families.ts';
import { callWith, modelWith } from './bodies.ts';

function refusal(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

const said = (content: unknown): Record<string, unknown> => ({ messages: [{ role: 'user', content }] });
const message = (fields: Record<string, unknown>): Record<string, unknown> => ({ messages: [fields] });
const call = (fields: Record<string, unknown>): Record<string, unknown> =>
  message({ role: 'assistant', content: null, tool_calls: [fields] });
const tools = [{ type: 'function', function: { name: 'f' } }];

/** Fields to add to a valid request, the wrong field, and what the message says about it. */
const wrong: [fields: Record<string, unknown>, param: string, told: RegExp][] = [
  [{ model: undefined }, 'model', /is missing: send a model id of the form <provider>\/<model_name>/],
  [{ model: 7 }, 'model', /is 7: send a model id/],
  [{ model: '' }, 'model', /is "": send a model id/],
  [{ messages: undefined }, 'messages', /is missing: send an array/],
  [{ messages: null }, 'messages', /is null: send an array/],
  [{ messages: [] }, 'messages', /is an empty array: send an array of 1 or more/],
  [{ messages: ['hi'] }, 'messages[0]', /is "hi": send an object/],
  [message({ content: 'x' }), 'messages[0].role', /is missing/],
  [message({ role: 7, content: 'x' }), 'messages[0].role', /is 7/],
  [
    said([{ type: 'image_url', image_url: 5 }]),
    'messages[0].content[0].image_url',
    /is 5: send an object with the "url" of an image/,
  ],
  [said([{ type: 5 }]), 'messages[0].content[0].type', /is 5/],
  [
    { stop: Array.from({ length: 1001 }, () => 'a') },
    'stop',
    /send a string, or an array of at most 1000 strings/,
  ],
  [{ tool_choice: 'any' }, 'tool_choice', /is "any" without any tools/],
  [{ tools: [{ type: 5 }] }, 'tools[0].type', /is 5/],
  [said(undefined), 'messages[0].content', /is missing: send a string, or an array of content parts/],
  [said(null), 'messages[0].content', /is null: send a string, or/],
  [said(5), 'messages[0].content', /is 5: send a string, or/],
  [said(['x']), 'messages[0].content[0]', /is "x": send an object/],
  [said([{ type: 'text' }]), 'messages[0].content[0].text', /is missing: send a string/],
  [said([{ type: 'image_url', image_url: {} }]), 'messages[0].content[0].image_url.url', /is missing/],
  [
    said([{ type: 'input_audio', input_audio: { format: 'wav' } }]),
    'messages[0].content[0].input_audio.data',
    /is missing/,
  ],
  [
    said([{ type: 'file', file: { filename: 'a.pdf' } }]),
    'messages[0].content[0].file',
    /holds no file: send its content as "file_data"/,
  ],
  [message({ role: 'assistant' }), 'messages[0].content', /is missing/],
  [
    message({ role: 'assistant', content: null }),
    'messages[0].content',
    /it may be null only if there are tool calls/,
  ],
  [
    message({ role: 'assistant', content: null, tool_calls: [] }),
    'messages[0].content',
    /is missing: .* it may be null only if there are tool calls/,
  ],
  [
    message({ role: 'tool', content: 'x' }),
    'messages[0].tool_call_id',
    /is missing: send the id of the tool call this answers/,
  ],
  [message({ role: 'function', content: 'x' }), 'messages[0].name', /is missing/],
  [message({ role: 'user', content: 'x', name: 3 }), 'messages[0].name', /is 3: send a string/],
  [
    call({ type: 'function', function: { name: 'f', arguments: '' } }),
    'messages[0].tool_calls[0].id',
    /is missing/,
  ],
  [
    call({ id: 'c', type: 'function', function: { name: 'f', arguments: { a: 1 } } }),
    'messages[0].tool_calls[0].function.arguments',
    /is an object: send a string holding JSON/,
  ],
  [
    call({ id: 'c', type: 'custom', custom: { name: 'f' } }),
    'messages[0].tool_calls[0].custom.input',
    /is missing/,
  ],
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
  [{ tools: [{ type: 'function' }] }, 'tools[0].function', /is missing/],
  [
    { tools: [{ type: 'function', function: { name: '' } }] },
    'tools[0].function.name',
    /is "": send a string of 1 or more characters/,
  ],
  [
    { tools: [{ type: 'function', function: { name: 'f', parameters: 'none' } }] },
    'tools[0].function.parameters',
    /is "none": send an object/,
  ],
  [{ tools: [{ type: 'custom', custom: {} }] }, 'tools[0].custom.name', /is missing/],
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
  [{ provider: { order: 'openai' } }, 'provider.order', /is "openai": send an array/],
  [{ provider: { only: [1] } }, 'provider.only[0]', /is 1: send a string/],
  [{ provider: { ignore: {} } }, 'provider.ignore', /is an object: send an array/],
  [{ provider: { allow_fallbacks: 'no' } }, 'provider.allow_fallbacks', /is "no": send true or false/],
  [{ provider: { require_parameters: 1 } }, 'provider.require_parameters', /is 1: send true or false/],
  [
    { provider: { routing: 'luck' } },
    'provider.routing',
    /is "luck": send one of "priority", "cost", "latency", "balanced"/,
  ],
  [{ provider: { sort: 'age' } }, 'provider.sort', /is "age": send one of "price", "latency", "throughput"/],
  [{ provider: { fallback: 5 } }, 'provider.fallback', /is 5: send a model id, or an array of them/],
  [{ top_k: -2 }, 'top_k', /is -2: send a number of tokens/],
  [{ provider: { max_price: 5 } }, 'provider.max_price', /is 5: send an object/],
  [
    { provider: { quantizations: ['fp8'] } },
    'provider.quantizations',
    /is not known here: send the request without it/,
  ],
  [
    { provider: { max_price: { image: '1' } } },
    'provider.max_price.image',
    /is not known here: send the request without it/,
  ],
  [
    { provider: { max_price: { prompt: 'cheap' } } },
    'provider.max_price.prompt',
    /is "cheap": send an amount in USD/,
  ],
  [
    { provider: { max_price: { request: 1e21 } } },
    'provider.max_price.request',
    /is 1e\+21: send an amount in USD/,
  ],
];

describe('top_k', () => {
  const asked = { model: 'a/b', messages: [{ role: 'user', content: 'Hi' }], top_k: -1 };

  it('is -1 for all tokens, which is passed on to vLLM', () => {
    const call = callWith({ top_k: -1 });
    expect(call.decode().topK).toBeUndefined();
    const vllm = modelWith({
      id: 'house/qwen',
      supportedParameters: ['top_k'],
      capabilities: { wire: { 'chat-completions': { extras: false } } },
    });
    expect(protocol.upstream.encodeRequest(call.decode(), vllm, undefined).body).toMatchObject({ top_k: -1 });
  });

  it.each(['messages', 'generate-content'] as const)('is left out for %s if it is -1', (wire) => {
    const { body } = families[wire].protocol.upstream.encodeRequest(
      readCall('chat-completions', asked).decode(),
      families[wire].model,
      undefined,
    );
    expect(JSON.stringify(body)).not.toContain('-1');
  });
});

describe('a wrong field', () => {
  it.each(wrong)('is refused by its name: %j', (fields, param, told) => {
    const error = refusal(() => callWith(fields));
    expect(error.code).toBe('invalid_request');
    expect(error.details.param).toBe(param);
    expect(error.message).toMatch(told);
    expect(error.message.startsWith(`"${param}" `)).toBe(true);
  });

  it('refuses fallback models of the provider, which have other prices, and names our field for them', () => {
    const error = refusal(() => callWith({ models: ['openai/gpt-5.5'] }));
    expect(error).toMatchObject({
      code: 'unsupported_parameter',
      details: { param: 'models' },
      message: expect.stringContaining('"provider.fallback"'),
    });
    for (const models of [null, []]) expect(callWith({ models }).preferences.fallback).toBeUndefined();
  });

  it('is not quoted whole if it is long', () => {
    expect(refusal(() => callWith({ temperature: 'x'.repeat(100_000) })).message).toMatch(/is "x+…":/);
    expect(refusal(() => callWith({ temperature: 'x'.repeat(100_000) })).message.length).toBeLessThan(200);
  });

  it('is not called null if its number is too large for a double', () => {
    const text = '{"model":"openai/gpt-5.5","messages":[{"role":"user","content":"a"}],"temperature":1e400}';
    expect(
      refusal(() => protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {})).message,
    ).toMatch(/^"temperature" is Infinity: send a number/);
  });

  it.each([['text'], [null], [[1]]])('is refused if the body is %j and not an object', (body) => {
    expect(
      refusal(() => protocol.client.read(body, JSON.stringify(body), { operation: 'generate' }, {})).message,
    ).toMatch(/JSON object/);
  });
});

describe('unset and unknown values', () => {
  it('accepts null as unset for every optional field', () => {
    const { outputLimit, candidates, stream, usageWanted } = callWith({
      temperature: null,
      n: null,
      max_tokens: null,
      stream: null,
      stream_options: null,
      tools: null,
      stop: null,
      provider: null,
      seed: null,
    });
    expect({ outputLimit, candidates, stream, usageWanted }).toEqual({
      outputLimit: undefined,
      candidates: 1,
      stream: false,
      usageWanted: false,
    });
  });

  it('accepts unknown fields', () => {
    expect(() =>
      callWith({
        x_new: { a: 1 },
        messages: [{ role: 'user', content: [{ type: 'text', text: 'x', x_new: [] }], x_new: 0 }],
      }),
    ).not.toThrow();
  });

  it('accepts hosted tools', () => {
    const { tools: read } = callWith({
      tools: [{ type: 'openrouter:web_search' }, { type: 'browser_search' }],
    }).decode();
    expect(read?.map(({ type }) => type)).toEqual(['hosted', 'hosted']);
  });
});

describe('a call', () => {
  it('has the lower of two output limits', () => {
    expect(callWith({ max_tokens: 50, max_completion_tokens: 40 }).outputLimit).toBe(40);
    expect(callWith({ max_tokens: 50 }).outputLimit).toBe(50);
  });

  it('has the requested candidates, stream and usage', () => {
    const call = callWith({ n: 3, stream: true, stream_options: { include_usage: true } });
    expect([call.candidates, call.stream, call.usageWanted]).toEqual([3, true, true]);
  });

  it('reads preferences from the provider object, one fallback as a list and prices as text', () => {
    const { preferences } = callWith({
      provider: {
        order: ['a'],
        allow_fallbacks: false,
        fallback: 'x/y',
        max_price: { prompt: 0.5, completion: '2' },
        sort: 'price',
      },
    });
    expect(preferences).toMatchObject({
      order: ['a'],
      allow_fallbacks: false,
      fallback: ['x/y'],
      max_price: { prompt: '0.500000000', completion: '2' },
      sort: 'price',
    });
  });

  it('counts media apart from text, in decoded bytes', () => {
    const image = 'A'.repeat(4000);
    const pdf = 'B'.repeat(400);
    const fields = said([
      { type: 'text', text: 'é' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } },
      { type: 'image_url', image_url: { url: 'https://pictures.example/1.png' } },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } },
      { type: 'input_audio', input_audio: { data: 'CCCC', format: 'wav' } },
    ]);
    const whole = Buffer.byteLength(JSON.stringify({ model: 'openai/gpt-5.5', messages: [], ...fields }));
    expect(callWith(fields).size).toEqual({
      textBytes: whole - 4000 - 400 - 4,
      brief: true,
      images: 2,
      mediaBytes: 300 + 3,
    });
  });

  it('counts a generated picture as an image, and accepts it as the only answer', () => {
    const url = `data:image/png;base64,${'A'.repeat(4000)}`;
    const { size } = callWith(
      message({ role: 'assistant', content: null, images: [{ type: 'image_url', image_url: { url } }] }),
    );
    expect([size.images, size.textBytes < 1000]).toEqual([1, true]);
  });

  it('keeps all digits of a seed that is too large for a double, and takes no other seed for it', () => {
    const text =
      '{"messages":[{"role":"user","content":"x"}],"metadata":{"seed":"7"},"seed": ' +
      '9223372036854775807,"model":"a/b","tools":[{"type":"function","function":{"name":"f",' +
      '"parameters":{"seed":12345678901234567890}}}]}';
    expect(protocol.client.read(JSON.parse(text), text, { operation: 'generate' }, {}).decode().seed).toBe(
      '9223372036854775807',
    );
    expect(callWith({ seed: 42 }).decode().seed).toBe(42);
  });
});

describe('the path', () => {
  it('is matched exactly, and only for POST', () => {
    expect(protocol.client.match('POST', '/v1/chat/completions')).toEqual({ operation: 'generate' });
    expect(protocol.client.match('GET', '/v1/chat/completions')).toBeUndefined();
    expect(protocol.client.match('POST', '/v1/chat/completions/x')).toBeUndefined();
  });
});
