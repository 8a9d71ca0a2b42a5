/**
 * The vendor accepts the kinds of requests that real clients were recorded sending. If it were stricter, its
 * refusals would prove nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, readData, question } from './ask.ts';
import { startVendor, type Vendor } from './chat-completions.ts';

const weather = {
  type: 'function',
  function: {
    name: 'look_up_weather',
    description: 'Weather of a town.',
    parameters: {
      type: 'object',
      properties: { town: { type: 'string' } },
      required: ['town'],
      additionalProperties: false,
    },
    strict: true,
  },
};
const noArguments = {
  type: 'function',
  function: {
    name: 'list_towns',
    description: '',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  },
};
const open = {
  type: 'function',
  function: {
    name: 'note',
    parameters: {
      type: 'object',
      properties: { text: { type: 'string' }, kind: { enum: ['a', 'b'] } },
      required: ['text'],
    },
  },
};
const pixel = 'data:image/png;base64,iVBORw0KGgo=';
const called = {
  role: 'assistant',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'list_towns', arguments: '{}' } }],
};
const user = (content: unknown) => ({ role: 'user', content });

const requests: Record<string, object> = {
  'a line of text': question,
  'a stream': { ...question, stream: true },
  'a developer message to a reasoning model, streamed with usage': {
    model: 'gpt-5-nano',
    messages: [{ role: 'developer', content: 'Be brief.' }],
    max_completion_tokens: 100,
    stream: true,
    stream_options: { include_usage: true },
    temperature: 1,
  },
  'a tool with a loose schema': { ...question, tools: [open], tool_choice: 'auto' },
  'several tools, one of them strict, one required': {
    ...question,
    stream: true,
    tools: [weather, noArguments],
    tool_choice: 'required',
    n: 1,
  },
  'a named tool': {
    ...question,
    tools: [weather],
    tool_choice: { type: 'function', function: { name: 'look_up_weather' } },
    parallel_tool_calls: false,
  },
  'a custom tool': {
    ...question,
    tools: [
      {
        type: 'custom',
        custom: {
          name: 'shell',
          format: { type: 'grammar', grammar: { definition: 'start: "x"', syntax: 'lark' } },
        },
      },
    ],
  },
  'a tool result and a picture after it': {
    model: 'gpt-4o',
    tools: [noArguments],
    messages: [
      user([{ type: 'text', text: 'Which?' }]),
      called,
      { role: 'tool', content: 'See below', tool_call_id: 'call_1' },
      user([{ type: 'image_url', image_url: { url: 'https://example.com/a.jpg' } }]),
    ],
  },
  'two tool results out of order': {
    ...question,
    messages: [
      user('Both?'),
      {
        role: 'assistant',
        content: null,
        tool_calls: ['a', 'b'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'note', arguments: '{"text":"x"}' },
        })),
      },
      { role: 'tool', content: [{ type: 'text', text: 'second' }], tool_call_id: 'b' },
      { role: 'tool', content: 'first', tool_call_id: 'a' },
    ],
  },
  'a picture as a data URL': {
    ...question,
    messages: [
      user([
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: pixel, detail: 'low' } },
      ]),
    ],
  },
  'a document': {
    ...question,
    messages: [
      user([
        { type: 'text', text: 'Sum up.' },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' } },
      ]),
    ],
  },
  sound: {
    ...question,
    messages: [user([{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }])],
  },
  'a schema for the answer, beside tools': {
    ...question,
    tools: [noArguments],
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'town',
        schema: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
        strict: false,
      },
    },
  },
  'a cached prefix': {
    model: 'gpt-5',
    prompt_cache_key: 'k',
    prompt_cache_options: { mode: 'explicit', ttl: '30m' },
    messages: [
      user([
        { type: 'text', text: 'Long', prompt_cache_breakpoint: { mode: 'explicit' } },
        { type: 'text', text: 'Short' },
      ]),
    ],
  },
  moderation: {
    model: 'gpt-5',
    messages: [user('Hm.')],
    moderation: {
      model: 'omni-moderation-latest',
      policy: { input: { mode: 'block' }, output: { mode: 'score' } },
    },
  },
  'every sampling field, and nulls': {
    ...question,
    temperature: 0.3,
    top_p: 0.9,
    frequency_penalty: -1,
    presence_penalty: 2,
    seed: 1,
    logit_bias: { 50256: -100 },
    n: 2,
    logprobs: true,
    top_logprobs: 2,
    max_tokens: 40,
    stop: ['\n', 'END'],
    metadata: { a: 'b' },
    user: 'u',
    store: false,
    service_tier: 'auto',
    reasoning_effort: null,
    stream: null,
    response_format: { type: 'text' },
  },
  'a refusal played back': {
    ...question,
    messages: [user('Bad?'), { role: 'assistant', refusal: 'No.' }, user('Good?')],
  },
};

describe('the vendor accepts what real clients send', () => {
  let vendor: Vendor;
  beforeAll(async () => {
    vendor = await startVendor({
      models: {
        aggregated: {
          extensions: {
            fields: ['reasoning'],
            messageFields: ['reasoning_details', 'extra_content'],
            toolTypes: ['web_search'],
          },
        },
      },
    });
  });
  afterAll(() => vendor.close());

  it.each(Object.entries(requests))('%s', async (_, request) => {
    const { status, text } = await ask(vendor, request);
    expect({ status, text }).toMatchObject({ status: 200 });
  });

  it('fields of another vendor where that vendor is played, and nowhere else', async () => {
    const messages = [
      user('Hi'),
      { ...called, reasoning_details: [{ type: 'reasoning.text' }] },
      { role: 'tool', content: 'x', tool_call_id: 'call_1' },
    ];
    const request = {
      messages,
      reasoning: { enabled: true },
      tools: [{ type: 'web_search', parameters: { max_uses: 1 } }],
    };
    expect(await ask(vendor, { ...request, model: 'aggregated' })).toMatchObject({ status: 200 });
    expect(await ask(vendor, { ...request, model: 'gpt-4o' })).toMatchObject({ status: 400 });
  });

  it('and keeps each of them byte for byte, with its headers', async () => {
    const body =
      '{ "model":"gpt-4o-mini" ,"messages":[{"role":"user","content":"1.0 \\u00e9"}],"temperature":1.0}';
    await ask(vendor, body, {
      'x-forwarded-for': '10.0.0.1',
      cookie: 'a=b',
      'X-Tollgate-Canary': 'c',
      'x-other': 'd',
    });
    const received = vendor.requests.at(-1);
    expect(received?.body.toString()).toBe(body);
    expect(received?.leaked.toSorted()).toEqual(['cookie', 'x-forwarded-for', 'x-tollgate-canary']);
    expect(received?.rawHeaders).toContain('x-other');
    expect(received?.closedByPeerAt).toBeUndefined();
  });
});

describe('the vendor counts by its stated rule', () => {
  let vendor: Vendor;
  beforeAll(async () => {
    vendor = await startVendor();
  });
  afterAll(() => vendor.close());

  it('in a JSON reply', async () => {
    vendor.script('gpt-4o-mini', { text: 'Four score, and seven.' });
    const { text } = await ask(vendor, question);
    // Three for the message, two for `Hello!`; four words and two signs.
    expect(JSON.parse(text).usage).toMatchObject({
      prompt_tokens: 5,
      completion_tokens: 6,
      total_tokens: 11,
    });
    expect(vendor.journal.at(-1)).toMatchObject({
      billed: { prompt: 5, completion: 6 },
      end: 'complete',
      model: 'gpt-4o-mini',
    });
  });

  it('in a stream, which reports usage only on request', async () => {
    const asked = await ask(vendor, { ...question, stream: true, stream_options: { include_usage: true } });
    const chunks = readData(asked.text)
      .slice(0, -1)
      .map((data) => JSON.parse(data));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 6 } });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(readData(asked.text).at(-1)).toBe('[DONE]');
    const unasked = await ask(vendor, { ...question, stream: true });
    expect(unasked.text).not.toContain('"usage"');
  });

  it('keeps to the output limit and says that it was reached', async () => {
    const { text } = await ask(vendor, { ...question, max_tokens: 3 });
    expect(JSON.parse(text)).toMatchObject({
      choices: [{ message: { content: 'Four score,' }, finish_reason: 'length' }],
      usage: { completion_tokens: 3 },
    });
  });
});
