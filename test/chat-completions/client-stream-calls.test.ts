import { describe, expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { buildBlock } from '../support/events.ts';
import { isObject } from '../support/json.ts';
import { encodeChunks, encodeDeltas, end, start, stop } from './client-events.ts';

it('a stream of chunks numbers the tool calls of every candidate from 0', () => {
  const call = (number: number, candidate: number): CanonicalEvent[] =>
    buildBlock(number, 'tool-call', ['{}'], { id: `c${number}`, name: 'f' }, undefined, candidate);
  const second: CanonicalEvent = { type: 'finish', candidate: 1, reason: { unified: 'stop', raw: 'end' } };
  const read = encodeChunks([
    start,
    ...buildBlock(0, 'text', ['a']),
    ...call(1, 0),
    ...call(2, 0),
    ...call(3, 1),
    stop,
    second,
    end,
  ]);
  const seen = read.flatMap(({ choices: [choice] }) => {
    const delta = choice?.delta;
    const calls: unknown[] = isObject(delta) && Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
    return calls.map((each) => [
      choice?.index,
      isObject(each) ? each.index : undefined,
      isObject(each) ? each.id : undefined,
    ]);
  });
  expect(seen).toEqual([
    [0, 0, 'c1'],
    [0, 0, undefined],
    [0, 1, 'c2'],
    [0, 1, undefined],
    [1, 0, 'c3'],
    [1, 0, undefined],
  ]);
  expect(read.slice(-2).map(({ choices: [choice] }) => choice?.finish_reason)).toEqual([
    'tool_calls',
    'tool_calls',
  ]);
});

it('a stream of chunks generates the same id each time for a call without one', () => {
  const events = [start, ...buildBlock(0, 'tool-call', ['{}'], { name: 'f' }), stop, end];
  expect(encodeDeltas(events)[1]).toEqual({
    tool_calls: [
      {
        index: 0,
        id: expect.stringMatching(/^call_\w{24}$/),
        type: 'function',
        function: { name: 'f', arguments: '' },
      },
    ],
  });
  expect(encodeDeltas(events)).toEqual(encodeDeltas(events));
});

it('a stream of chunks sends reasoning as text, and its seal in an envelope', () => {
  const opaque = [{ vendor: 'anthropic', kind: 'signature', value: 'c2VhbA==' }];
  expect(
    encodeDeltas([
      start,
      ...buildBlock(0, 'reasoning', ['h', 'm'], {}, opaque),
      ...buildBlock(1, 'text', ['a']),
      stop,
      end,
    ]).slice(1, 4),
  ).toEqual([
    { reasoning_content: 'h' },
    { reasoning_content: 'm' },
    {
      reasoning_details: [
        {
          type: 'reasoning.text',
          text: 'hm',
          signature: seal({ vendor: 'anthropic', kind: 'signature', value: 'c2VhbA==' }),
          index: 0,
        },
      ],
    },
  ]);
});

it('a stream of chunks numbers the thoughts of a candidate, so that clients can group their entries', () => {
  const opaque = [{ vendor: 'anthropic', kind: 'encrypted', value: 'eA==' }];
  const [, first, second] = encodeDeltas([
    start,
    ...buildBlock(0, 'reasoning', [], {}, opaque),
    ...buildBlock(1, 'reasoning', [], {}, opaque),
    stop,
    end,
  ]);
  expect([first, second]).toMatchObject([
    { reasoning_details: [{ index: 0 }] },
    { reasoning_details: [{ index: 1 }] },
  ]);
});

describe('a signed tool call', () => {
  const opaque = [{ vendor: 'google', kind: 'signature', value: 'c2VhbA==' }];
  const sealed = {
    extra_content: {
      google: { thought_signature: seal({ vendor: 'google', kind: 'signature', value: 'c2VhbA==' }) },
    },
  };
  const encodeSealedCall = (facts: object): unknown[] =>
    encodeDeltas([
      start,
      ...buildBlock(0, 'tool-call', ['{}'], { id: 'c', name: 'f', ...facts }, opaque),
      stop,
      end,
    ]).slice(1, -1);

  it('has the signature next to its name, the only place where some clients look', () => {
    expect(encodeSealedCall({ opaque })).toEqual([
      {
        tool_calls: [
          { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' }, ...sealed },
        ],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
    ]);
  });

  it('has a late signature in a fragment of the call', () => {
    expect(encodeSealedCall({})[2]).toEqual({
      tool_calls: [{ index: 0, function: { arguments: '' }, ...sealed }],
    });
    expect(encodeSealedCall({ custom: true })[2]).toEqual({
      tool_calls: [{ index: 0, custom: { input: '' }, ...sealed }],
    });
  });
});
