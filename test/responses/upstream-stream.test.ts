import { describe, expect, it } from 'vitest';
import { fold } from '../contract/replies.ts';
import { makeCall } from './bodies.ts';
import { complete, created, decode, delta, read, upstream } from './upstream-events.ts';

it('the decoder of an irregular stream reads deltas without events that start items and parts', () => {
  expect(read(created, delta('a'), delta('b'), complete()).candidates[0]?.text).toBe('ab');
});

it('the decoder of an irregular stream reads events without indices', () => {
  expect(
    read(
      created,
      { type: 'response.output_item.added', item: { type: 'message' } },
      delta('a', {}),
      delta('b', {}),
      complete(),
    ),
  ).toMatchObject({ complete: true, candidates: { 0: { text: 'ab' } } });
});

it('the decoder of an irregular stream reads a stream without an event that starts the response', () => {
  expect(read(delta('a'), complete())).toMatchObject({
    complete: true,
    candidates: { 0: { text: 'a', reason: 'stop' } },
  });
});

it('the decoder of an irregular stream ignores unknown events and fields of the wrong type', () => {
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
    read(created, ...odd, delta('a'), complete({ usage: { input_tokens: 'many', output_tokens: -1 } })),
  ).toEqual({ ...read(created, delta('a'), complete()) });
});

it('the decoder of an irregular stream ignores events after the end', () => {
  const events = decode(created, delta('a'), complete(), delta('b'), complete());
  expect(events.at(-1)).toEqual({ type: 'response-end' });
  expect(fold(events).candidates[0]?.text).toBe('a');
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
    expect(fold(upstream.decodeReply({ output: [call('{}')] }, makeCall())).complete).toBe(true);
    expect(fold(upstream.decodeReply({ output: [], error: { message: 'no' } }, makeCall()))).toMatchObject({
      complete: false,
      error: 'no',
    });
  });

  it.each([['null'], [''], [null]])('reads %j as empty arguments', (args) => {
    expect(
      fold(upstream.decodeReply({ output: [call(args)] }, makeCall())).candidates[0]?.calls,
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
      complete(),
    ];
    expect(read(...events).candidates[0]?.calls).toMatchObject([{ arguments: '{}' }]);
  });
});

it('blocks are identified by the index of their item and part', () => {
  const place = (item: number, part: number): object => ({ output_index: item, content_index: part });
  const events = decode(
    created,
    delta('a', place(0, 0)),
    delta('b', place(0, 1)),
    delta('c', place(1, 0)),
    complete(),
  );
  expect(events.filter(({ type }) => type === 'block-start')).toHaveLength(3);
  expect(fold(events).candidates[0]?.text).toBe('abc');
});

it('blocks stay separate for parallel calls', () => {
  const addItem = (index: number): object => ({
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
    addItem(0),
    addItem(1),
    piece(0, '{"a"'),
    piece(1, '{}'),
    piece(0, ':1}'),
    complete(),
  );
  expect(candidates[0]?.calls).toMatchObject([
    { id: 'c0', arguments: '{"a":1}' },
    { id: 'c1', arguments: '{}' },
  ]);
  expect(candidates[0]?.reason).toBe('tool-calls');
});

it('blocks keep the parts of a summary separate, and the last sealed state only', () => {
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
    complete(),
  );
  expect(candidates[0]).toMatchObject({
    reasoning: 'One\n\nTwo',
    sealed: [[{ vendor: 'openai', kind: 'encrypted', value: 'final' }]],
  });
});

it('blocks take from the whole item what its deltas lacked', () => {
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
    read(created, delta('a'), { type: 'response.output_item.done', output_index: 0, item }, complete())
      .candidates[0],
  ).toMatchObject({
    text: 'a',
    annotations: [{ kind: 'url', url: 'https://a.example', end: 1 }],
    logprobs: [{ token: 'a' }],
  });
});

it("blocks do not include a provider's keep-alive, which becomes a ping", () => {
  expect(decode(created, { type: 'keepalive', sequence_number: 3 })).toContainEqual({ type: 'ping' });
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
    complete({ service_tier: 'default', tools: [{ type: 'image_generation' }] }),
  );
  expect(events[1]).toEqual({
    type: 'partial-image',
    candidate: 0,
    index: 2,
    data: 'UklG',
    vendor: { responses: { item_id: 'ig_1', size: '1024x1024' } },
  });
  expect(events.at(-2)).toMatchObject({ type: 'finish', vendor: { responses: { service_tier: 'default' } } });
  expect(decode(created, delta('a'), complete({ service_tier: 'flex' })).at(-2)).not.toHaveProperty('vendor');
});
