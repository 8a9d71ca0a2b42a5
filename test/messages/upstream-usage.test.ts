import { describe, expect, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { makeCall, protocol } from './bodies.ts';
import { end, readReply, start } from './upstream-events.ts';

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
