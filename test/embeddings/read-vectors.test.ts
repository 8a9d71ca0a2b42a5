/** Vectors in base64 as vendors send them: what is no list of finite numbers reaches no client. */
import { expect, it } from 'vitest';
import { readVector } from '../../plugins/protocols/embeddings/vectors.ts';

/** Base64 of 32-bit floats with these bits. */
function encodeBits(...numbers: readonly number[]): string {
  return Buffer.from(Uint32Array.from(numbers).buffer).toString('base64');
}

const one = 0x3f80_0000;
const long = Array.from({ length: 10_000 }, () => 0x7f00_ffff);

it.each([
  ['the largest and the smallest number', encodeBits(0x7f7f_ffff, 0xff7f_ffff, 0x0000_0001, 0x8000_0000)],
  ['one number', encodeBits(one)],
  ['more numbers than any model has', encodeBits(...long)],
])('base64 of %s is a vector', (_, text) => {
  expect(readVector(text)).toBe(text);
});

it.each([
  ['nothing', ''],
  ['another text', 'text!'],
  ['a line break', `${encodeBits(one)}\n`],
  ['a character of no base64', `${encodeBits(one, one).slice(0, -1)}!`],
  ['half of a number', encodeBits(one).slice(0, 4)],
  ['an infinite number', encodeBits(one, 0x7f80_0000, one)],
  ['a negative infinite number', encodeBits(0xff80_0000, one)],
  ['what is no number', encodeBits(one, 0x7fc0_0000)],
  ['what is no number, in other bits', encodeBits(0xff80_0001)],
  ['an infinite number after many', encodeBits(...long, 0x7f80_0000)],
])('base64 of %s is no vector', (_, text) => {
  expect(() => readVector(text)).toThrow('The provider sent a vector that could not be read.');
});
