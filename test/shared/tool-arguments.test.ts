import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseExactly } from '../../core/index.ts';
import { parseArguments } from '../../plugins/shared/wire-kit/tool-arguments.ts';
import '../support/seed.ts';

const digits = fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9]\d{0,24}$/));
const number = fc.tuple(
  fc.constantFrom('', '-'),
  digits,
  fc.constantFrom('', '', '.0', '.50', '.000000000000000000001'),
  fc.constantFrom('', '', 'e5', 'E+5', 'e-07'),
);

it('a number keeps every character of its source text', () => {
  fc.assert(
    fc.property(number, (parts) => {
      const text = `{"a":[${parts.join('')},"b"]}`;
      expect(JSON.stringify(parseExactly(text))).toBe(text);
    }),
  );
});

it.each(['-0', '1.0', '1e5', '9007199254740993', '1234567890123456', '123456789012345'])(
  'a single number keeps them too: %s',
  (text) => {
    expect(JSON.stringify(parseExactly(text))).toBe(text);
  },
);

it.each(['', ' ', 'null', ' null\n'])('missing arguments are an empty object: %j', (text) => {
  expect(parseArguments(text)).toEqual({});
});

it.each(['[1]', '"a"', '{"a":1.0', 'nul', `null${' '.repeat(99)}x`])(
  'a value that is not an object counts as no arguments: %s',
  (text) => {
    expect(parseArguments(text)).toBeUndefined();
  },
);
