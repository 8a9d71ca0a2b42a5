import { describe, expect, it } from 'vitest';
import { GatewayError, type CanonicalEvent, type ReplyContext } from '../../core/index.ts';
import { makeCall } from './bodies.ts';
import {
  block,
  callTool,
  client,
  end,
  getLastResponse,
  parseEvents,
  start,
  writeEvents,
  listTypes,
} from './client-events.ts';

describe('the response object', () => {
  const tools = [
    { type: 'function', name: 'f', parameters: { type: 'object' } },
    { type: 'function', name: 'g' },
    {
      type: 'namespace',
      name: 'n',
      description: 'Its own.',
      tools: [{ type: 'function', name: 'h', strict: true }],
    },
    { type: 'custom', name: 'c' },
  ];
  const echoed = [
    { type: 'function', name: 'f', parameters: { type: 'object' }, description: null, strict: null },
    { type: 'function', name: 'g', parameters: null, description: null, strict: null },
    {
      type: 'namespace',
      name: 'n',
      description: 'Its own.',
      tools: [{ type: 'function', name: 'h', parameters: null, description: null, strict: true }],
    },
    { type: 'custom', name: 'c' },
  ];
  const makeContext = (now: number): ReplyContext => ({
    id: '0199-ab',
    model: 'openai/gpt-5.5',
    created: 1_790_000_000,
    readClock: () => now,
    call: makeCall({ tools }),
  });
  const reply: CanonicalEvent[] = [start, ...block(0, 'text', 'a'), ...end];

  it('holds every setting, also those that the client did not set', () => {
    const whole = client.encodeReply(reply, makeContext(1_790_000_007));
    expect(whole).toMatchObject({
      completed_at: 1_790_000_007,
      presence_penalty: 0,
      frequency_penalty: 0,
      access_programs: null,
      tools: echoed,
    });
    expect(whole).not.toHaveProperty('user');
  });

  it('has its time of completion in the last event of a stream only', () => {
    const encoder = client.encodeEvents(makeContext(1_790_000_009));
    const events = reply
      .map((event) => encoder.push(event))
      .join('')
      .split('\n\n')
      .flatMap(
        (frame) => /^event: response\.(?:created|in_progress|completed)\ndata: (.*)$/.exec(frame)?.[1] ?? [],
      );
    const received = events.map((data): unknown => JSON.parse(data));
    expect(received).toMatchObject(
      [null, null, 1_790_000_009].map((at) => ({
        response: { completed_at: at, presence_penalty: 0, frequency_penalty: 0, tools: echoed },
      })),
    );
  });

  it('has no time of completion if it is not completed', () => {
    const cut = [
      start,
      ...block(0, 'text', 'a'),
      { type: 'finish' as const, candidate: 0, reason: { unified: 'length' as const, raw: 'x' } },
      { type: 'response-end' as const },
    ];
    expect(client.encodeReply(cut, makeContext(1_790_000_009))).toMatchObject({
      status: 'incomplete',
      completed_at: null,
    });
  });
});

describe('the end of a response', () => {
  it.each([
    ['stop', 'completed', null],
    ['tool-calls', 'completed', null],
    ['stop-sequence', 'completed', null],
    ['pause', 'incomplete', { reason: 'max_output_tokens' }],
    ['length', 'incomplete', { reason: 'max_output_tokens' }],
    ['context-length', 'incomplete', { reason: 'max_output_tokens' }],
    ['content-filter', 'incomplete', { reason: 'content_filter' }],
    ['refusal', 'incomplete', { reason: 'content_filter' }],
    ['error', 'failed', null],
  ] as const)('with the reason %s has the status %s', (unified, status, details) => {
    const events = writeEvents([
      start,
      ...block(0, 'text', 'a'),
      { type: 'finish', candidate: 0, reason: { unified, raw: 'x' } },
      { type: 'response-end' },
    ]);
    expect(events.at(-1)).toMatchObject({
      type: `response.${status}`,
      response: { status, incomplete_details: details },
    });
    expect(getLastResponse(events).output).toMatchObject([
      { status: status === 'completed' ? 'completed' : 'incomplete' },
    ]);
  });

  it('marks a call that was cut short as incomplete, and the calls before it as completed', () => {
    const events = writeEvents([
      start,
      ...callTool(0, ['{}']),
      ...callTool(1, ['{"a":']),
      { type: 'finish', candidate: 0, reason: { unified: 'length', raw: 'max_tokens' } },
      { type: 'response-end' },
    ]);
    const calls = [
      { type: 'function_call', status: 'completed', arguments: '{}' },
      { type: 'function_call', status: 'incomplete', arguments: '{"a":' },
    ];
    expect(getLastResponse(events).output).toMatchObject(calls);
    expect(
      events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item),
    ).toMatchObject(calls);
  });

  it('does not end a call after which the reply broke off', () => {
    const received = listTypes(
      writeEvents([start, ...callTool(0, ['{}']), { type: 'error', message: 'It broke.' }]),
    );
    expect(received).toContain('function_call_arguments.done');
    expect(received).not.toContain('output_item.done');
  });

  it("names the provider's own reason if the provider ended the reply early", () => {
    const events = writeEvents([
      start,
      ...block(0, 'text', 'a'),
      { type: 'finish', candidate: 0, reason: { unified: 'error', raw: 'MALFORMED_FUNCTION_CALL' } },
      { type: 'response-end' },
    ]);
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        error: { code: 'server_error', message: expect.stringContaining('MALFORMED_FUNCTION_CALL') },
      },
    });
  });

  it('ends a broken stream with the error in both shapes, the failed response and [DONE]', () => {
    const [error, failed, ...more] = parseEvents(
      client.encodeStreamError(
        new GatewayError('upstream_failed', 'It broke.'),
        makeCall({ temperature: 0.5 }),
        true,
      ),
    );
    expect(more).toEqual([]);
    expect(error).toMatchObject({
      type: 'error',
      code: 'upstream_error',
      message: 'It broke.',
      param: null,
      error: { type: 'server_error', code: 'upstream_error', message: 'It broke.', param: null },
    });
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: {
        object: 'response',
        status: 'failed',
        error: { code: 'server_error', message: 'It broke.' },
        output: [],
        usage: null,
        temperature: 0.5,
        model: 'openai/gpt-5.5',
      },
    });
    expect(Number(failed?.sequence_number)).toBe(Number(error?.sequence_number) + 1);
  });

  it.each([
    ['rate_limited', 'rate_limit_exceeded'],
    ['context_length_exceeded', 'context_length_exceeded'],
    ['internal', 'server_error'],
  ] as const)('reports %s with a code that clients know', (code, word) => {
    const failed = parseEvents(client.encodeStreamError(new GatewayError(code, 'x'), makeCall(), false)).at(
      -1,
    );
    expect(failed).toMatchObject({ response: { error: { code: word } } });
  });

  it("continues the numbers of the stream in a provider's error", () => {
    const events = writeEvents([
      start,
      ...block(0, 'text', 'a').slice(0, 2),
      { type: 'error', message: 'It broke.' },
    ]);
    expect(listTypes(events).slice(-2)).toEqual(['error', 'failed']);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });
});

it('settings in a response are repeated as the client sent them', () => {
  const fields = {
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    store: false,
    temperature: 0.2,
    truncation: 'auto',
    text: { format: { type: 'json_object' } },
    reasoning: { effort: 'low' },
    tools: [{ type: 'function', name: 'f', parameters: {} }],
    max_output_tokens: 20,
    user: 'u',
    service_tier: 'flex',
    prompt_cache_key: 'k',
  };
  const tools = [{ type: 'function', name: 'f', parameters: {}, description: null, strict: null }];
  const body = client.encodeReply([start, ...end], {
    id: 'x',
    model: 'a/b',
    created: 1,
    call: makeCall(fields),
  });
  expect(body).toMatchObject({
    ...fields,
    tools,
    reasoning: { effort: 'low', summary: null },
    model: 'a/b',
  });
});

it("settings in a response have OpenAI's defaults if the client did not send them", () => {
  expect(
    client.encodeReply([start, ...end], { id: 'x', model: 'a/b', created: 1, call: makeCall() }),
  ).toMatchObject({
    background: false,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
  });
});

it('an error before a reply reports an empty account as 429 with the only code at which Codex stops', () => {
  expect(client.encodeError(new GatewayError('out_of_balance', 'Empty.'), 'x')).toEqual({
    status: 429,
    body: {
      error: { message: 'Empty.', type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
    },
  });
});
