/** The vectors of the fake vendors: the same input has the same one, whatever the wire. */
import { hash } from 'node:crypto';

/** The length of a vector, if a call asks for none. */
const usualLength = 4;

/** The vector of an input: a text, or the JSON of anything else. The numbers are exact in 32 bits. */
export function toVector(input: unknown, length = usualLength): number[] {
  const bytes = hash('sha512', typeof input === 'string' ? input : JSON.stringify(input), 'buffer');
  return Array.from({ length }, (_, at) => Math.fround(((bytes[at % bytes.length] ?? 0) - 127.5) / 255));
}

export function toBase64(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}

/** Reads a vector in either form. Throws if it is none. */
export function fromWire(value: unknown): number[] {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
  const numbers: unknown[] = bytes
    ? Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
    : Array.isArray(value)
      ? value
      : [];
  const read = numbers.filter((each): each is number => Number.isFinite(each));
  if (read.length === 0 || read.length !== numbers.length) throw new Error('no vector');
  return read;
}
