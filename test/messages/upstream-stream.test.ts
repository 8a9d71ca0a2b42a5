/** Events of a provider's stream, and what they decode to. */
import { describe, expect, it } from 'vitest';
import type { CanonicalEvent, ClientCall, Tool } from '../../core/index.ts';
import { decodeAll, fold, type Folded } from '../contract/replies.ts';
import { readCases } from '../support/cases.ts';
import { isObject } from '../support/json.ts';
import { makeCall, protocol, makeModel } from './bodies.ts';

const { upstream } = protocol;

function decode(events: readonly (object | string)[], call: ClientCall = makeCall()): CanonicalEvent[] {
  return decodeAll(
    upstream.decodeEvents(call),
    events.map((event) => ({
      event: undefined,
      data: typeof event === 'string' ? event : JSON.stringify(event),
    })),
  );
}

function readReply(events: readonly (object | string)[], call?: ClientCall): Folded {
  return fold(decode(events, call));
}

const start = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'claude-x', usage: { input_tokens: 4, output_tokens: 1 } },
};

const end = (reason = 'end_turn', usage: object = { output_tokens: 9 }): object[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage },
  { type: 'message_stop' },
];

const open = (index: number, block: object): object => ({
  type: 'content_block_start',
  index,
  content_block: block,
});

const add = (index: number, delta: object): object => ({ type: 'content_block_delta', index, delta });
const stop = (index: number): object => ({ type: 'content_block_stop', index });

const use = (index: number, ...pieces: string[]): object[] => [
  open(index, { type: 'tool_use', id: `toolu_${index}`, name: 'look', input: {} }),
  ...pieces.map((piece) => add(index, { type: 'input_json_delta', partial_json: piece })),
  stop(index),
];

/** A call by a client of another protocol, which offered these tools. */
function makeForeignCall(tools: Tool[]): ClientCall {
  const call = makeCall();
  return { ...call, decode: () => ({ ...call.decode(), tools }) };
}

describe("a provider's stream", () => {
  it('reads a call without arguments in the same way if a relay writes null', () => {
    const calls = [
      ...use(0, 'nul', 'l'),
      open(1, { type: 'tool_use', id: 'b', name: 'look', input: null }),
      stop(1),
      ...use(2, 'nuts'),
    ];
    expect(
      readReply([start, ...calls, ...end('tool_use')]).candidates[0]?.calls.map(
        ({ arguments: text }) => text,
      ),
    ).toEqual(['{}', '{}', 'nuts']);
  });

  it("may carry the arguments in the block's start, as relays send it", () => {
    const block = open(0, { type: 'tool_use', id: 'a', name: 'look', input: { x: 1 } });
    expect(readReply([start, block, stop(0), ...end()]).candidates[0]?.calls).toMatchObject([
      { arguments: '{"x":1}' },
    ]);
  });

  it("reads a custom tool's text out of its arguments, and restores the client's name of a tool", () => {
    const call = makeForeignCall([
      { type: 'custom', name: 'look' },
      { type: 'function', name: 'a.b' },
    ]);
    const { body } = upstream.encodeRequest(call.decode(), makeModel(), undefined);
    const offered: unknown = isObject(body) && Array.isArray(body.tools) ? body.tools[1] : undefined;
    const name = isObject(offered) ? offered.name : undefined;
    const renamed = open(1, { type: 'tool_use', id: 'b', name, input: {} });
    const { candidates } = readReply(
      [start, ...use(0, '{"input":"*** ', 'Begin"}'), renamed, stop(1), ...end()],
      call,
    );
    expect(name).not.toBe('a.b');
    expect(candidates[0]?.calls).toMatchObject([
      { name: 'look', custom: true, arguments: '*** Begin' },
      { name: 'a.b', arguments: '{}' },
    ]);
  });

  it.each([
    ['end_turn', 'stop'],
    ['max_tokens', 'length'],
    ['stop_sequence', 'stop-sequence'],
    ['pause_turn', 'pause'],
    ['refusal', 'refusal'],
    ['model_context_window_exceeded', 'context-length'],
    ['later_reason', 'other'],
  ])('that ends by %s ends by %s', (raw, unified) => {
    expect(readReply([start, ...end(raw)]).candidates[0]?.reason).toBe(unified);
  });

  it('that calls a tool ends by a tool call, unless it was cut short', () => {
    expect(readReply([start, ...use(0, '{}'), ...end('end_turn')]).candidates[0]?.reason).toBe('tool-calls');
    expect(readReply([start, ...use(0, '{"x'), ...end('max_tokens')]).candidates[0]?.reason).toBe('length');
  });

  it('passes unknown blocks and deltas on to its own clients', () => {
    const events = decode([
      start,
      open(0, { type: 'compaction', content: null }),
      add(0, { type: 'compaction_delta', content: 'x' }),
      stop(0),
      ...end(),
    ]);
    const encoder = protocol.client.encodeEvents({ id: 'x', model: 'a/b', created: 1, call: makeCall() });
    const frames = events.map((event) => encoder.push(event)).join('');
    expect(frames).toContain(
      '{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}',
    );
    expect(frames).toContain('{"type":"compaction_delta","content":"x"}');
  });

  it('reports at its end in which container its code ran', () => {
    const ending = [
      {
        type: 'message_delta',
        delta: {
          stop_reason: 'end_turn',
          stop_sequence: null,
          stop_details: null,
          container: { id: 'c', expires_at: '2026-11-22T04:00:00Z' },
        },
        usage: { output_tokens: 1 },
      },
      { type: 'message_stop' },
    ];
    const encoder = protocol.client.encodeEvents({ id: 'x', model: 'a/b', created: 1, call: makeCall() });
    const frames = decode([start, ...ending])
      .map((event) => encoder.push(event))
      .join('');
    expect(frames).toContain(
      '"delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":{"id":"c"',
    );
  });

  it.each([
    [
      'no stop',
      [
        start,
        open(0, { type: 'text', text: 'x' }),
        stop(0),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      ],
    ],
    ['no reason', [start, open(0, { type: 'text', text: 'x' }), stop(0), { type: 'message_stop' }]],
    ['an error', [start, { type: 'error', error: { type: 'overloaded_error', message: 'x' } }, ...end()]],
    ['an error without its name', [start, { error: { message: 'x' } }, ...end()]],
    ['broken JSON', [start, '{"type"', ...end()]],
    ['nothing', []],
  ])('with %s is never complete', (_, events) => {
    expect(readReply(events).complete).toBe(false);
  });

  it('that breaks off says why, with a status that shows whose fault it is', () => {
    expect(
      decode([start, { type: 'error', error: { type: 'invalid_request_error', message: 'Bad.' } }]).at(-1),
    ).toMatchObject({
      type: 'error',
      message: 'Bad.',
      code: 'invalid_request_error',
      status: 400,
      meaning: 'invalid_request',
    });
    expect(
      decode([start, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]).at(-1),
    ).toMatchObject({ status: 529 });
  });

  it('returns nothing after its end', () => {
    const decoder = upstream.decodeEvents(makeCall());
    for (const event of [start, ...end()]) decoder.push({ event: undefined, data: JSON.stringify(event) });
    expect([
      ...decoder.push({ event: undefined, data: JSON.stringify(open(0, { type: 'text', text: 'x' })) }),
      ...decoder.end(),
    ]).toEqual([]);
  });
});

it("a provider's whole reply that is invalid is refused", () => {
  for (const body of [null, [], 'x', {}, { content: 'x' }])
    expect(() => upstream.decodeReply(body, makeCall())).toThrow(/not a message/);
});

it("a provider's whole reply is complete, though a relay omitted why it ended", () => {
  expect(fold(upstream.decodeReply({ content: [{ type: 'text', text: 'x' }] }, makeCall()))).toMatchObject({
    complete: true,
    candidates: { 0: { text: 'x', reason: 'stop' } },
  });
});

it("a provider's whole reply that is an error is reported as one", () => {
  expect(
    upstream.decodeReply({ type: 'error', error: { type: 'api_error', message: 'x' } }, makeCall()),
  ).toMatchObject([{ type: 'error', message: 'x', code: 'api_error', status: 500 }]);
});

const cases = readCases<readonly [what: string, first: object | null, end: object, writes: object][]>(
  'upstream-usage.json',
  import.meta.url,
);

describe("a provider's stream", () => {
  it('counts the whole input, only its latest figures, and its cache by time to live', () => {
    const split = { cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 } };
    const first = {
      type: 'message_start',
      message: {
        usage: {
          input_tokens: 1,
          cache_read_input_tokens: 100,
          cache_creation_input_tokens: 30,
          ...split,
          output_tokens: 2,
        },
      },
    };
    const { usage } = readReply([
      first,
      ...end('end_turn', {
        input_tokens: 5,
        cache_creation_input_tokens: 30,
        cache_read_input_tokens: null,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 3 },
      }),
    ]);
    expect(usage).toEqual({
      input: 135,
      cacheRead: 100,
      cacheWrite5m: 10,
      cacheWrite1h: 20,
      output: 7,
      reasoning: 3,
    });
    expect(
      readReply([first, ...end('end_turn', { cache_creation_input_tokens: 40, output_tokens: 1 })]).usage,
    ).toMatchObject({ input: 141, cacheWrite5m: 20, cacheWrite1h: 20 });
    expect(
      readReply([first, ...end('end_turn', { cache_creation_input_tokens: 20, output_tokens: 1 })]).usage,
    ).toMatchObject({ cacheWrite5m: 20 });
  });

  const readWrites = (first: object | null, end: object): { usage: object } => ({
    usage: readReply([
      {
        type: 'message_start',
        message: {
          usage: {
            input_tokens: 1,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            ...first,
            output_tokens: 2,
          },
        },
      },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7, ...end } },
      { type: 'message_stop' },
    ]).usage,
  });
  const hour = (tokens: number, short = 0): object => ({
    cache_creation_input_tokens: tokens + short,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: tokens },
  });

  it.each(cases)('counts the cache writes of later rounds %s', (_, first, end, writes) => {
    expect(readWrites(first, end).usage).toMatchObject(writes);
  });

  it.each<[what: string, marks: object[], writes: object]>([
    ['an hour where the request asks for that alone', [{ ttl: '1h' }, { ttl: '1h' }], { cacheWrite1h: 5000 }],
    ['five minutes where it asks for both', [{ ttl: '1h' }, {}], { cacheWrite5m: 5000 }],
  ])('counts cache writes that only later rounds made as written for %s', (_, marks, writes) => {
    const content = marks.map((mark) => ({
      type: 'text',
      text: 'long',
      cache_control: { type: 'ephemeral', ...mark },
    }));
    const body = { model: 'a/b', max_tokens: 9, messages: [{ role: 'user', content }] };
    const call = protocol.client.read(
      body,
      JSON.stringify(body),
      { operation: 'generate' },
      { 'anthropic-version': '2023-06-01' },
    );
    for (const asking of [call, { ...makeCall(), decode: () => call.decode() }]) {
      const decoder = protocol.upstream.decodeEvents(asking);
      const events = [
        { type: 'message_start', message: { usage: { input_tokens: 1, ...hour(0), output_tokens: 2 } } },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { cache_creation_input_tokens: 5000, output_tokens: 7 },
        },
      ].flatMap((event) => decoder.push({ event: event.type, data: JSON.stringify(event) }));
      expect(events.findLast(({ type }) => type === 'usage')).toMatchObject({ usage: writes });
    }
  });

  it('counts what a summary of the conversation read and wrote, which the sums omit', () => {
    const own = { input_tokens: 23_000, output_tokens: 1000 };
    const iterations = [
      {
        type: 'compaction',
        input_tokens: 150_000,
        cache_read_input_tokens: 30_000,
        cache_creation_input_tokens: 0,
        output_tokens: 3500,
      },
      { type: 'message', ...own },
    ];
    const { usage } = readReply([start, ...end('end_turn', { ...own, iterations })]);
    expect(usage).toMatchObject({ input: 203_000, cacheRead: 30_000, output: 4500 });
    expect(readReply([start, ...end('end_turn', { ...own, iterations: null })]).usage).toMatchObject({
      input: 23_000,
      output: 1000,
    });
  });

  it('without usage reports none', () => {
    const silent = { type: 'message_start', message: { usage: { input_tokens: -1, output_tokens: 'x' } } };
    expect(readReply([silent, ...end('end_turn', {})]).usage).toEqual({});
  });
});
