import OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import { readEvents } from '../support/vendor/call.ts';
import { pixel } from '../support/vendor/improvise.ts';
import { model, good, tool, vendor, call, useOpenai } from './responses-requests.ts';

useOpenai();

describe('the fake OpenAI, asked something right', () => {
  const createClient = (): OpenAI => new OpenAI({ apiKey: vendor.key, baseURL: vendor.url, maxRetries: 0 });
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
  async function runLoop(
    change: (items: object[]) => object[] = (items) => items,
  ): Promise<{ status: number; text: string }> {
    const { output: items } = await createClient().responses.create({ ...thinking, input: first });
    const outputs = items.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output', call_id: item.call_id, output: `R ${item.name}` }]
        : [],
    );
    return call({ ...thinking, input: [...first, ...change([...items, ...outputs])] });
  }
  const omitField =
    (field: string) =>
    (items: object[]): object[] =>
      items.map((item) => Object.fromEntries(Object.entries(item).filter(([name]) => name !== field)));
  const changeThoughts =
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
    const whole = await createClient().responses.create({ ...thinking, input: first });
    expect(whole.output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Let me think about that.' }] },
      ...calls,
    ]);
    vendor.script('gpt-5', {
      interleaved: true,
      toolCalls: tools.map(({ name }) => ({ name, arguments: ['{"town"', ':"Whitby"', '}'] })),
    });
    const { output: streamed } = await createClient()
      .responses.stream({ ...thinking, input: first })
      .finalResponse();
    expect(streamed).toMatchObject(calls);
  });

  it('accepts its own reasoning, with or without its ids', async () => {
    for (const change of [(items: object[]) => items, omitField('id')]) {
      expect(await runLoop(change)).toMatchObject({
        status: 200,
        text: expect.stringContaining('find said: R find; count said: R count; read said: R read'),
      });
    }
  });

  it.each([
    [
      'thoughts cut short',
      changeThoughts({ encrypted_content: 'gAAAAABcmVhc29uaW5n' }),
      'could not be decrypted',
    ],
    ['thoughts of another item', changeThoughts({ id: 'rs_other' }), 'item_id did not match'],
    [
      'calls without the thoughts they came from',
      (items: object[]) => items.filter((item) => !('summary' in item)),
      "without its required 'reasoning' item",
    ],
    [
      'thoughts neither encrypted nor stored',
      omitField('encrypted_content'),
      'not persisted when `store` is set to false',
    ],
  ])('refuses %s', async (_, change, message) => {
    expect(await runLoop(change)).toMatchObject({ status: 400, text: expect.stringContaining(message) });
  });

  it('streams the events of OpenAI in their order, numbered, without [DONE]', async () => {
    vendor.script(model, { text: ['a', 'b'], toolCalls: [{ name: 'f' }] });
    const { text: stream } = await call({ ...good, stream: true });
    const events = readEvents(stream);
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
    const events = readEvents((await call({ ...thinking, input: first, stream: true })).text);
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

  it('calls a tool that an item brings', async () => {
    const tools = [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }];
    const input = [
      { type: 'additional_tools', role: 'developer', tools },
      { role: 'user', content: 'Hi' },
    ];
    expect((await call({ ...good, input })).json()).toMatchObject({
      output: [{ type: 'custom_tool_call', name: 'exec', namespace: 'functions' }],
    });
  });

  it('sends an error in the middle of a stream, and then the failed response', async () => {
    vendor.script(model, { text: ['a', 'b'], fail: { after: 5, error: { code: 'insufficient_quota' } } });
    const [error, failed] = readEvents((await call({ ...good, stream: true })).text).slice(-2);
    expect(error).toMatchObject({ name: 'error', data: expect.stringContaining('"sequence_number":5') });
    expect(JSON.parse(failed?.data ?? '')).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'insufficient_quota' } },
    });
  });
});
