/**
 * Decoders of content encodings. They work in Node's thread pool, and pause while their output is not read.
 */
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';

/** A frame names the memory that its decoder needs. 8 MB is the most that RFC 9659 allows. */
const params = { [constants.ZSTD_d_windowLogMax]: 23 };
/** Without it, Node ignores what follows the compressed data. For gzip, it would refuse a second member. */
const rejectGarbageAfterEnd = true;

const decoders = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress({ rejectGarbageAfterEnd })],
  ['deflate', () => createInflate({ rejectGarbageAfterEnd })],
  ['zstd', () => createZstdDecompress({ params, rejectGarbageAfterEnd })],
]);

/** Undefined for an encoding that is unknown. */
export function createDecoder(encoding: string): Transform | undefined {
  return decoders.get(encoding.trim().toLowerCase())?.();
}
