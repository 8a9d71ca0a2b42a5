/** The fields of a wire object beyond the known ones. */
import { expect, it } from 'vitest';
import { pickUnread } from '../../plugins/shared/wire-kit/vendor-bag.ts';

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
