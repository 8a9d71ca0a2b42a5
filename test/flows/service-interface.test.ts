/**
 * The service interface of responses and generate-content, row by row over real sockets: what a client may
 * send, with which credential, what comes back whole and streamed, and which errors it gets. Only the demo
 * model answers.
 */
import { describe, expect, it } from 'vitest';
import { readData } from '../support/listen.ts';
import { type Answer, key, number, openService, post, said, text } from './service.ts';

openService();

describe('responses', () => {
  const call = (fields: object): Promise<Answer> =>
    post('/v1/responses', { model: 'demo/echo', ...fields }, { authorization: `Bearer ${key}` });
  const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Ahoy' }] };
  const tool = {
    type: 'function',
    name: 'tide_at',
    description: 'When the tide turns.',
    parameters: { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] },
  };
  const message = {
    type: 'message',
    id: expect.stringMatching(/^msg_/),
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: said, annotations: [], logprobs: [] }],
  };
  const usage = expect.objectContaining({
    input_tokens: number,
    output_tokens: number,
    total_tokens: number,
  });
  const whole = {
    id: expect.stringMatching(/^resp_/),
    object: 'response',
    created_at: number,
    model: 'demo/echo',
    status: 'completed',
    output: [message],
    usage,
  };

  it.each<[string, object, object]>([
    [
      'a string',
      { input: 'Ahoy' },
      { store: true, truncation: 'disabled', tool_choice: 'auto', temperature: 1, metadata: {} },
    ],
    ['items', { input: [user] }, { instructions: null }],
    [
      'every parameter',
      {
        input: 'Ahoy',
        instructions: 'Be brief.',
        max_output_tokens: 100,
        temperature: 2,
        top_p: 0.5,
        tools: [tool],
        tool_choice: 'none',
        truncation: 'auto',
        text: { format: { type: 'text' } },
        store: false,
        metadata: { voyage: '12' },
        provider: { routing: 'cost' },
      },
      {
        instructions: 'Be brief.',
        max_output_tokens: 100,
        temperature: 2,
        top_p: 0.5,
        tools: [{ ...tool, strict: null }],
        tool_choice: 'none',
        truncation: 'auto',
        text: { format: { type: 'text' } },
        store: false,
        metadata: { voyage: '12' },
      },
    ],
  ])('accepts %s, and repeats the settings in the reply', async (_, fields, echoed) => {
    const { status, body } = await call(fields);
    expect([status, body]).toEqual([200, expect.objectContaining({ ...whole, ...echoed })]);
    expect(body).not.toHaveProperty('provider');
  });

  it('returns a tool call as an item, and accepts its output in the next call', async () => {
    const { body } = await call({
      input: [user],
      tools: [tool],
      tool_choice: { type: 'function', name: 'tide_at' },
    });
    const item = {
      type: 'function_call',
      id: expect.stringMatching(/^fc_/),
      status: 'completed',
      call_id: text,
      name: 'tide_at',
      arguments: expect.stringMatching(/^\{.*\}$/),
    };
    expect(body).toMatchObject({ status: 'completed', output: [item] });
    const [called] = Object(body).output;
    const next = await call({
      input: [
        user,
        called,
        { type: 'function_call_output', id: 'fco_1', call_id: called.call_id, output: 'At noon.' },
      ],
      tools: [tool],
    });
    expect(next.body).toMatchObject({
      status: 'completed',
      output: [{ type: 'message', content: [{ text: expect.stringContaining('At noon.') }] }],
    });
  });

  it('streams its events in order, each numbered, and ends with [DONE]', async () => {
    const { status, type, text: stream } = await call({ input: 'Ahoy', stream: true });
    expect([status, type]).toEqual([200, expect.stringContaining('text/event-stream')]);
    const events = readData(stream);
    const kinds = events.map((event) => event.type);
    expect(kinds.filter((kind, index) => kind !== kinds[index - 1])).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events[0]).toMatchObject({
      response: { ...whole, status: 'in_progress', output: [], usage: null },
    });
    expect(events[2]).toMatchObject({
      output_index: 0,
      item: { type: 'message', status: 'in_progress', content: [] },
    });
    expect(events[3]).toMatchObject({
      output_index: 0,
      content_index: 0,
      part: { type: 'output_text', text: '' },
    });
    expect(events[4]).toMatchObject({ output_index: 0, content_index: 0, delta: text });
    expect(events.at(-2)).toMatchObject({ output_index: 0, item: message });
    expect(events.at(-1)).toMatchObject({ response: whole });
    expect(stream.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('streams the arguments of a call', async () => {
    const { text: stream } = await call({
      input: [user],
      tools: [tool],
      tool_choice: { type: 'function', name: 'tide_at' },
      stream: true,
    });
    const kinds = readData(stream).map((event) => event.type);
    expect(kinds.filter((kind, index) => kind !== kinds[index - 1]).slice(2)).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  const assistant = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Aye.' }] };
  it.each<[string, object, string]>([
    ['no input', {}, 'input'],
    ['a temperature over 2', { input: 'Ahoy', temperature: 2.1 }, 'temperature'],
    [
      'an assistant that does not say its id',
      { input: [user, { ...assistant, status: 'completed' }, user] },
      'input[1].id',
    ],
    [
      'an assistant that does not say its status',
      { input: [user, { ...assistant, id: 'msg_1' }, user] },
      'input[1].status',
    ],
    [
      'a choice of a tool that is not there',
      { input: 'Ahoy', tools: [tool], tool_choice: { type: 'function', name: 'wind' } },
      'tool_choice',
    ],
    ['an unknown truncation', { input: 'Ahoy', truncation: 'some' }, 'truncation'],
    [
      'what was kept by an earlier call',
      { input: 'Ahoy', previous_response_id: 'resp_1' },
      'previous_response_id',
    ],
    ['an unknown routing', { input: 'Ahoy', provider: { routing: 'luck' } }, 'provider.routing'],
  ])('refuses %s, naming the field', async (_, fields, param) => {
    expect(await call(fields)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', message: text, param } },
    });
  });

  it('accepts an assistant message with both parts, and refuses more text than fits by default', async () => {
    expect(
      (await call({ input: [user, { ...assistant, id: 'msg_1', status: 'completed' }, user] })).status,
    ).toBe(200);
    expect(await call({ input: 'a'.repeat(6_000_000) })).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
  });

  it('counts the tokens of an input', async () => {
    const { status, body } = await post(
      '/v1/responses/input_tokens',
      { model: 'demo/echo', input: 'Ahoy' },
      { authorization: `Bearer ${key}` },
    );
    expect([status, body]).toEqual([200, { object: 'response.input_tokens', input_tokens: number }]);
  });
});
