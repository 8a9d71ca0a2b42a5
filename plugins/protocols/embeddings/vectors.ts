/** Vectors as JSON and as base64 of 32-bit floats, little end first, as OpenAI's clients read it. */
import { endianness } from 'node:os';
import { GatewayError } from '../../../core/index.ts';

/** Numbers, or base64 of them. */
export type Vector = readonly number[] | string;

const bytesPerNumber = 4;
const isBigEnded = endianness() === 'BE';

/** A larger number, or none, would be no number as a 32-bit float and no JSON. */
const largest = 3.4e38;

function isUsable(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= largest;
}

/** Buffer leaves out what is no base64, and then the length is another one. */
function isEncoded(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const length = Math.floor(((text.length - padding) * 3) / 4);
  const numbers = decodeBase64(text);
  if (length === 0 || length !== numbers.byteLength) return false;
  // Three times as quick as `every`, for three million numbers.
  for (const number of numbers) if (!isUsable(number)) return false;
  return true;
}

/** The numbers, as many as there are whole ones. */
function decodeBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  const numbers = new Float32Array(Math.floor(bytes.length / bytesPerNumber));
  const copy = Buffer.from(numbers.buffer);
  bytes.copy(copy);
  if (isBigEnded) copy.swap32();
  return numbers;
}

/** Throws if it is neither numbers nor base64 of them. */
export function readVector(value: unknown): Vector {
  if (typeof value === 'string' && isEncoded(value)) return value;
  if (Array.isArray(value) && value.length > 0 && value.every(isUsable)) return value;
  throw new GatewayError('upstream_failed', 'The provider sent a vector that could not be read.');
}

/** How many numbers the vector has. */
export function countNumbers(vector: Vector): number {
  return typeof vector === 'string' ? Buffer.byteLength(vector, 'base64') / bytesPerNumber : vector.length;
}

/** The vector in base64. */
export function encodeVector(vector: Vector): string {
  return typeof vector === 'string' ? vector : encodeBase64(vector);
}

function encodeBase64(numbers: readonly number[]): string {
  const bytes = Buffer.from(new Float32Array(numbers).buffer);
  return (isBigEnded ? bytes.swap32() : bytes).toString('base64');
}

/** Characters that are written in a few milliseconds. */
export const quicklyWritten = 512 * 1024;

/** The vector as the text of a JSON value. */
export function writeVector(vector: Vector, encoding: 'float' | 'base64'): string {
  if (encoding === 'base64') return `"${encodeVector(vector)}"`;
  return `[${(typeof vector === 'string' ? decodeBase64(vector) : vector).join(',')}]`;
}
