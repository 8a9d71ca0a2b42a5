import { expect, it } from 'vitest';
import type { ClientCall } from '../../core/index.ts';
import { makeCall } from './bodies.ts';
import { choices, decode, read } from './upstream-events.ts';

function readCalls(...fragments: object[]): unknown {
  const folded = read([
    ...fragments.map((fragment) => choices([{ tool_calls: [fragment] }])),
    choices([{}, 'tool_calls']),
  ]);
  return folded.candidates[0]?.calls.map(({ id, name, arguments: text }) => [id, name, text]);
}

it('tool calls are distinguished by id if all have index 0', () => {
  expect(
    readCalls(
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":' } },
      { index: 0, function: { arguments: '1}' } },
      { index: 0, id: 'b', function: { name: 'f', arguments: '{}' } },
    ),
  ).toEqual([
    ['a', 'f', '{"x":1}'],
    ['b', 'f', '{}'],
  ]);
});

it('tool calls continue if the id and the name are repeated', () => {
  expect(
    readCalls(
      { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
      { index: 0, id: 'a', function: { name: 'f', arguments: ' ' } },
    ),
  ).toEqual([['a', 'f', '{} ']]);
  expect(
    readCalls(
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } },
      { index: 0, function: { name: 'f', arguments: ':1}' } },
    ),
  ).toEqual([['a', 'f', '{"x":1}']]);
});

it('tool calls without ids get generated ones, the same each time the reply is read', () => {
  const fragments = [
    { index: 0, id: '', function: { name: 'f', arguments: '{}' } },
    { index: 0, id: '', function: { name: 'g', arguments: '{}' } },
  ];
  const first = readCalls(...fragments);
  expect(first).toEqual([
    [expect.stringMatching(/^call_[A-Za-z0-9]{24}$/), 'f', '{}'],
    [expect.stringMatching(/^call_[A-Za-z0-9]{24}$/), 'g', '{}'],
  ]);
  expect(readCalls(...fragments)).toEqual(first);
  expect(new Set(JSON.stringify(first).match(/call_\w+/g)).size).toBe(2);
});

it('tool calls of two replies never share a generated id', () => {
  const readCallId = (id: string): unknown =>
    read([
      {
        ...choices([{ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] }, 'stop']),
        id,
      },
    ]).candidates[0]?.calls[0]?.id;
  expect(readCallId('r1')).not.toBe(readCallId('r2'));
});

it('tool calls may have no index at all', () => {
  expect(
    readCalls(
      { id: 'a', function: { name: 'f', arguments: '{' } },
      { function: { arguments: '}' } },
      { id: 'b', function: { name: 'g', arguments: '' } },
    ),
  ).toEqual([
    ['a', 'f', '{}'],
    ['b', 'g', '{}'],
  ]);
});

it.each([['null'], [' null\n'], [''], [null], [undefined]])(
  'tool calls without arguments have an empty object, whatever the provider writes: %j',
  (args) => {
    expect(readCalls({ index: 0, id: 'a', function: { name: 'f', arguments: args } })).toEqual([
      ['a', 'f', '{}'],
    ]);
  },
);

it('tool calls hold text back only while it may become null', () => {
  const events = decode([
    ...['n', 'ul', 'l'].map((piece, at) =>
      choices([
        {
          tool_calls: [
            {
              index: 0,
              ...(at === 0 ? { id: 'a' } : {}),
              function: { ...(at === 0 ? { name: 'f' } : {}), arguments: piece },
            },
          ],
        },
      ]),
    ),
    choices([{}, 'stop']),
  ]);
  expect(events.flatMap((event) => (event.type === 'block-delta' ? [event.text] : []))).toEqual(['{}']);
  expect(
    readCalls(
      { index: 0, id: 'a', function: { name: 'f', arguments: 'nu' } },
      { index: 0, function: { arguments: 'ts' } },
    ),
  ).toEqual([['a', 'f', 'nuts']]);
});

it('tool calls may lack index, id and type', () => {
  expect(readCalls({ index: null, id: null, type: null, function: { name: 'f', arguments: '{}' } })).toEqual([
    [expect.stringMatching(/^call_/), 'f', '{}'],
  ]);
});

it.each([
  ['function_call', { function_call: { name: '', arguments: '' } }],
  ['function_call without fields', { function_call: {} }],
  [
    'tool_calls',
    { tool_calls: [{ index: 0, id: '', type: 'function', function: { name: '', arguments: '' } }] },
  ],
  ['tool_calls without fields', { tool_calls: [{}] }],
])('tool calls are ignored if %s is empty, as Snowflake sends it', (_, empty) => {
  expect(read([choices([{ content: 'a', ...empty }]), choices([{}, 'stop'])]).candidates[0]).toMatchObject({
    text: 'a',
    calls: [],
    reason: 'stop',
  });
});

it('tool calls of a custom tool keep an input of null', () => {
  const fragment = { index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'null' } };
  expect(readCalls(fragment)).toEqual([['a', 'f', 'null']]);
});

it('tool calls may get their name late', () => {
  expect(
    readCalls(
      { index: 0, id: 'a', function: { arguments: '{' } },
      { index: 0, function: { name: 'f', arguments: '}' } },
    ),
  ).toEqual([['a', 'f', '{}']]);
});

it('tool calls do not hide a cut or filtered reply', () => {
  for (const [said, reason] of [
    ['length', 'length'],
    ['content_filter', 'content-filter'],
  ] as const) {
    expect(
      read([
        choices([{ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }] }, said]),
      ]).candidates[0]?.reason,
    ).toBe(reason);
  }
});

it('tool calls of a custom tool that was offered as a function return its bare input', () => {
  const foreign: ClientCall = {
    ...makeCall(),
    decode: () => ({ model: 'a/b', stream: true, turns: [], tools: [{ type: 'custom', name: 'patch' }] }),
  };
  const chunks = [
    choices([{ tool_calls: [{ index: 0, id: 'a', function: { name: 'patch', arguments: '{"input":"a' } }] }]),
    choices([{ tool_calls: [{ index: 0, function: { arguments: '\\nb"}' } }] }, 'tool_calls']),
  ];
  expect(read(chunks, foreign).candidates[0]?.calls).toEqual([
    { id: 'a', name: 'patch', custom: true, arguments: 'a\nb', sealed: undefined },
  ]);
  expect(read(chunks).candidates[0]?.calls).toMatchObject([
    { custom: false, arguments: '{"input":"a\\nb"}' },
  ]);
});
