/** The fake OpenAI accepts, refuses and replies as the real one does, with the same error messages. */
import OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callerOf, eventsOf, type Caller } from '../support/vendor/call.ts';
import { pixel } from '../support/vendor/improvise.ts';
import { startResponsesVendor, type ResponsesRequest } from '../support/vendor/responses.ts';
import type { Stage } from '../support/vendor/stage.ts';

const model = 'gpt-4o';
const user = { role: 'user', content: 'Hello!' };
const good = { model, input: [user] };
const called = (id: string, more: object = {}) => ({
  type: 'function_call',
  call_id: id,
  name: 'find',
  arguments: '{}',
  ...more,
});
const output = (id: string, more: object = {}) => ({
  type: 'function_call_output',
  call_id: id,
  output: 'x',
  ...more,
});
const said = (...items: object[]) => ({ input: [user, ...items] });
const shown = (part: object) => said({ role: 'user', content: [part] });
const tool = (facts: object = {}) => ({
  type: 'function',
  name: 'find',
  parameters: { type: 'object', properties: {} },
  ...facts,
});
const reasoner = { model: 'gpt-5' };
const thought = { type: 'reasoning', id: 'rs_1', summary: [] };

let vendor: Stage<ResponsesRequest>;
let call: Caller;
beforeAll(async () => {
  vendor = await startResponsesVendor({ vouched: ['gAAAAAgiven'] });
  call = callerOf(vendor, '/v1/responses', { authorization: `Bearer ${vendor.key}` });
});
afterEach(() => vendor.unscript());
afterAll(() => vendor.close());

/** Changes to a valid request, with the code and param of the 400. */
const bad: Record<string, [change: object, code: string | null, param: string | null, message?: RegExp]> = {
  'no input': [{ input: undefined }, 'missing_required_parameter', 'input'],
  'an unknown field': [{ provider: {} }, 'unknown_parameter', 'provider'],
  'a field of chat-completions': [{ stop: ['a'] }, 'unknown_parameter', 'stop'],
  'an unknown field of a message': [
    { input: [{ ...user, name: 'Ann' }] },
    'unknown_parameter',
    'input[0].name',
  ],
  'what a stream helper adds to a call': [
    said(called('a', { parsed_arguments: null }), output('a')),
    'unknown_parameter',
    'input[1].parsed_arguments',
  ],
  'an unknown field of a part': [
    shown({ type: 'input_text', text: 'a', cache_control: {} }),
    'unknown_parameter',
    'input[1].content[0].cache_control',
  ],
  'temperature below zero': [{ temperature: -1, stream: true }, 'decimal_below_min_value', 'temperature'],
  'a limit below the least': [
    { max_output_tokens: 5 },
    'integer_below_min_value',
    'max_output_tokens',
    />= 16, but got 5/,
  ],
  'a limit beyond the model': [{ max_output_tokens: 16_385 }, 'integer_above_max_value', 'max_output_tokens'],
  'a temperature for a reasoning model': [
    { ...reasoner, temperature: 1 },
    'unsupported_parameter',
    'temperature',
  ],
  'an effort for a model without': [
    { reasoning: { effort: 'low' } },
    'unsupported_parameter',
    'reasoning.effort',
  ],
  'an effort the model does not have': [
    { ...reasoner, reasoning: { effort: 'xhigh' } },
    'unsupported_value',
    'reasoning.effort',
    /'minimal', 'low', 'medium', 'high'/,
  ],
  'encrypted reasoning of a model without any': [
    { include: ['reasoning.encrypted_content'] },
    null,
    'include',
  ],
  'an unknown value of include': [{ include: ['everything'] }, 'invalid_value', 'include[0]'],
  'stream options without a stream': [
    { stream_options: { include_obfuscation: false } },
    null,
    'stream_options',
  ],
  "text of an answer among the asker's": [
    shown({ type: 'output_text', text: 'a' }),
    'invalid_value',
    'input[1].content[0].type',
  ],
  'text of an asker among the answers': [
    said({ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }),
    'invalid_value',
    'input[1].content[0].type',
  ],
  'an unknown item': [said({ type: 'thinking' }), 'invalid_value', 'input[1].type'],
  'a call without its output': [
    said(called('a'), called('b'), output('a')),
    null,
    'input',
    /^No tool output found for function call b\.$/,
  ],
  'an output without its call': [
    said(output('a')),
    null,
    'input',
    /^No tool call found for function call output with call_id a\.$/,
  ],
  'an output before its call': [said(output('a'), called('a')), null, 'input', /No tool call found/],
  'an output of the other kind': [
    said(called('a'), { type: 'custom_tool_call_output', call_id: 'a', output: 'x' }),
    null,
    'input',
  ],
  'two calls of one id': [said(called('a'), called('a'), output('a')), null, 'input', /Duplicate/],
  'a call id longer than 64': [
    said(called('x'.repeat(65)), output('x'.repeat(65))),
    'string_above_max_length',
    'input[1].call_id',
  ],
  'an empty call id': [said(called(''), output('')), 'empty_string', 'input[1].call_id'],
  'an item id of another family': [
    said(called('a', { id: 'call_1' }), output('a')),
    'invalid_value',
    'input[1].id',
  ],
  'arguments as an object': [
    said(called('a', { arguments: {} }), output('a')),
    'invalid_type',
    'input[1].arguments',
  ],
  'a thought that nothing follows': [
    said({ ...thought, encrypted_content: 'gAAAAAgiven' }),
    null,
    'input',
    /without its required following item/,
  ],
  'a thought before a question': [
    said({ ...thought, encrypted_content: 'gAAAAAgiven' }, user),
    null,
    'input',
    /without its required following item/,
  ],
  'a thought it never had': [
    said(thought, { role: 'assistant', content: 'a' }),
    null,
    'input',
    /^Item with id 'rs_1' not found/,
  ],
  'a forged thought': [
    said({ ...thought, encrypted_content: 'gAAAAABforged' }, { role: 'assistant', content: 'a' }),
    'invalid_encrypted_content',
    null,
    /could not be decrypted or parsed/,
  ],
  'a reference to an item it never had': [said({ type: 'item_reference', id: 'msg_1' }), null, 'input'],
  'a response it never gave': [
    { previous_response_id: 'resp_1' },
    'previous_response_not_found',
    'previous_response_id',
  ],
  'base64 of the other alphabet': [
    shown({ type: 'input_image', image_url: 'data:image/png;base64,_-8=' }),
    'invalid_value',
    'input[1].content[0].image_url',
  ],
  'base64 without its prefix': [
    shown({ type: 'input_image', image_url: pixel }),
    'invalid_value',
    'input[1].content[0].image_url',
  ],
  'a picture that is not there': [
    shown({ type: 'input_image' }),
    'missing_required_parameter',
    'input[1].content[0].image_url',
  ],
  'a file without a name': [
    shown({ type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' }),
    'missing_required_parameter',
    'input[1].content[0].filename',
  ],
  'a tool as chat-completions has them': [
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    'missing_required_parameter',
    'tools[0].name',
  ],
  'a tool name with a dot': [{ tools: [tool({ name: 'a.b' })] }, 'invalid_value', 'tools[0].name'],
  'two tools of one name': [{ tools: [tool(), tool()] }, null, 'tools'],
  'a tool whose schema is no object': [
    { tools: [tool({ parameters: {} })] },
    'invalid_function_parameters',
    'tools[0].parameters',
  ],
  'a strict schema left open': [
    { tools: [tool({ strict: true })] },
    'invalid_function_parameters',
    'tools[0].parameters',
  ],
  'a required call without tools': [{ tool_choice: 'required' }, null, 'tool_choice'],
  'a choice of a tool that is not there': [
    { tools: [tool()], tool_choice: { type: 'function', name: 'g' } },
    null,
    'tool_choice',
  ],
  'an answer schema left open': [
    {
      text: {
        format: { type: 'json_schema', name: 'a', strict: true, schema: { type: 'object', properties: {} } },
      },
    },
    'invalid_json_schema',
    'text.format.schema',
  ],
  'an answer schema without a name': [
    { text: { format: { type: 'json_schema', schema: {} } } },
    'missing_required_parameter',
    'text.format.name',
  ],
  'JSON mode that nobody speaks of': [{ text: { format: { type: 'json_object' } } }, null, 'input'],
  'cache breakpoints for a model without': [
    shown({ type: 'input_text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } }),
    'unsupported_parameter',
    'prompt_cache_options',
  ],
  'a search with hardly any thought': [
    { ...reasoner, tools: [{ type: 'web_search' }], reasoning: { effort: 'minimal' } },
    null,
    'tools',
  ],
  'more than the model holds': [{ input: 'a '.repeat(128_001) }, 'context_length_exceeded', 'messages'],
};

describe('the fake OpenAI, asked something wrong', () => {
  it.each(Object.entries(bad))('refuses %s', async (_, [change, code, param, message = /./]) => {
    const reply = await call({ ...good, ...change });
    expect({ status: reply.status, body: reply.json() }).toEqual({
      status: 400,
      body: {
        error: { message: expect.stringMatching(message), type: 'invalid_request_error', code, param },
      },
    });
    expect(reply.headers.get('content-type')).toBe('application/json');
  });

  it('refuses an unknown model, an unknown key and an unknown path', async () => {
    expect((await call({ ...good, model: 'gpt-4o-wrong' })).json()).toMatchObject({
      error: { code: 'model_not_found' },
    });
    expect(await call(good, { headers: { authorization: 'Bearer sk-tollgate-secret' } })).toMatchObject({
      status: 401,
    });
    expect(await call(good, { headers: { authorization: '' } })).toMatchObject({ status: 401 });
    expect(await call(good, { path: '/v1/chat/completions' })).toMatchObject({ status: 404 });
  });

  it('refuses fields that a token count does not have', async () => {
    const path = '/v1/responses/input_tokens';
    expect((await call({ ...good, max_output_tokens: 50 }, { path })).json()).toMatchObject({
      error: { code: 'unknown_parameter' },
    });
    expect((await call(good, { path })).json()).toEqual({ object: 'response.input_tokens', input_tokens: 3 });
  });
});

describe('the fake OpenAI, asked something right', () => {
  const client = (): OpenAI => new OpenAI({ apiKey: vendor.key, baseURL: vendor.url, maxRetries: 0 });
  const parameters = {
    type: 'object',
    properties: { town: { type: 'string' } },
    required: ['town'],
    additionalProperties: false,
  };
  const tools = ['find', 'count', 'read'].map((name) => ({
    type: 'function' as const,
    name,
    parameters,
    strict: true,
  }));
  const thinking = {
    model: 'gpt-5',
    tools,
    include: ['reasoning.encrypted_content' as const],
    reasoning: { summary: 'auto' as const },
    store: false,
  };
  const first: ResponseInputItem[] = [{ role: 'user', content: 'Where?' }];

  /** A first turn of calls with their outputs, as the vendor sent it. */
  async function loop(
    change: (items: object[]) => object[] = (items) => items,
  ): Promise<{ status: number; text: string }> {
    const { output: items } = await client().responses.create({ ...thinking, input: first });
    const outputs = items.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output', call_id: item.call_id, output: `R ${item.name}` }]
        : [],
    );
    return call({ ...thinking, input: [...first, ...change([...items, ...outputs])] });
  }
  const without =
    (field: string) =>
    (items: object[]): object[] =>
      items.map((item) => Object.fromEntries(Object.entries(item).filter(([name]) => name !== field)));
  const thoughts =
    (change: object) =>
    (items: object[]): object[] =>
      items.map((item) => ('summary' in item ? { ...item, ...change } : item));

  it('calls the tools it is offered, streamed or not, with or without other items', async () => {
    const calls = tools.map(({ name }) => ({
      type: 'function_call',
      name,
      arguments: '{"town":"Whitby"}',
      status: 'completed',
    }));
    const whole = await client().responses.create({ ...thinking, input: first });
    expect(whole.output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Let me think about that.' }] },
      ...calls,
    ]);
    vendor.script('gpt-5', {
      interleaved: true,
      toolCalls: tools.map(({ name }) => ({ name, arguments: ['{"town"', ':"Whitby"', '}'] })),
    });
    const { output: streamed } = await client()
      .responses.stream({ ...thinking, input: first })
      .finalResponse();
    expect(streamed).toMatchObject(calls);
  });

  it('accepts its own reasoning, with or without its ids', async () => {
    for (const change of [(items: object[]) => items, without('id')]) {
      expect(await loop(change)).toMatchObject({
        status: 200,
        text: expect.stringContaining('find said: R find; count said: R count; read said: R read'),
      });
    }
  });

  it.each([
    ['thoughts cut short', thoughts({ encrypted_content: 'gAAAAABcmVhc29uaW5n' }), 'could not be decrypted'],
    ['thoughts of another item', thoughts({ id: 'rs_other' }), 'item_id did not match'],
    [
      'calls without the thoughts they came from',
      (items: object[]) => items.filter((item) => !('summary' in item)),
      "without its required 'reasoning' item",
    ],
    [
      'thoughts neither encrypted nor stored',
      without('encrypted_content'),
      'not persisted when `store` is set to false',
    ],
  ])('refuses %s', async (_, change, message) => {
    expect(await loop(change)).toMatchObject({ status: 400, text: expect.stringContaining(message) });
  });

  it('streams the events of OpenAI in their order, numbered, without [DONE]', async () => {
    vendor.script(model, { text: ['a', 'b'], toolCalls: [{ name: 'f' }] });
    const { text: stream } = await call({ ...good, stream: true });
    const events = eventsOf(stream);
    expect(events.map(({ name }) => name?.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    const data = events.map((event): { type: string; sequence_number: number } => JSON.parse(event.data));
    expect(data.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(data.map(({ type }) => type)).toEqual(events.map(({ name }) => name));
    expect(stream).not.toContain('[DONE]');
  });

  it('streams encrypted reasoning that is final only at its end', async () => {
    const events = eventsOf((await call({ ...thinking, input: first, stream: true })).text);
    const contents = events
      .filter(({ name }) => name?.startsWith('response.output_item'))
      .slice(0, 2)
      .map(({ data }): unknown => JSON.parse(data).item.encrypted_content);
    expect(new Set(contents).size).toBe(2);
  });

  it('repeats all settings, including defaults', async () => {
    const body = (await call({ ...good, tools: [tool()], metadata: { a: 'b' }, temperature: 0.5 })).json();
    expect(body).toMatchObject({
      object: 'response',
      status: 'completed',
      metadata: { a: 'b' },
      temperature: 0.5,
      top_p: 1,
      tools: [{ strict: true }],
      truncation: 'disabled',
      store: true,
    });
  });

  it('reports why it stopped', async () => {
    const long =
      'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen ' +
      'sixteen seventeen';
    vendor.script(model, { text: long }, { text: 'a', finish: 'content_filter' }, { refusal: 'No.' });
    expect((await call({ ...good, max_output_tokens: 16 })).json()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 16 },
    });
    expect((await call(good)).json()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
    });
    expect((await call(good)).json()).toMatchObject({
      status: 'completed',
      output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }],
    });
  });

  it('replies with a search, code and an image', async () => {
    const ask = async (type: string, more: object = {}): Promise<unknown> =>
      (
        await call({ ...good, tools: [{ type, ...more }], include: ['web_search_call.action.sources'] })
      ).json();
    const citation = {
      type: 'url_citation',
      url: 'https://tides.example/whitby',
      start_index: 0,
      end_index: 22,
    };
    expect(await ask('web_search')).toMatchObject({
      output: [
        { type: 'web_search_call', action: { type: 'search', sources: [{ type: 'url' }] } },
        { content: [{ annotations: [citation] }] },
      ],
    });
    expect(await ask('code_interpreter', { container: { type: 'auto' } })).toMatchObject({
      output: [{ type: 'code_interpreter_call', outputs: [{ logs: '42\n' }] }, {}],
    });
    expect(await ask('image_generation')).toMatchObject({
      output: [{ type: 'image_generation_call', result: pixel }, {}],
    });
  });

  it('replies with log probabilities, cached token counts and a custom tool call', async () => {
    vendor.script(
      model,
      { text: ['a', 'b'], cached: 2 },
      { toolCalls: [{ name: 'sh', freeform: true, arguments: 'ls' }] },
    );
    const logprobs = [{ token: 'a', top_logprobs: [{ token: 'a' }] }, { token: 'b' }];
    expect(
      (await call({ ...good, include: ['message.output_text.logprobs'], top_logprobs: 1 })).json(),
    ).toMatchObject({
      output: [{ content: [{ logprobs }] }],
      usage: { input_tokens_details: { cached_tokens: 2 } },
    });
    expect((await call(good)).json()).toMatchObject({
      output: [{ type: 'custom_tool_call', name: 'sh', input: 'ls' }],
    });
  });

  it('sends an error in the middle of a stream, and then the failed response', async () => {
    vendor.script(model, { text: ['a', 'b'], fail: { after: 5, error: { code: 'insufficient_quota' } } });
    const [error, failed] = eventsOf((await call({ ...good, stream: true })).text).slice(-2);
    expect(error).toMatchObject({ name: 'error', data: expect.stringContaining('"sequence_number":5') });
    expect(JSON.parse(failed?.data ?? '')).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'insufficient_quota' } },
    });
  });
});
