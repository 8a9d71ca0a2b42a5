import { describe, expect, it } from 'vitest';
import type { ClientCall, Tool } from '../../core/index.ts';
import { fold } from '../contract/replies.ts';
import { isObject } from '../support/json.ts';
import { makeCall, makeModel, protocol } from './bodies.ts';
import { decode, end, readReply, start, upstream } from './upstream-events.ts';

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
  it('reads a call without arguments as one with none', () => {
    expect(
      readReply([start, ...use(0, ''), ...use(1), ...end('tool_use')]).candidates[0]?.calls.map(
        ({ arguments: text }) => text,
      ),
    ).toEqual(['{}', '{}']);
  });

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

  it('may hide its reasoning and still sign it', () => {
    const { candidates } = readReply([
      start,
      open(0, { type: 'thinking', thinking: '', signature: '' }),
      add(0, { type: 'signature_delta', signature: 's' }),
      stop(0),
      ...end(),
    ]);
    expect(candidates[0]).toMatchObject({
      reasoning: '',
      sealed: [[{ vendor: 'anthropic', kind: 'signature', value: 's' }]],
    });
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
