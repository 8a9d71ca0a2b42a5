/**
 * Reads Bedrock's streams: binary frames, each with its length and two checksums, around the events of the
 * protocol in base64. The events come out as server-sent events; an exception becomes the protocol's own
 * error event.
 */
import type { EventStreamCodec as Codec } from '@smithy/eventstream-codec';
import { GatewayError, splice } from '../../../core/index.ts';
import { loadOptional } from '../../shared/cloud/credential.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

/** The vendor allows 24 MB. A larger length means that this is no frame. */
const longestFrame = 24 * 1024 * 1024;
/** The length of an empty frame: two lengths and two checksums. */
const shortestFrame = 16;

/** Splits a stream of bytes, cut anywhere, into whole frames. */
async function* splitFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending = Buffer.alloc(0);
  for await (const chunk of body) {
    pending = pending.length > 0 ? Buffer.concat([pending, chunk]) : Buffer.from(chunk);
    while (pending.length >= 4) {
      const length = pending.readUInt32BE(0);
      if (length < shortestFrame || length > longestFrame) throw buildDamageError();
      if (pending.length < length) break;
      yield pending.subarray(0, length);
      pending = pending.subarray(length);
    }
  }
}

function buildDamageError(cause?: unknown): GatewayError {
  return new GatewayError('upstream_failed', 'The provider sent a damaged frame.', { cause });
}

/** The protocol's names for Bedrock's exceptions. All others are failures of the vendor. */
const errorTypes: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  modelTimeoutException: 'timeout_error',
  validationException: 'invalid_request_error',
};

function buildErrorEvent(name: string, text: unknown): string {
  const message = typeof text === 'string' && text !== '' ? text : 'The provider broke off its reply.';
  const error = { type: errorTypes[name] ?? 'api_error', message };
  return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
}

function parseObject(text: string): Fields {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new TypeError('no object');
  return value;
}

/** A member that the cloud adds with its own measurements. The protocol and the client do not know it. */
const metrics = 'amazon-bedrock-invocationMetrics';

/** The event inside a frame, unchanged except for what the cloud added. */
function readInnerEvent(payload: Fields): string {
  if (typeof payload.bytes !== 'string') throw new TypeError('a chunk without bytes');
  const text = Buffer.from(payload.bytes, 'base64').toString('utf8');
  const { type } = parseObject(text);
  const data = text.includes(metrics) ? splice(text, [{ path: [metrics], value: undefined }]) : text;
  return `event: ${String(type)}\ndata: ${data.replaceAll(/[\r\n]+/g, ' ')}\n\n`;
}

/** A frame as a server-sent event; empty if the frame holds nothing of the reply. */
function toEvent({ headers, body }: ReturnType<Codec['decode']>): string {
  const readHeader = (name: string): string => String(headers[name]?.value ?? '');
  const text = Buffer.from(body).toString('utf8');
  switch (readHeader(':message-type')) {
    case 'event':
      return readHeader(':event-type') === 'chunk' ? readInnerEvent(parseObject(text)) : '';
    case 'exception':
      return buildErrorEvent(
        readHeader(':exception-type'),
        text === '' ? undefined : parseObject(text).message,
      );
    case 'error':
      return buildErrorEvent(readHeader(':error-code'), readHeader(':error-message'));
    default:
      return '';
  }
}

/** Turns a body of frames into server-sent events. Throws if a frame is damaged. */
export async function* toServerSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { EventStreamCodec } = await loadOptional(
    'amazon-bedrock',
    '@smithy/eventstream-codec',
    () => import('@smithy/eventstream-codec'),
  );
  const codec = new EventStreamCodec(
    (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
    (text) => Buffer.from(text),
  );
  for await (const frame of splitFrames(body)) {
    let event: string;
    try {
      event = toEvent(codec.decode(frame));
    } catch (error) {
      throw buildDamageError(error);
    }
    if (event !== '') yield Buffer.from(event);
  }
}
