/** The frames of Responses over WebSocket: what a client sends, and the errors that it is sent. */
import { z } from 'zod';
import type { ErrorReply, GatewayError } from '../../../../core/index.ts';
import { encodeError } from '../../../shared/openai/errors.ts';
import { readMember, readObject } from '../../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, checkWire } from '../../../shared/wire-kit/wire-check.ts';

const longestLane = 128;

const lane = { stream_id: z.string().min(1).max(longestLane).nullish() };

const createSchema = z.looseObject({
  ...lane,
  type: z.literal('response.create'),
  input: z.union([z.string(), z.array(z.unknown())], 'a string, or an array of input items').nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.unknown().optional(),
  store: z.boolean().nullish(),
  /** False: remember the input, and generate nothing. */
  generate: z.boolean().nullish(),
  prompt_cache_options: z.looseObject({ prewarm: z.boolean().nullish() }).nullish(),
  stream: z.literal(true, 'true, since every response here is streamed').nullish(),
  background: z.literal(false, 'false, since background responses have no WebSocket').nullish(),
});

const steerSchema = z.looseObject({
  type: z.literal('response.steer'),
  previous_response_id: z.string(),
  input: z.union([z.string(), z.array(z.unknown())], 'a string, or an array of input items'),
});

export type Create = z.output<typeof createSchema>;
export type Steer = z.output<typeof steerSchema>;

export interface CreateFrame {
  readonly create: Create;
  readonly text: string;
}

/** The lane that a frame names; undefined for the one without a name. */
export function readLane(frame: unknown): string | undefined {
  const name = isObject(frame) ? frame.stream_id : undefined;
  return typeof name === 'string' && name.length <= longestLane ? name : undefined;
}

/** Throws `invalid_request` with the field at fault. */
export function readFrame(value: unknown): Create | Steer {
  const type: unknown = isObject(value) ? value.type : undefined;
  if (type === 'response.steer') return checkWire(steerSchema, value);
  if (type === 'response.create') return checkWire(createSchema, value);
  throw buildFieldError(
    'type',
    type === undefined ? 'is missing' : 'is no event that clients send',
    '"response.create"',
  );
}

/** Headers of an error that a client acts on, or quotes to an operator. */
const shownHeaders = ['x-request-id', 'retry-after', 'x-should-retry'];

/** OpenAI's SDK documents the headers within the error. Codex reads them beside it. */
export function encodeErrorFrame(
  { status, body, headers = {} }: ErrorReply & { readonly headers?: Fields },
  streamId: string | undefined,
): string {
  const shown = shownHeaders.flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]]] : [],
  );
  const sent = shown.length > 0 ? { headers: Object.fromEntries(shown) } : {};
  const error = isObject(body) && isObject(body.error) ? { ...body.error, ...sent } : body;
  return JSON.stringify({ type: 'error', status, error, ...sent, stream_id: streamId });
}

/** An error that the connection itself finds, with a code of OpenAI's for sockets in place of its own. */
export function encodeOwnError(error: GatewayError, streamId: string | undefined, code?: string): string {
  const { status, body } = encodeError(error);
  const words = { ...readObject(readMember(body, 'error')), ...(code === undefined ? {} : { code }) };
  const { retryAfter } = error.details;
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter)) };
  return encodeErrorFrame({ status, body: { error: words }, headers }, streamId);
}

/** Steering reaches into a response while it is made, and vendors are called by HTTP, which cannot. */
export function encodeSteerFailure({ previous_response_id: id, input }: Steer, isKnown: boolean): string {
  const error = isKnown
    ? {
        code: 'steering_not_supported',
        message: 'This gateway calls providers by HTTP, which takes no input while a response is generated.',
      }
    : {
        code: 'response_not_found',
        message: `This connection has no response "${id.slice(0, longestLane)}".`,
      };
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    error: { type: 'invalid_request_error', ...error },
    steer: { previous_response_id: id, input },
  });
}
