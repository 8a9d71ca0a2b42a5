/**
 * Decompresses replies: a provider, or a proxy in front of it, may compress one although the request does not
 * accept that.
 */
import { pipeline, Readable } from 'node:stream';
import type { UpstreamResponse } from '../provider.ts';
import { createDecoder } from '../util/decoders.ts';

/**
 * Decompresses a reply, chunk by chunk, as it is read. With an unknown encoding it is returned unchanged, and
 * fails when it is parsed.
 */
export function decompress(response: UpstreamResponse): UpstreamResponse {
  const encoding = response.headers['content-encoding'];
  const decoder = encoding === undefined ? undefined : createDecoder(String(encoding));
  if (!decoder) return response;
  // The reader of the body receives the error.
  pipeline(Readable.from(response.body), decoder, () => undefined);
  return { ...response, body: decoder };
}
