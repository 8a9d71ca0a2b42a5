/** Converts Google's errors, in both directions: an HTTP status, an RPC status, and details by type. */
import { GatewayError, type ErrorReply, type Match, type EventOf } from '../../../core/index.ts';
import {
  decodeVendorError,
  buildErrorEvent,
  selectClientStatus,
  readVendorError,
} from '../vendors/errors.ts';
import { parseJson } from '../wire-kit/event-data.ts';
import { readObject, readList, readObjects, readText } from '../wire-kit/values.ts';
import type { Fields } from '../wire-kit/vendor-bag.ts';

/** Clients of all of Google's wires can read an error of any of them as Google wrote it. */
const family = 'generate-content';

/** The RPC statuses by HTTP status. Any other is `INVALID_ARGUMENT`. */
const rpcStatuses: ReadonlyMap<number, string> = new Map([
  [401, 'UNAUTHENTICATED'],
  [402, 'FAILED_PRECONDITION'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

/** The beginning of the types of details. */
const rpc = 'type.googleapis.com/google.rpc.';

/** The first detail of this type. */
function findDetail(error: Fields, type: string): Fields {
  return readObjects(error.details).find((each) => each['@type'] === rpc + type) ?? {};
}

/** Google pairs `UNAVAILABLE` with 503, and its clients rely on the pair. */
function readHttpStatus({ status }: GatewayError): number {
  return status === 502 ? 503 : status;
}

function encodeDetails({ code, message, details: { param, retryAfter } }: GatewayError): Fields[] {
  const info = {
    '@type': `${rpc}ErrorInfo`,
    reason: code === 'invalid_api_key' ? 'API_KEY_INVALID' : code.toUpperCase(),
    domain: 'tollgate',
  };
  const field = { '@type': `${rpc}BadRequest`, fieldViolations: [{ field: param, description: message }] };
  const retry = { '@type': `${rpc}RetryInfo`, retryDelay: `${Math.ceil(retryAfter ?? 0)}s` };
  return [info, ...(param === undefined ? [] : [field]), ...(retryAfter === undefined ? [] : [retry])];
}

/** Builds `{"error": …}`, for a JSON reply or for a chunk of a stream. */
export function buildErrorBody(error: GatewayError): { error: Fields } {
  const {
    message,
    details: { vendor },
  } = error;
  const code = readHttpStatus(error);
  const known = rpcStatuses.get(code) ?? 'INVALID_ARGUMENT';
  const status = error.code === 'outcome_not_kept' ? 'ALREADY_EXISTS' : known;
  if (vendor?.family !== family) return { error: { code, message, status, details: encodeDetails(error) } };
  const passed = selectClientStatus(error, family);
  if (passed !== undefined) return { error: { code: passed, status, ...vendor.body, message } };
  return { error: { details: encodeDetails(error), ...vendor.body, code, message, status } };
}

/** If the client expects an array, the error is in an array too. */
export function encodeError(error: GatewayError, match?: Match): ErrorReply {
  const body = buildErrorBody(error);
  return {
    status: selectClientStatus(error, family) ?? readHttpStatus(error),
    body: match?.framing === 'array' ? [body] : body,
  };
}

/** Returns 34.4 for `"34.4s"`. */
function readSeconds(delay: unknown): number | undefined {
  return typeof delay === 'string' && /^\d+(\.\d+)?s$/.test(delay) ? Number(delay.slice(0, -1)) : undefined;
}

function readField(error: Fields): string | undefined {
  const [first] = readList(findDetail(error, 'BadRequest').fieldViolations);
  return readText(readObject(first).field) || undefined;
}

/** Turns a provider's status and error body into an error that is safe to show to the client. */
export function decodeError(status: number, text: string): GatewayError {
  const error = decodeVendorError(family, status, text);
  const { fields: wire } = readVendorError(parseJson(text));
  const param = error.details.param ?? (error.details.vendor ? readField(wire) : undefined);
  const retryAfter = readSeconds(findDetail(wire, 'RetryInfo').retryDelay);
  return new GatewayError(error.code, error.message, { ...error.details, param, retryAfter });
}

export function readStreamError(body: unknown): EventOf<'error'> {
  const error = readVendorError(body);
  const { status } = error.fields;
  return buildErrorEvent(family, { ...error, code: typeof status === 'string' ? status : undefined });
}
