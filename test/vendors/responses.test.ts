/** The fake OpenAI accepts, refuses and replies as the real one does, with the same error messages. */
import OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { createCaller, type Caller } from '../support/vendor/call.ts';
import { startResponsesVendor, type ResponsesRequest } from '../support/vendor/responses.ts';
import type { Stage } from '../support/vendor/stage.ts';

const model = 'gpt-4o';
const user = { role: 'user', content: 'Hello!' };
const good = { model, input: [user] };

let vendor: Stage<ResponsesRequest>;
let call: Caller;

/** Starts the fake for the tests of a file. */
function useOpenai(): void {
  beforeAll(async () => {
    vendor = await startResponsesVendor(['gAAAAAgiven']);
    call = createCaller(vendor, '/v1/responses', { authorization: `Bearer ${vendor.key}` });
  });
  afterEach(() => vendor.unscript());
}

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
  ])('still refuses the rest: %s', async (_, change, message) => {
    expect(await runLoop(change)).toMatchObject({ status: 400, text: expect.stringContaining(message) });
  });

  it('takes items and a search as Codex writes them', async () => {
    const update = { type: 'configuration_update', id: null, reasoning: { effort: 'high' } };
    const search = { type: 'web_search', external_web_access: true, search_content_types: ['text', 'image'] };
    const body = { ...good, model: 'gpt-5', tools: [search] };
    expect(await call({ ...body, input: [user, update, user] })).toMatchObject({ status: 200 });
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
});

/** Changes to a valid request, with the code and param of the 400. */
type Change = [change: object, code: string | null, param: string | null, message?: RegExp];

const bad: Readonly<Record<string, Change>> = {
  'an effort that an item sets and the model lacks': [
    {
      model: 'gpt-5',
      reasoning: { effort: 'low' },
      input: [user, { type: 'configuration_update', reasoning: { effort: 'xhigh' } }],
    },
    'unsupported_value',
    'reasoning.effort',
    /'xhigh' is not supported/,
  ],
  ...readCases<Record<string, Change>>('responses-refusals.json', import.meta.url),
  'no input': [{ input: undefined }, 'missing_required_parameter', 'input'],
  'more than the model holds': [{ input: 'a '.repeat(128_001) }, 'context_length_exceeded', 'messages'],
};

describe('the fake OpenAI, asked something wrong', () => {
  it.each(Object.entries(bad))(
    'refuses it as the real one does: %s',
    async (_, [change, code, param, message = /./]) => {
      const reply = await call({ ...good, ...change });
      expect({ status: reply.status, body: reply.json() }).toEqual({
        status: 400,
        body: {
          error: { message: expect.stringMatching(message), type: 'invalid_request_error', code, param },
        },
      });
      expect(reply.headers.get('content-type')).toBe('application/json');
    },
  );

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
