/**
 * Requests that state their end in two ways, or in a broken one. A server that finds the end elsewhere would
 * take the following bytes for a second request.
 */

export const callPath = '/v1/chat/completions';

const second = `GET /healthz?hidden HTTP/1.1\r\nhost: hidden\r\n\r\n`;

/** The head of a call. */
export function buildCallHead(...lines: readonly string[]): string {
  return [`POST ${callPath} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

const chunks = 'transfer-encoding: chunked';
const emptyChunks = `0\r\n\r\n${second}`;

/** Each with the status of its refusal. */
export const smuggled: readonly (readonly [
  name: string,
  status: number,
  request: (authorization: string) => string,
])[] = [
  [
    'a length and chunks',
    400,
    (key) => `${buildCallHead('host: x', key, 'content-length: 5', chunks)}${emptyChunks}`,
  ],
  [
    'chunks and a length',
    400,
    (key) => `${buildCallHead('host: x', key, chunks, 'content-length: 5')}${emptyChunks}`,
  ],
  [
    'two lengths',
    400,
    (key) => `${buildCallHead('host: x', key, 'content-length: 0', 'content-length: 40')}${second}`,
  ],
  [
    'one length twice',
    400,
    (key) => `${buildCallHead('host: x', key, 'content-length: 0', 'content-length: 0')}${second}`,
  ],
  ['two lengths in one', 400, (key) => `${buildCallHead('host: x', key, 'content-length: 0, 40')}${second}`],
  ['a length with a sign', 400, (key) => `${buildCallHead('host: x', key, 'content-length: +0')}${second}`],
  [
    'chunks by another name',
    400,
    (key) => `${buildCallHead('host: x', key, 'transfer-encoding: xchunked')}${emptyChunks}`,
  ],
  [
    'chunks that are not last',
    400,
    (key) => `${buildCallHead('host: x', key, 'transfer-encoding: chunked, identity')}${emptyChunks}`,
  ],
  [
    'chunks twice',
    400,
    (key) => `${buildCallHead('host: x', key, chunks, 'transfer-encoding: identity')}${emptyChunks}`,
  ],
  [
    'a header that goes on in the next line',
    400,
    (key) => `${buildCallHead('host: x', key, 'transfer-encoding:\r\n chunked')}${emptyChunks}`,
  ],
  [
    'a space before the colon',
    400,
    (key) => `${buildCallHead('host: x', key, 'content-length : 0')}${second}`,
  ],
  [
    'a space before the colon of chunks',
    400,
    (key) => `${buildCallHead('host: x', key, 'transfer-encoding : chunked')}${emptyChunks}`,
  ],
  [
    'lines that end by LF alone',
    400,
    (key) => `${buildCallHead('host: x', key).replaceAll('\r\n', '\n')}${second}`,
  ],
  [
    'a line that ends by LF alone',
    400,
    (key) => `${buildCallHead('host: x', key, 'x: a\ncontent-length: 0')}${second}`,
  ],
  [
    'a NUL in a header',
    400,
    (key) => `${buildCallHead('host: x', key, 'x: a\0b', 'content-length: 0')}${second}`,
  ],
  ['no host', 400, (key) => `${buildCallHead(key, 'content-length: 0')}${second}`],
  [
    'a chunk of a length that is no number',
    400,
    (key) => `${buildCallHead('host: x', key, chunks)}zz\r\n\r\n${second}`,
  ],
  [
    'a chunk longer than it says',
    400,
    (key) => `${buildCallHead('host: x', key, chunks)}2\r\n{}{}\r\n${emptyChunks}`,
  ],
  [
    'a chunk of a length beyond all numbers',
    400,
    (key) => `${buildCallHead('host: x', key, chunks)}${'f'.repeat(17)}\r\n{}\r\n${emptyChunks}`,
  ],
  [
    'a chunk with a tail of a megabyte',
    413,
    (key) => `${buildCallHead('host: x', key, chunks)}2;${'a'.repeat(1_000_000)}\r\n{}\r\n${emptyChunks}`,
  ],
];
