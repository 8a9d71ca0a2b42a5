import { describe, expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { checkEvents } from '../contract/events.ts';
import { decodeAll, fold, type Folded } from '../contract/replies.ts';
import { callWith } from './bodies.ts';

const { upstream } = protocol;

function decode(...events: object[]): CanonicalEvent[] {
  const decoded = decodeAll(
    upstream.decodeEvents(callWith()),
    events.map((event) => ({ event: undefined, data: JSON.stringify(event) })),
  );
  checkEvents(decoded);
  return decoded;
}

function read(...events: object[]): Folded {
  return fold(decode(...events));
}

const created = {
  type: 'response.created',
  response: {
    id: 'resp_1',
    model: 'gpt',
    created_at: 5.5,
    status: 'in_progress',
    output: [],
    service_tier: 'flex',
    tools: [],
  },
};
const completed = (fields: object = {}): object => ({
  type: 'response.completed',
  response: { status: 'completed', output: [], ...fields },
});
const delta = (text: unknown, place: object = { output_index: 0, content_index: 0 }): object => ({
  type: 'response.output_text.delta',
  ...place,
  delta: text,
});

describe('the decoder of an irregular stream', () => {
  it('reads deltas without events that start items and parts', () => {
    expect(read(created, delta('a'), delta('b'), completed()).candidates[0]?.text).toBe('ab');
  });

  it('reads events without indices', () => {
    expect(
      read(
        created,
        { type: 'response.output_item.added', item: { type: 'message' } },
        delta('a', {}),
        delta('b', {}),
        completed(),
      ),
    ).toMatchObject({ complete: true, candidates: { 0: { text: 'ab' } } });
  });

  it('reads a stream without an event that starts the response', () => {
    expect(read(delta('a'), completed())).toMatchObject({
      complete: true,
      candidates: { 0: { text: 'a', reason: 'stop' } },
    });
  });

  it('does not double a text that the provider repeats whole', () => {
    const item = { type: 'message', content: [{ type: 'output_text', text: 'ab' }] };
    const part = { output_index: 0, content_index: 0 };
    const events = [
      created,
      delta('a'),
      { type: 'response.content_part.done', ...part, part: item.content[0] },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 0, item },
      completed({ output: [item] }),
    ];
    expect(read(...events).candidates[0]?.text).toBe('ab');
  });

  it('ignores unknown events and fields of the wrong type', () => {
    const odd = [
      { type: 'response.later' },
      { type: 'constructor' },
      { type: 5 },
      { type: 'response.output_item.added', item: 'x' },
      { type: 'response.output_item.done' },
      delta(5),
      { type: 'response.output_text.annotation.added', annotation: 'x' },
      { type: 'response.function_call_arguments.delta', output_index: 7, delta: '{' },
    ];
    expect(
      read(created, ...odd, delta('a'), completed({ usage: { input_tokens: 'many', output_tokens: -1 } })),
    ).toEqual({ ...read(created, delta('a'), completed()) });
  });

  it('ignores events after the end', () => {
    const events = decode(created, delta('a'), completed(), delta('b'), completed());
    expect(events.at(-1)).toEqual({ type: 'response-end' });
    expect(fold(events).candidates[0]?.text).toBe('a');
  });
});

describe('a lenient decoder', () => {
  const call = (args: unknown): object => ({
    type: 'function_call',
    call_id: 'a',
    name: 'f',
    arguments: args,
  });

  it('takes a missing status from the event, and treats a whole response without one as completed', () => {
    expect(read(created, { type: 'response.completed', response: { output: [call('{}')] } })).toMatchObject({
      complete: true,
      candidates: { 0: { reason: 'tool-calls' } },
    });
    expect(read(created, { type: 'response.failed', response: { output: [] } }).complete).toBe(false);
    expect(fold(upstream.decodeReply({ output: [call('{}')] }, callWith())).complete).toBe(true);
    expect(fold(upstream.decodeReply({ output: [], error: { message: 'no' } }, callWith()))).toMatchObject({
      complete: false,
      error: 'no',
    });
  });

  it.each([['null'], [''], [null]])('reads %j as empty arguments', (args) => {
    expect(
      fold(upstream.decodeReply({ output: [call(args)] }, callWith())).candidates[0]?.calls,
    ).toMatchObject([{ arguments: '{}' }]);
  });

  it('reads null in several deltas as empty arguments', () => {
    const place = { output_index: 0 };
    const pieces = ['nu', 'll'].map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...place,
      delta,
    }));
    const events = [
      created,
      { type: 'response.output_item.added', ...place, item: call('') },
      ...pieces,
      { type: 'response.output_item.done', ...place, item: call('null') },
      completed(),
    ];
    expect(read(...events).candidates[0]?.calls).toMatchObject([{ arguments: '{}' }]);
  });
});

describe('blocks', () => {
  it('are identified by the index of their item and part', () => {
    const place = (item: number, part: number): object => ({ output_index: item, content_index: part });
    const events = decode(
      created,
      delta('a', place(0, 0)),
      delta('b', place(0, 1)),
      delta('c', place(1, 0)),
      completed(),
    );
    expect(events.filter(({ type }) => type === 'block-start')).toHaveLength(3);
    expect(fold(events).candidates[0]?.text).toBe('abc');
  });

  it('stay separate for parallel calls', () => {
    const added = (index: number): object => ({
      type: 'response.output_item.added',
      output_index: index,
      item: { type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '' },
    });
    const piece = (index: number, text: string): object => ({
      type: 'response.function_call_arguments.delta',
      output_index: index,
      delta: text,
    });
    const { candidates } = read(
      created,
      added(0),
      added(1),
      piece(0, '{"a"'),
      piece(1, '{}'),
      piece(0, ':1}'),
      completed(),
    );
    expect(candidates[0]?.calls).toMatchObject([
      { id: 'c0', arguments: '{"a":1}' },
      { id: 'c1', arguments: '{}' },
    ]);
    expect(candidates[0]?.reason).toBe('tool-calls');
  });

  it('keep the parts of a summary separate, and the last sealed state only', () => {
    const thought = (part: number, text: string): object => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      summary_index: part,
      delta: text,
    });
    const item = {
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'One' },
        { type: 'summary_text', text: 'Two' },
      ],
      encrypted_content: 'final',
    };
    const { candidates } = read(
      created,
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'reasoning', summary: [], encrypted_content: 'first' },
      },
      thought(0, 'On'),
      thought(0, 'e'),
      thought(1, 'Two'),
      { type: 'response.output_item.done', output_index: 0, item },
      completed(),
    );
    expect(candidates[0]).toMatchObject({
      reasoning: 'One\n\nTwo',
      sealed: [[{ vendor: 'openai', kind: 'encrypted', value: 'final' }]],
    });
  });

  it('take from the whole item what its deltas lacked', () => {
    const item = {
      type: 'message',
      content: [
        {
          type: 'output_text',
          text: 'a',
          annotations: [
            { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 },
          ],
          logprobs: [{ token: 'a' }],
        },
      ],
    };
    expect(
      read(created, delta('a'), { type: 'response.output_item.done', output_index: 0, item }, completed())
        .candidates[0],
    ).toMatchObject({
      text: 'a',
      annotations: [{ kind: 'url', url: 'https://a.example', end: 1 }],
      logprobs: [{ token: 'a' }],
    });
  });

  it("do not include a provider's keep-alive, which becomes a ping", () => {
    expect(decode(created, { type: 'keepalive', sequence_number: 3 })).toContainEqual({ type: 'ping' });
  });
});

describe('the end of a stream', () => {
  it.each([
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length'],
    [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content-filter'],
    [{ status: 'incomplete', incomplete_details: { reason: 'steered' } }, 'other'],
    [{ status: 'incomplete', incomplete_details: null }, 'other'],
  ])('reads %j as a complete reply with the finish reason %s', (fields, reason) => {
    expect(
      read(created, delta('a'), { type: 'response.incomplete', response: { output: [], ...fields } }),
    ).toMatchObject({ complete: true, candidates: { 0: { reason } } });
  });

  it('takes usage from the last response, and reads a total above the sum as uncounted reasoning', () => {
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 18,
    };
    expect(
      read(created, completed({ usage, tool_usage: { web_search: { num_requests: 2 } } })).usage,
    ).toEqual({ input: 10, cacheRead: 4, cacheWrite5m: 2, output: 8, reasoning: 3, webSearches: 2 });
  });

  it.each([
    [10, { ttl_30m_tokens: 6, ttl_12h_tokens: 4 }, { cacheWrite30m: 6, cacheWrite12h: 4 }],
    [10, { ttl_30m_tokens: 0, ttl_12h_tokens: 4 }, { cacheWrite5m: 6, cacheWrite30m: 0, cacheWrite12h: 4 }],
    [10, { ttl_12h_tokens: 'many' }, { cacheWrite5m: 10, cacheWrite30m: 0, cacheWrite12h: 0 }],
    [10, null, { cacheWrite5m: 10 }],
  ])('counts %i cache writes by their retention: %j', (written, parts, counted) => {
    const details = { cache_write_tokens: written, cache_write_tokens_details: parts };
    expect(
      read(created, completed({ usage: { input_tokens: 20, input_tokens_details: details } })).usage,
    ).toEqual({
      input: 20,
      ...counted,
    });
  });

  it("counts xAI's searches from its usage", () => {
    const usage = {
      input_tokens: 5467,
      output_tokens: 593,
      total_tokens: 6060,
      num_server_side_tools_used: 1,
      server_side_tool_usage_details: { web_search_calls: 1, x_search_calls: 2 },
    };
    expect(read(created, completed({ usage })).usage).toEqual({ input: 5467, output: 593, webSearches: 3 });
  });

  it("adds the image tool's usage to the model's, which does not include it", () => {
    const tool_usage = {
      image_gen: {
        input_tokens: 30,
        input_tokens_details: { image_tokens: 20, text_tokens: 10 },
        output_tokens: 196,
        output_tokens_details: { image_tokens: 196, text_tokens: 0 },
        total_tokens: 226,
      },
      web_search: { num_requests: 0 },
    };
    const usage = {
      input_tokens: 1633,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens: 43,
      total_tokens: 1676,
    };
    expect(read(created, completed({ usage, tool_usage, output: [] })).usage).toEqual({
      input: 1663,
      cacheRead: 5,
      inputImage: 20,
      output: 239,
      outputImage: 196,
      webSearches: 0,
    });
    const none = {
      image_gen: {
        input_tokens: 0,
        input_tokens_details: { image_tokens: 0, text_tokens: 0 },
        output_tokens: 0,
        total_tokens: 0,
      },
    };
    expect(read(created, completed({ usage, tool_usage: none, output: [] })).usage).toEqual({
      input: 1633,
      cacheRead: 5,
      output: 43,
    });
  });

  it('counts file searches per call, and containers that ran commands', () => {
    const output = [
      { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['one', 'two'], results: null },
      { type: 'file_search_call', id: 'fs_2', status: 'completed', queries: ['three'], results: null },
      {
        type: 'shell_call',
        id: 'sh_1',
        call_id: 'c1',
        status: 'completed',
        action: { commands: ['ls'] },
        environment: { type: 'container_reference', container_id: 'cntr_new' },
      },
      {
        type: 'shell_call',
        id: 'sh_2',
        call_id: 'c2',
        status: 'completed',
        action: { commands: ['ls'] },
        environment: { type: 'container_reference', container_id: 'cntr_kept' },
      },
    ];
    const tools = [
      { type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_kept' } },
    ];
    expect(
      read(
        created,
        completed({ usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 }, output, tools }),
      ).usage,
    ).toEqual({ input: 10, output: 5, fileSearches: 2, containers: 1 });
  });

  it('counts containers that ran code, except one that the request named', () => {
    const ran = (container: string | null): object => ({
      type: 'code_interpreter_call',
      id: `ci_${container}`,
      status: 'completed',
      code: '1',
      container_id: container,
      outputs: [],
    });
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const output = [ran('cntr_1'), ran('cntr_1'), ran('cntr_2'), ran('cntr_kept'), ran(null)];
    const tools = [{ type: 'code_interpreter', container: 'cntr_kept' }];
    expect(read(created, completed({ usage, output, tools })).usage).toEqual({
      input: 10,
      output: 5,
      containers: 2,
    });
  });

  it('counts searches by their items if there is no sum, and does not count opened pages', () => {
    const call = (type: string): object => ({
      type: 'web_search_call',
      id: `ws_${type}`,
      status: 'completed',
      action: { type, query: 'new' },
    });
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const output = [
      call('search'),
      call('open_page'),
      call('search'),
      { type: 'web_search_call', id: 'ws_old', status: 'completed' },
    ];
    expect(read(created, completed({ usage, output })).usage).toEqual({
      input: 10,
      output: 5,
      webSearches: 3,
    });
    expect(
      read(created, completed({ usage, output, tool_usage: { web_search: { num_requests: 2 } } })).usage,
    ).toEqual({ input: 10, output: 5, webSearches: 2 });
  });

  it.each([
    [
      { type: 'error', error: { code: 'server_error', message: 'Broke.' } },
      { message: 'Broke.', code: 'server_error' },
    ],
    [
      { type: 'error', code: 'rate_limit_exceeded', message: 'Too much.', param: null },
      { message: 'Too much.', code: 'rate_limit_exceeded', status: 429 },
    ],
    [
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'invalid_prompt', message: 'Not that.' } },
      },
      { message: 'Not that.', code: 'invalid_prompt', status: 400 },
    ],
    [
      { error: { message: 'Bare.', code: 'context_length_exceeded' } },
      { message: 'Bare.', code: 'context_length_exceeded', status: 400 },
    ],
    [
      { type: 'response.cancelled', response: { status: 'cancelled' } },
      { message: 'The provider broke off its reply and gave no reason.' },
    ],
  ])('reads %j as an error', (event, error) => {
    expect(decode(created, delta('a'), event, completed()).at(-1)).toMatchObject({ type: 'error', ...error });
  });

  it('does not treat a stream that breaks off as complete, with or without [DONE]', () => {
    const decoder = upstream.decodeEvents(callWith());
    const events = [
      ...decoder.push({ event: undefined, data: JSON.stringify(delta('a')) }),
      ...decoder.push({ event: undefined, data: '[DONE]' }),
      ...decoder.end(),
    ];
    expect(fold(events).complete).toBe(false);
    checkEvents(events);
  });
});

describe('the decoder of a whole reply', () => {
  const whole = (body: unknown): Folded => fold(upstream.decodeReply(body, callWith()));

  it('does not treat a reply that has not ended as complete', () => {
    expect(whole({ status: 'queued', output: [] }).complete).toBe(false);
    expect(whole({ status: 'in_progress', output: [] }).complete).toBe(false);
  });

  it('reads a failed reply as an error', () => {
    expect(
      whole({ status: 'failed', error: { code: 'server_error', message: 'Broke.' }, output: [] }),
    ).toMatchObject({ complete: false, error: 'Broke.' });
    expect(whole({ error: { message: 'Broke.' } }).error).toBe('Broke.');
  });

  it.each([[null], ['text'], [{}], [[]], [{ choices: [] }]])('rejects %j, which is not a reply', (body) => {
    expect(() => whole(body)).toThrow(/not a response object/);
  });
});

it('emits partial images, and what the response reports at its end only', () => {
  const partial = {
    type: 'response.image_generation_call.partial_image',
    sequence_number: 3,
    output_index: 0,
    item_id: 'ig_1',
    size: '1024x1024',
    partial_image_index: 2,
    partial_image_b64: 'UklG',
  };
  const events = decode(
    created,
    partial,
    completed({ service_tier: 'default', tools: [{ type: 'image_generation' }] }),
  );
  expect(events[1]).toEqual({
    type: 'partial-image',
    candidate: 0,
    index: 2,
    data: 'UklG',
    vendor: { responses: { item_id: 'ig_1', size: '1024x1024' } },
  });
  expect(events.at(-2)).toMatchObject({ type: 'finish', vendor: { responses: { service_tier: 'default' } } });
  expect(decode(created, delta('a'), completed({ service_tier: 'flex' })).at(-2)).not.toHaveProperty(
    'vendor',
  );
});
