/**
 * A vendor, or a proxy in front of it, may pack its reply though nobody asked for it. It is unpacked piece by piece as
 * it arrives, as fast as it is taken.
 */
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { UpstreamResponse } from '../provider.ts';

const unpackers = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  ['deflate', () => createInflate()],
  ['zstd', () => createZstdDecompress()],
]);

/** The reply as it was before it was packed; one that is packed in another way is left to be refused by whoever reads it. */
export function unpacked(response: UpstreamResponse): UpstreamResponse {
  const encoding = response.headers['content-encoding'];
  const unpacker = encoding === undefined ? undefined : unpackers.get(String(encoding).toLowerCase())?.();
  if (!unpacker) return response;
  // Who reads it is told of whatever goes wrong.
  pipeline(Readable.from(response.body), unpacker, () => undefined);
  return { ...response, body: unpacker };
}
