/** Bedrock's replies as the protocol has them: frames as events, counts by their own name, and refusals by the status their kind has elsewhere. */
import { knownCount, type Operation, type Target, type UpstreamResponse } from '../../../core/index.ts';
import { isObject } from '../../shared/vendor-bag.ts';
import { serverSentEvents } from './frames.ts';

function header({ headers }: UpstreamResponse, name: string): string {
  return String(headers[name] ?? '');
}

/** Kinds of refusals whose status says less than they do; what concerns our account is none of the caller's. */
const statuses: Readonly<Record<string, number>> = {
  ServiceQuotaExceededException: 429,
  ThrottlingException: 429,
  ModelNotReadyException: 503,
  ModelTimeoutException: 504,
  ExpiredTokenException: 403,
  UnrecognizedClientException: 403,
};

function statusOf(response: UpstreamResponse, operation: Operation): number {
  // 400 is how it says as well that it does not count for this model; an estimate is better than none.
  if (operation === 'count' && response.status === 400) return 404;
  const [kind = ''] = header(response, 'x-amzn-errortype').split(':');
  return response.status === 200 ? 200 : (statuses[kind] ?? response.status);
}

/**
 * What Bedrock refuses as the caller's mistake though it is our set-up: a model that wants an inference profile, has not
 * been asked for, is not in the region, or is gone. It has no kinds for these, only words.
 */
const ourSetUp = /on-demand throughput|model identifier is invalid|operation not allowed|access to the model|use case details|end of its life|data retention mode/i;

const longestRefusal = 64 * 1024;

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > longestRefusal) break;
  }
  return Buffer.concat(pieces).toString('utf8');
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A 400 as what it is: a model that is not to be had here, where it is not the caller's mistake. */
async function refusal(response: UpstreamResponse): Promise<UpstreamResponse> {
  const text = await textOf(response.body);
  return { ...response, status: ourSetUp.test(text) ? 404 : 400, body: bytesOf(text) };
}

async function* countBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const counted: unknown = JSON.parse(Buffer.concat(await Array.fromAsync(body)).toString('utf8'));
  yield Buffer.from(JSON.stringify({ input_tokens: isObject(counted) ? knownCount(counted['inputTokens']) : undefined }));
}

export function unwrap(response: UpstreamResponse, _target: Target, operation: Operation): UpstreamResponse | Promise<UpstreamResponse> {
  const status = statusOf(response, operation);
  if (status === 400) return refusal(response);
  if (operation === 'count' && status === 200) return { ...response, body: countBody(response.body) };
  if (!header(response, 'content-type').startsWith('application/vnd.amazon.eventstream')) return status === response.status ? response : { ...response, status };
  return { ...response, headers: { ...response.headers, 'content-type': 'text/event-stream' }, body: serverSentEvents(response.body) };
}
