/** Vectors as JSON and as base64 of 32-bit floats, little end first, as OpenAI's clients read it. */
import { GatewayError } from '../../../core/index.ts';
import type { Vector } from './ask.ts';

const bytesPerNumber = 4;

/** Throws if it is neither numbers nor base64 of them. */
export function readVector(value: unknown): Vector {
  if (typeof value === 'string' && value !== '') return value;
  if (Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'number'))
    return value;
  throw new GatewayError('upstream_failed', 'The provider sent a vector that could not be read.');
}

/** The vector in base64. */
export function encodeVector(vector: Vector): string {
  return typeof vector === 'string' ? vector : encodeBase64(vector);
}

function encodeBase64(numbers: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(numbers.length * bytesPerNumber);
  for (const [index, number] of numbers.entries()) bytes.writeFloatLE(number, index * bytesPerNumber);
  return bytes.toString('base64');
}

function decodeBase64(text: string): number[] {
  const bytes = Buffer.from(text, 'base64');
  const numbers = Array.from<number>({ length: Math.floor(bytes.length / bytesPerNumber) });
  for (let index = 0; index < numbers.length; index += 1)
    numbers[index] = bytes.readFloatLE(index * bytesPerNumber);
  return numbers;
}

/** The vector as the text of a JSON value. */
export function writeVector(vector: Vector, encoding: 'float' | 'base64'): string {
  if (encoding === 'base64') return `"${encodeVector(vector)}"`;
  return `[${(typeof vector === 'string' ? decodeBase64(vector) : vector).join(',')}]`;
}
