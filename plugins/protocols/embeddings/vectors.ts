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

/** For the bytes of one vector at a time: new buffers for thousands would make V8 collect all garbage. */
const scratch = Buffer.alloc(16 * 1024);

function isEncoded(text: string): boolean {
  const length = Buffer.byteLength(text, 'base64');
  const bytes = length > scratch.length ? Buffer.alloc(length) : scratch;
  // Buffer leaves out what is no base64, and then the length is another one.
  if (length === 0 || length % bytesPerNumber > 0 || length !== bytes.write(text, 'base64')) return false;
  // In what is infinite or no number, all bits of the exponent are set, which are in the last two bytes.
  for (let at = bytesPerNumber - 1; at < length; at += bytesPerNumber)
    if (((bytes[at] ?? 0) & 0x7f) === 0x7f && (bytes[at - 1] ?? 0) >= 0x80) return false;
  return true;
}

function decodeBase64(text: string): Float32Array {
  const numbers = new Float32Array(countNumbers(text));
  const bytes = Buffer.from(numbers.buffer);
  bytes.write(text, 'base64');
  if (isBigEnded) bytes.swap32();
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
  if (typeof vector === 'string') return vector;
  const bytes = Buffer.from(new Float32Array(vector).buffer);
  return (isBigEnded ? bytes.swap32() : bytes).toString('base64');
}

/** Characters that are written in a few milliseconds. */
export const quicklyWritten = 512 * 1024;

/** The vector as the text of a JSON value. */
export function writeVector(vector: Vector, encoding: 'float' | 'base64'): string {
  if (encoding === 'base64') return `"${encodeVector(vector)}"`;
  return `[${(typeof vector === 'string' ? decodeBase64(vector) : vector).join(',')}]`;
}
