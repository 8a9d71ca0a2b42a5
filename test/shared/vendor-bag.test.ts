/** The fields of a wire object beyond the known ones, and those that change nothing. */
import { expect, it } from 'vitest';
import { listForeignFields } from '../../plugins/shared/wire-kit/foreign-fields.ts';
import { createBag, pickEmpty, pickUnread } from '../../plugins/shared/wire-kit/vendor-bag.ts';

const known = new Set(['type', 'text']);

it.each([
  ['nothing', '{"type":"text","text":"a"}', '{}'],
  ['unknown fields', '{"type":"text","x":1,"text":"a"}', '{"x":1}'],
  ['what is null, known or not', '{"type":null,"text":"a"}', '{"type":null}'],
  [
    'a field that is called like the prototype, which it does not become',
    '{"text":"a","__proto__":{"polluted":true}}',
    '{"__proto__":{"polluted":true}}',
  ],
])('the bag of unknown fields is %s', (_, wire, left) => {
  const rest = pickUnread(JSON.parse(wire), known);
  expect(JSON.stringify(rest)).toBe(left);
  expect('polluted' in rest).toBe(false);
});

it('fields that change nothing are restored with the others, and never reported as lost', () => {
  const bag = createBag('messages');
  const kept = bag.keep({ speed: 'fast', thinking: { later: 1 } }, [], {
    stream: false,
    thinking: { old: 2 },
  });
  const more = bag.add(kept, { container: null }, [], { metadata: {} });
  expect(bag.getFields(more)).toEqual({
    speed: 'fast',
    thinking: { old: 2, later: 1 },
    container: null,
    stream: false,
    metadata: {},
  });
  const request = { model: 'a/b', stream: false, turns: [], ...more };
  expect(listForeignFields(request, 'responses').map(({ path }) => path)).toEqual([
    'speed',
    'thinking.later',
  ]);
});

it('only false, zero and what is empty mean the same as nothing', () => {
  const wire = { a: false, b: 0, c: '', d: {}, e: [], f: null, g: true, h: 'x', i: [0], other: false };
  expect(pickEmpty(wire, 'abcdefghi'.split(''))).toEqual({ a: false, b: 0, c: '', d: {}, e: [] });
});
