/** A conversation that is too long loses its oldest exchanges, and never half of one. */
import { expect, it } from 'vitest';
import { shortenTo } from '../../core/crossing/truncation.ts';
import type { Block, CanonicalRequest, Turn } from '../../core/index.ts';

const text = (words: string): Block => ({ type: 'text', text: words });
const call: Block = { type: 'tool-call', id: 'c', name: 'look', arguments: '{}' };
const result: Block = { type: 'tool-result', callId: 'c', content: [{ type: 'text', text: 'seen' }] };
const turn = (role: Turn['role'], ...blocks: Block[]): Turn => ({ role, blocks });

function shortenTurns(share: number, ...turns: Turn[]): { kept: Turn[]; lost: string[] } | undefined {
  const request: CanonicalRequest = {
    model: 'a/b',
    stream: false,
    turns: turns.map((each, index) => ({ ...each, at: `input[${index}]` })),
  };
  const short = shortenTo(share, request);
  return (
    short && {
      kept: short.request.turns.map(({ at: _at, ...rest }) => rest),
      lost: short.losses.map(({ path, code }) => `${path} ${code}`),
    }
  );
}

const instructions = turn('system', text('Be brief.'));
const first = [
  turn('user', text('x'.repeat(500))),
  turn('assistant', call),
  turn('tool', result),
  turn('assistant', text('y'.repeat(100))),
];
const second = [turn('user', text('z'.repeat(100))), turn('assistant', text('w'))];
const last = turn('user', text('And now?'));

it('truncation drops the oldest exchange whole, with its results, and keeps the instructions', () => {
  expect(shortenTurns(3 / 4, instructions, ...first, ...second, last)).toEqual({
    kept: [instructions, ...second, last],
    lost: ['input[1] truncated', 'input[2] truncated', 'input[3] truncated', 'input[4] truncated'],
  });
});

it('truncation drops as many exchanges as necessary to reach the share', () => {
  expect(shortenTurns(1 / 10, instructions, ...first, ...second, last)?.kept).toEqual([instructions, last]);
});

it('truncation always drops one exchange, however small, and never the last', () => {
  expect(shortenTurns(1, ...second, last)?.kept).toEqual([last]);
  expect(shortenTurns(1 / 4, last)).toBeUndefined();
  expect(shortenTurns(1 / 4, instructions)).toBeUndefined();
});

it('truncation does not start an exchange at a user turn with tool results', () => {
  const loop = [
    turn('user', text('x'.repeat(900))),
    turn('assistant', call),
    turn('user', result),
    turn('assistant', text('done')),
  ];
  expect(shortenTurns(3 / 4, ...loop)).toBeUndefined();
});
