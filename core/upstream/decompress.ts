/**
 * Decompresses replies: a provider, or a proxy in front of it, may compress one although the request does not
 * accept that.
 */
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { UpstreamResponse } from '../provider.ts';

const decoders = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  ['deflate', () => createInflate()],
  ['zstd', () => createZstdDecompress()],
]);

/**
 * Decompresses a reply, chunk by chunk, as it is read. With an unknown encoding it is returned unchanged, and
 * fails when it is parsed.
 */
export function decompress(response: UpstreamResponse): UpstreamResponse {
  const encoding = response.headers['content-encoding'];
  const decoder = encoding === undefined ? undefined : decoders.get(String(encoding).toLowerCase())?.();
  if (!decoder) return response;
  // The reader of the body receives the error.
  pipeline(Readable.from(response.body), decoder, () => undefined);
  return { ...response, body: decoder };
}
