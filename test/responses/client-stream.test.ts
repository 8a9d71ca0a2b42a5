import { describe, expect, it } from 'vitest';
import { GatewayError, type CanonicalEvent, type ReplyContext } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { isObject } from '../support/json.ts';
import { callWith } from './bodies.ts';

const { client } = protocol;

type Fields = Record<string, unknown>;

/** Parses the events of a stream. Expects `[DONE]` at its end and leaves it out. */
function parseEvents(frames: string): Fields[] {
  const blocks = frames.split('\n\n').filter(Boolean);
  expect(blocks.pop()).toBe('data: [DONE]');
  return blocks.map((block) => {
    const match = /^event: (\S+)\ndata: (.*)$/.exec(block);
    const data: unknown = JSON.parse(match?.[2] ?? '');
    if (!isObject(data)) throw new Error(block);
    expect(data.type).toBe(match?.[1]);
    return data;
  });
}

function stream(events: readonly CanonicalEvent[], fields: Fields = {}): Fields[] {
  const encoder = client.encodeEvents({
    id: '0199-ab',
    model: 'openai/gpt-5.5',
    created: 1_790_000_000,
    call: callWith({ stream: true, ...fields }),
  });
  return parseEvents(events.map((event) => encoder.push(event)).join(''));
}

const start: CanonicalEvent = { type: 'response-start', id: 'vendor', model: 'vendors-own' };
const end: CanonicalEvent[] = [
  { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
  { type: 'usage', usage: { input: 7, output: 5, cacheRead: 3, reasoning: 2 } },
  { type: 'response-end' },
];

function block(
  number: number,
  kind: 'text' | 'reasoning' | 'refusal',
  ...pieces: string[]
): CanonicalEvent[] {
  const place = { candidate: 0, block: number };
  return [
    { type: 'block-start', ...place, kind },
    ...pieces.map((text): CanonicalEvent => ({ type: 'block-delta', ...place, text })),
    { type: 'block-end', ...place },
  ];
}

function called(
  number: number,
  pieces: string[],
  facts: object = {},
  opaque?: Extract<CanonicalEvent, { type: 'block-end' }>['opaque'],
): CanonicalEvent[] {
  const place = { candidate: 0, block: number };
  return [
    { type: 'block-start', ...place, kind: 'tool-call', id: `call_${number}`, name: 'f', ...facts },
    ...pieces.map((text): CanonicalEvent => ({ type: 'block-delta', ...place, text })),
    { type: 'block-end', ...place, ...(opaque ? { opaque } : {}) },
  ];
}

function types(events: readonly Fields[]): string[] {
  return events.map(({ type }) => String(type).replace(/^response\./, ''));
}

function last(events: readonly Fields[]): Fields {
  const response = events.at(-1)?.response;
  return isObject(response) ? response : {};
}

describe('the stream of a text reply', () => {
  const events = stream([start, ...block(0, 'text', 'Aho', 'y'), ...end]);

  it('has all events that OpenAI sends, in order and numbered from zero', () => {
    expect(types(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });

  it('names the item and the part in every event', () => {
    const place = { item_id: 'msg_0199ab0000', output_index: 0, content_index: 0 };
    expect(events[2]).toMatchObject({
      output_index: 0,
      item: { id: 'msg_0199ab0000', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    });
    expect(events[3]).toMatchObject({
      ...place,
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    });
    expect(events[4]).toMatchObject({ ...place, delta: 'Aho', logprobs: [] });
    expect(events[6]).toMatchObject({ ...place, text: 'Ahoy', logprobs: [] });
    expect(events[7]).toMatchObject({ ...place, part: { type: 'output_text', text: 'Ahoy' } });
    expect(events[8]).toMatchObject({
      output_index: 0,
      item: { id: 'msg_0199ab0000', status: 'completed', content: [{ text: 'Ahoy' }] },
    });
  });

  it("ends with the whole response, with the gateway's model name and id", () => {
    expect(last(events)).toMatchObject({
      id: 'resp_0199ab',
      object: 'response',
      created_at: 1_790_000_000,
      model: 'openai/gpt-5.5',
      status: 'completed',
      error: null,
      incomplete_details: null,
      output: [{ type: 'message', content: [{ text: 'Ahoy' }] }],
      usage: {
        input_tokens: 7,
        input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 12,
      },
    });
    expect(events[0]).toMatchObject({
      response: { id: 'resp_0199ab', status: 'in_progress', output: [], usage: null },
    });
  });

  it('reports zero usage if the provider reported none, because clients reject a response without it', () => {
    expect(last(stream([start, { type: 'response-end' }]))).toMatchObject({
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
  });
});

describe('output items', () => {
  it('starts a new message when text follows another item', () => {
    const events = stream([
      start,
      ...block(0, 'text', 'a'),
      ...block(1, 'text', 'b'),
      ...called(2, ['{}']),
      ...block(3, 'text', 'c'),
      ...end,
    ]);
    expect(last(events).output).toMatchObject([
      { id: 'msg_0199ab0000', content: [{ text: 'a' }, { text: 'b' }] },
      {
        id: 'fc_0199ab0001',
        type: 'function_call',
        call_id: 'call_2',
        name: 'f',
        arguments: '{}',
        status: 'completed',
      },
      { id: 'msg_0199ab0002', content: [{ text: 'c' }] },
    ]);
    const done = events.flatMap((event) =>
      event.type === 'response.output_item.done' ? [event.output_index] : [],
    );
    expect(done).toEqual([0, 1, 2]);
  });

  it('streams arguments, and repeats them whole at the end', () => {
    const events = stream([start, ...called(0, ['{"a"', ':', '1}']), ...end]).slice(2, -1);
    expect(types(events)).toEqual([
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
    ]);
    expect(events[0]).toMatchObject({ item: { arguments: '', status: 'in_progress' } });
    expect(events[1]).toMatchObject({ item_id: 'fc_0199ab0000', output_index: 0, delta: '{"a":' });
    expect(events[2]).toMatchObject({ delta: '1}' });
    expect(events[3]).toMatchObject({ arguments: '{"a":1}' });
  });

  it('writes the call of a custom tool as a custom_tool_call item', () => {
    const events = stream([start, ...called(0, ['free', ' ', 'text'], { custom: true }), ...end]);
    expect(types(events).slice(2, -1)).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
    ]);
    expect(last(events).output).toMatchObject([
      { id: 'ctc_0199ab0000', type: 'custom_tool_call', input: 'free text' },
    ]);
  });

  it('gives an id to a call that has none', () => {
    expect(last(stream([start, ...called(0, ['{}'], { id: '' }), ...end])).output).toMatchObject([
      { call_id: 'call_0199ab0000' },
    ]);
  });

  it('writes the namespace of a tool into its call', () => {
    const tools = [{ type: 'namespace', name: 'charts', tools: [{ type: 'function', name: 'f' }] }];
    expect(last(stream([start, ...called(0, ['{}']), ...end], { tools })).output).toMatchObject([
      { name: 'f', namespace: 'charts' },
    ]);
  });

  it('streams reasoning as a summary, with the sealed state at the end', () => {
    const place = { candidate: 0, block: 0 };
    const events = stream([
      start,
      { type: 'block-start', ...place, kind: 'reasoning' },
      { type: 'block-delta', ...place, text: 'Hm' },
      { type: 'block-delta', ...place, text: '.' },
      { type: 'block-end', ...place, opaque: [{ vendor: 'openai', kind: 'encrypted', value: 'gAAA' }] },
      ...end,
    ]);
    expect(types(events).slice(2, -1)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ]);
    expect(events[2]).toMatchObject({ item: { id: 'rs_0199ab0000', type: 'reasoning', summary: [] } });
    expect(last(events).output).toEqual([
      {
        id: 'rs_0199ab0000',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'gAAA',
      },
    ]);
  });

  it('writes no item for reasoning without text and sealed state', () => {
    expect(last(stream([start, ...block(0, 'reasoning'), ...end])).output).toEqual([]);
  });

  it("puts other vendors' sealed state into envelopes, right before its call or right after its text", () => {
    const signature = [{ vendor: 'google', kind: 'signature', value: 'c2ln' }];
    const place = { candidate: 0, block: 0 };
    const events = stream([
      start,
      { type: 'block-start', ...place, kind: 'text' },
      { type: 'block-delta', ...place, text: 'a' },
      { type: 'block-end', ...place, opaque: signature },
      ...called(1, ['{}'], {}, signature),
      ...end,
    ]);
    const { output } = last(events);
    expect(output).toMatchObject([
      { type: 'message' },
      { type: 'reasoning', summary: [] },
      { type: 'reasoning', summary: [] },
      { type: 'function_call' },
    ]);
    const sent = callWith({
      input: [{ role: 'user', content: 'x' }, ...(Array.isArray(output) ? output : [])],
    });
    expect(sent.carriesState).toBe(true);
    expect(sent.decode().turns[1]?.blocks).toMatchObject([
      { type: 'text', text: 'a', opaque: signature },
      { type: 'tool-call', id: 'call_1', opaque: signature },
    ]);
  });

  it('writes a refusal as a part of its own', () => {
    const events = stream([start, ...block(0, 'refusal', 'No', '.'), ...end]);
    expect(types(events).slice(3, -2)).toEqual([
      'content_part.added',
      'refusal.delta',
      'refusal.delta',
      'refusal.done',
      'content_part.done',
    ]);
    expect(last(events)).toMatchObject({
      status: 'completed',
      output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }],
    });
  });

  it("writes other vendors' images, code and searches as items of this protocol", () => {
    const place = (number: number): { candidate: 0; block: number } => ({ candidate: 0, block: number });
    const events = stream([
      start,
      { type: 'block-start', ...place(0), kind: 'image', mediaType: 'image/webp' },
      { type: 'block-delta', ...place(0), text: 'UklG' },
      { type: 'block-end', ...place(0) },
      { type: 'block-start', ...place(1), kind: 'code' },
      { type: 'block-delta', ...place(1), text: 'print(1)' },
      { type: 'block-end', ...place(1) },
      { type: 'block-start', ...place(2), kind: 'server-tool', name: 'web_search', id: 'srvtoolu_1' },
      { type: 'block-delta', ...place(2), text: '{"query":"tides"}' },
      { type: 'block-end', ...place(2) },
      { type: 'block-start', ...place(3), kind: 'audio' },
      { type: 'block-end', ...place(3) },
      ...end,
    ]);
    expect(last(events).output).toMatchObject([
      {
        id: 'ig_0199ab0000',
        type: 'image_generation_call',
        status: 'completed',
        output_format: 'webp',
        result: 'UklG',
      },
      { id: 'ci_0199ab0001', type: 'code_interpreter_call', code: 'print(1)' },
      { id: 'ws_0199ab0002', type: 'web_search_call', action: { type: 'search', query: 'tides' } },
    ]);
    expect(types(events)).toContain('web_search_call.searching');
    expect(events.find(({ type }) => type === 'response.output_item.added')).toMatchObject({
      item: { status: 'in_progress', result: null },
    });
  });

  it('puts citations and log probabilities on their part', () => {
    const place = { candidate: 0, block: 0 };
    const events = stream([
      start,
      { type: 'block-start', ...place, kind: 'text' },
      { type: 'logprobs', ...place, content: [{ token: 'a', logprob: -1 }] },
      { type: 'block-delta', ...place, text: 'a' },
      { type: 'block-delta', ...place, text: 'b' },
      { type: 'block-end', ...place },
      { type: 'annotation', ...place, annotation: { kind: 'url', url: 'https://a.example', title: 'A' } },
      ...end,
    ]);
    expect(events.find(({ type }) => type === 'response.output_text.delta')).toMatchObject({
      delta: 'a',
      logprobs: [{ token: 'a' }],
    });
    const citation = {
      type: 'url_citation',
      url: 'https://a.example',
      title: 'A',
      start_index: 0,
      end_index: 2,
    };
    expect(events.find(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject({
      content_index: 0,
      annotation_index: 0,
      annotation: citation,
    });
    expect(last(events).output).toMatchObject([
      { content: [{ annotations: [citation], logprobs: [{ token: 'a' }] }] },
    ]);
  });

  it('reports other candidates than the first as lost, and writes no event for a ping', () => {
    expect(
      types(
        stream([
          start,
          { type: 'ping' },
          { type: 'block-start', candidate: 1, block: 0, kind: 'text' },
          { type: 'block-delta', candidate: 1, block: 0, text: 'x' },
          ...end,
        ]),
      ),
    ).toEqual(['created', 'in_progress', 'completed']);
  });
});

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
  const context = (now: number): ReplyContext => ({
    id: '0199-ab',
    model: 'openai/gpt-5.5',
    created: 1_790_000_000,
    now: () => now,
    call: callWith({ tools }),
  });
  const reply: CanonicalEvent[] = [start, ...block(0, 'text', 'a'), ...end];

  it('holds every setting, also those that the client did not set', () => {
    const whole = client.encodeReply(reply, context(1_790_000_007));
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
    const encoder = client.encodeEvents(context(1_790_000_009));
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
    expect(client.encodeReply(cut, context(1_790_000_009))).toMatchObject({
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
    const events = stream([
      start,
      ...block(0, 'text', 'a'),
      { type: 'finish', candidate: 0, reason: { unified, raw: 'x' } },
      { type: 'response-end' },
    ]);
    expect(events.at(-1)).toMatchObject({
      type: `response.${status}`,
      response: { status, incomplete_details: details },
    });
    expect(last(events).output).toMatchObject([
      { status: status === 'completed' ? 'completed' : 'incomplete' },
    ]);
  });

  it('marks a call that was cut short as incomplete, and the calls before it as completed', () => {
    const events = stream([
      start,
      ...called(0, ['{}']),
      ...called(1, ['{"a":']),
      { type: 'finish', candidate: 0, reason: { unified: 'length', raw: 'max_tokens' } },
      { type: 'response-end' },
    ]);
    const calls = [
      { type: 'function_call', status: 'completed', arguments: '{}' },
      { type: 'function_call', status: 'incomplete', arguments: '{"a":' },
    ];
    expect(last(events).output).toMatchObject(calls);
    expect(
      events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item),
    ).toMatchObject(calls);
  });

  it('does not end a call after which the reply broke off', () => {
    const received = types(stream([start, ...called(0, ['{}']), { type: 'error', message: 'It broke.' }]));
    expect(received).toContain('function_call_arguments.done');
    expect(received).not.toContain('output_item.done');
  });

  it("names the provider's own reason if the provider ended the reply early", () => {
    const events = stream([
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
        callWith({ temperature: 0.5 }),
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
    const failed = parseEvents(client.encodeStreamError(new GatewayError(code, 'x'), callWith(), false)).at(
      -1,
    );
    expect(failed).toMatchObject({ response: { error: { code: word } } });
  });

  it("continues the numbers of the stream in a provider's error", () => {
    const events = stream([
      start,
      ...block(0, 'text', 'a').slice(0, 2),
      { type: 'error', message: 'It broke.' },
    ]);
    expect(types(events).slice(-2)).toEqual(['error', 'failed']);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });
});

describe('settings in a response', () => {
  it('are repeated as the client sent them', () => {
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
      call: callWith(fields),
    });
    expect(body).toMatchObject({
      ...fields,
      tools,
      reasoning: { effort: 'low', summary: null },
      model: 'a/b',
    });
  });

  it("have OpenAI's defaults if the client did not send them", () => {
    expect(
      client.encodeReply([start, ...end], { id: 'x', model: 'a/b', created: 1, call: callWith() }),
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
});

describe('errors before a reply', () => {
  it('reports an empty account as 429 with the only code at which Codex stops', () => {
    expect(client.encodeError(new GatewayError('out_of_balance', 'Empty.'), 'x')).toEqual({
      status: 429,
      body: {
        error: { message: 'Empty.', type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
      },
    });
  });
});

describe('an image with partial previews', () => {
  const painted: CanonicalEvent = {
    type: 'partial-image',
    candidate: 0,
    index: 0,
    data: 'UklG',
    vendor: { responses: { item_id: 'ig_1', output_format: 'webp' } },
  };
  const place = { candidate: 0, block: 0 };
  const item = { id: 'ig_1', type: 'image_generation_call', status: 'completed', output_format: 'webp' };
  const done: CanonicalEvent[] = [
    {
      type: 'block-start',
      ...place,
      kind: 'image',
      mediaType: 'image/webp',
      vendor: { responses: { item } },
    },
    { type: 'block-delta', ...place, text: 'UklGRg==' },
    { type: 'block-end', ...place },
  ];

  it('is streamed inside its item, which ends with the finished image', () => {
    const events = stream([start, painted, { ...painted, index: 1 }, ...done, ...end]);
    const steps = ['in_progress', 'generating', 'partial_image', 'partial_image', 'completed'].map(
      (step) => `image_generation_call.${step}`,
    );
    expect(types(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      ...steps,
      'output_item.done',
      'completed',
    ]);
    expect(events[2]).toMatchObject({
      output_index: 0,
      item: { id: 'ig_1', status: 'in_progress', result: null },
    });
    expect(events[6]).toMatchObject({
      item_id: 'ig_1',
      output_index: 0,
      partial_image_index: 1,
      partial_image_b64: 'UklG',
      output_format: 'webp',
    });
    expect(last(events).output).toEqual([{ ...item, result: 'UklGRg==' }]);
  });

  it('is marked as failed if it was never finished', () => {
    expect(last(stream([start, painted, ...block(0, 'text', 'Alas.'), ...end])).output).toMatchObject([
      { id: 'ig_1', status: 'failed', result: null },
      { type: 'message' },
    ]);
  });
});

it('repeats at the end what the provider reports at the end only, such as the service tier', () => {
  const bag = (fields: Fields): { vendor: { responses: Fields } } => ({ vendor: { responses: fields } });
  const events = stream([
    { ...start, ...bag({ service_tier: 'auto' }) },
    ...block(0, 'text', 'Ahoy'),
    {
      type: 'finish',
      candidate: 0,
      reason: { unified: 'stop', raw: 'completed' },
      ...bag({ service_tier: 'default' }),
    },
    { type: 'response-end' },
  ]);
  expect([events[0], events.at(-1)]).toMatchObject([
    { response: { service_tier: 'auto' } },
    { response: { service_tier: 'default' } },
  ]);
});

it('cites the whole text if the citation comes before it', () => {
  const annotation: CanonicalEvent = {
    type: 'annotation',
    candidate: 0,
    block: 0,
    annotation: { kind: 'url', url: 'https://a.example', title: 'A' },
  };
  const events = stream([start, ...block(0, 'text', 'Aho', 'y').toSpliced(1, 0, annotation), ...end]);
  expect(types(events).slice(4, 8)).toEqual([
    'output_text.delta',
    'output_text.delta',
    'output_text.annotation.added',
    'output_text.done',
  ]);
  expect(events[6]).toMatchObject({ annotation: { start_index: 0, end_index: 4 } });
});
