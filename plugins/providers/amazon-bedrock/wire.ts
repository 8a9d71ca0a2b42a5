/**
 * Writes messages as Bedrock wants them: version and betas are in the body instead of headers, the model and
 * whether to stream are only in the address, and a count is a whole call in base64. Turns its replies into
 * those of the protocol: frames become events, counts get their usual name, and refusals the status that
 * their kind has at other vendors.
 */
import {
  splice,
  type Edit,
  type Operation,
  type Target,
  type UpstreamRequest,
  toCount,
  type UpstreamResponse,
} from '../../../core/index.ts';
import { toBodyText } from '../../shared/cloud/address.ts';
import { joinPatterns } from '../../shared/wire-kit/join-patterns.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { toServerSentEvents } from './frames.ts';

const version = 'bedrock-2023-05-31';

export function wrap(
  request: UpstreamRequest,
  { model, protocol }: Target,
  operation: Operation,
): UpstreamRequest {
  if (protocol.name === 'cohere-embed') return wrapTexts(request);
  // OpenAI's APIs are served as they are.
  if (protocol.name !== 'messages') return request;
  const betas = request.headers['anthropic-beta'];
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !name.startsWith('anthropic-')),
  );
  const edits: Edit[] = [
    { path: ['anthropic_version'], value: version },
    { path: ['model'], value: undefined },
    { path: ['stream'], value: undefined },
  ];
  if (betas) edits.push({ path: ['anthropic_beta'], value: betas.split(',').map((beta) => beta.trim()) });
  // Bedrock reads a count as a call, and a call needs an output limit that is above its budget for thinking.
  if (operation === 'count') edits.push({ path: ['max_tokens'], value: model.outputLimit });
  const body = splice(toBodyText(request), edits);
  if (operation !== 'count') return { ...request, headers, body };
  return {
    ...request,
    headers,
    body: JSON.stringify({ input: { invokeModel: { body: Buffer.from(body).toString('base64') } } }),
  };
}

/** Bedrock's words for the end of a text that Cohere calls its start and its end. */
const ends: Readonly<Record<string, string>> = { START: 'LEFT', END: 'RIGHT' };

/** The texts for Cohere's models. They are as long as a whole body, but only its short members change. */
function wrapTexts(request: UpstreamRequest): UpstreamRequest {
  const text = toBodyText(request);
  const { truncate } = readObject(JSON.parse(text));
  const end = typeof truncate === 'string' ? ends[truncate] : undefined;
  const edits: Edit[] = [{ path: ['model'], value: undefined }];
  if (end !== undefined) edits.push({ path: ['truncate'], value: end });
  return { ...request, body: splice(text, edits) };
}

/** Cohere's replies say nothing of tokens here; a header does. */
async function* addTokens(body: AsyncIterable<Uint8Array>, tokens: number): AsyncGenerator<Uint8Array> {
  const text = Buffer.concat(await Array.fromAsync(body)).toString('utf8');
  const meta = { billed_units: { input_tokens: tokens } };
  yield Buffer.from(splice(text, [{ path: ['meta'], value: meta }]));
}

function readHeader({ headers }: UpstreamResponse, name: string): string {
  return String(headers[name] ?? '');
}

/**
 * Kinds of refusals whose status is misleading. Refusals that concern our account are not the caller's fault.
 */
const statuses: Readonly<Record<string, number>> = {
  ServiceQuotaExceededException: 429,
  ThrottlingException: 429,
  ModelNotReadyException: 503,
  ModelTimeoutException: 504,
  ExpiredTokenException: 403,
  UnrecognizedClientException: 403,
};

function correctStatus(response: UpstreamResponse, operation: Operation): number {
  // Bedrock also answers 400 where it cannot count for a model. As a 404 it leads to an estimate, which is
  // better than an error.
  if (operation === 'count' && response.status === 400) return 404;
  const [kind = ''] = readHeader(response, 'x-amzn-errortype').split(':');
  return response.status === 200 ? 200 : (statuses[kind] ?? response.status);
}

/**
 * Refusals that Bedrock calls the caller's mistake although our set-up is wrong: the model needs an inference
 * profile, was not enabled, is not in the region, or was retired. Only the message distinguishes them.
 */
const ourSetUp = joinPatterns(
  /on-demand throughput|model identifier is invalid|operation not allowed|access to the model/,
  /use case details|end of its life|data retention mode/,
);

const longestRefusal = 64 * 1024;

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > longestRefusal) break;
  }
  return Buffer.concat(pieces).toString('utf8');
}

async function* toBytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** What a 400 really means: where our set-up is wrong, the model cannot be had here. */
async function correctRefusal(response: UpstreamResponse): Promise<UpstreamResponse> {
  const text = await readText(response.body);
  return { ...response, status: ourSetUp.test(text) ? 404 : 400, body: toBytes(text) };
}

async function* renameCount(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const counted: unknown = JSON.parse(Buffer.concat(await Array.fromAsync(body)).toString('utf8'));
  yield Buffer.from(
    JSON.stringify({ input_tokens: isObject(counted) ? toCount(counted.inputTokens) : undefined }),
  );
}

export function unwrap(
  response: UpstreamResponse,
  { protocol }: Pick<Target, 'protocol'>,
  operation: Operation,
): UpstreamResponse | Promise<UpstreamResponse> {
  const status = correctStatus(response, operation);
  if (status === 400) return correctRefusal(response);
  const tokens = toCount(Number(readHeader(response, 'x-amzn-bedrock-input-token-count') || NaN));
  if (protocol.name === 'cohere-embed' && status === 200 && tokens !== undefined)
    return { ...response, body: addTokens(response.body, tokens) };
  if (operation === 'count' && status === 200) return { ...response, body: renameCount(response.body) };
  if (!readHeader(response, 'content-type').startsWith('application/vnd.amazon.eventstream')) {
    return status === response.status ? response : { ...response, status };
  }
  return {
    ...response,
    headers: { ...response.headers, 'content-type': 'text/event-stream' },
    body: toServerSentEvents(response.body),
  };
}
