/**
 * Decodes request bodies that a client compressed. Every step of the decoding is within the limit of a body,
 * and stops while the step after it is behind, so that a small body cannot become large in memory.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createDecoder } from '../util/decoders.ts';
import { GatewayError } from '../util/errors.ts';

const header = 'content-encoding';
/** Clients use one. More would cost time that the length of the body does not show. */
const mostEncodings = 2;

type Encoded = Pick<IncomingMessage, 'headers'>;

/** The body's encodings in the order they were applied. */
function listEncodings({ headers }: Encoded): string[] {
  const names = headers[header]?.split(',').map((name) => name.trim().toLowerCase());
  return names?.filter((name) => name !== '' && name !== 'identity') ?? [];
}

export function isEncoded(request: Encoded): boolean {
  return request.headers[header] !== undefined && listEncodings(request).length > 0;
}

function toEncodingError(problem: string): GatewayError {
  return new GatewayError('unsupported_media_type', `The header ${header} ${problem}.`, { param: header });
}

/** Refuses what is not decoded here: other codings of a transfer, and every encoding of a route's body. */
export function refuseEncodings(request: Encoded): void {
  refuseTransferEncoding(request);
  if (isEncoded(request))
    throw toEncodingError(`is "${request.headers[header]}"; send the body uncompressed`);
}

export function refuseTransferEncoding({ headers }: Encoded): void {
  const transfer = headers['transfer-encoding'] || 'chunked';
  // A proxy may disagree with us about where such a body ends, so the connection closes (request smuggling).
  if (transfer.toLowerCase() !== 'chunked') {
    throw new GatewayError(
      'unsupported_media_type',
      `The body uses the transfer encoding "${transfer}"; send it plain or chunked.`,
      { headers: { connection: 'close' } },
    );
  }
}

/** Decoders for the body, in the order to use them. Throws `unsupported_media_type`. */
function createDecoders(request: IncomingMessage): Transform[] {
  const names = listEncodings(request);
  if (names.length > mostEncodings)
    throw toEncodingError(`names more than ${mostEncodings} encodings; compress the body once`);
  return names.toReversed().map((name) => {
    const decoder = createDecoder(name);
    if (decoder) return decoder;
    throw toEncodingError(
      `is "${name.slice(0, 40)}", which this gateway cannot decode; use zstd, gzip, br or deflate`,
    );
  });
}

interface BodyLimit {
  readonly limit: number;
  readonly toError: (limit: number) => GatewayError;
}

/** The source stays open after a fault, so that the client can read the refusal. */
function readThrough(source: Readable, decoder: Transform, { limit, toError }: BodyLimit): Transform {
  let length = 0;
  source.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > limit) decoder.destroy(toError(limit));
  });
  source.on('error', (error) => decoder.destroy(error));
  return source.pipe(decoder);
}

/** The decoded body. What is wrong with it becomes an error of this stream. */
export function decodeBody(request: IncomingMessage, limit: BodyLimit): Readable {
  return createDecoders(request).reduce<Readable>(
    (source, decoder) => readThrough(source, decoder, limit),
    request,
  );
}

/** The error for a body that is not what its header says. */
export function toBrokenError(request: Encoded, cause: Error): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The body cannot be decoded as its header ${header} says ("${request.headers[header]}"): ` +
      'it is incomplete, broken or encoded in another way.',
    { param: header, cause },
  );
}
