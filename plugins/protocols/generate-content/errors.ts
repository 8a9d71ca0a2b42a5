/** Google's errors in both directions: a number, an RPC status, and details by type. */
import { GatewayError, type ErrorCode, type ErrorReply, type Match } from '../../../core/index.ts';
import type { EventOf } from '../../shared/wire-kit/canonical-types.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { readObject, readList, readText } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { rpc, findDetail } from '../../shared/wire-kit/vendor-error-meaning.ts';
import {
  decodeVendorError,
  buildErrorEvent,
  selectClientStatus,
  readVendorError,
} from '../../shared/wire-kit/vendor-error.ts';
import { protocolName } from './bag.ts';

interface WireStatus {
  /** The HTTP status too. */
  readonly code: number;
  readonly status: string;
}

const statuses: Readonly<Record<ErrorCode, WireStatus>> = {
  invalid_request: { code: 400, status: 'INVALID_ARGUMENT' },
  unsupported_parameter: { code: 400, status: 'INVALID_ARGUMENT' },
  context_length_exceeded: { code: 400, status: 'INVALID_ARGUMENT' },
  content_policy_violation: { code: 400, status: 'INVALID_ARGUMENT' },
  invalid_api_key: { code: 401, status: 'UNAUTHENTICATED' },
  out_of_balance: { code: 402, status: 'FAILED_PRECONDITION' },
  budget_exceeded: { code: 402, status: 'FAILED_PRECONDITION' },
  forbidden: { code: 403, status: 'PERMISSION_DENIED' },
  not_found: { code: 404, status: 'NOT_FOUND' },
  model_not_found: { code: 404, status: 'NOT_FOUND' },
  conflict: { code: 409, status: 'ABORTED' },
  outcome_not_kept: { code: 409, status: 'ALREADY_EXISTS' },
  body_too_large: { code: 413, status: 'INVALID_ARGUMENT' },
  unsupported_media_type: { code: 415, status: 'INVALID_ARGUMENT' },
  idempotency_mismatch: { code: 422, status: 'INVALID_ARGUMENT' },
  rate_limited: { code: 429, status: 'RESOURCE_EXHAUSTED' },
  client_gone: { code: 499, status: 'CANCELLED' },
  internal: { code: 500, status: 'INTERNAL' },
  // Google pairs this status with 503, and its clients rely on the pair.
  upstream_failed: { code: 503, status: 'UNAVAILABLE' },
  upstream_overloaded: { code: 503, status: 'UNAVAILABLE' },
  ledger_unavailable: { code: 503, status: 'UNAVAILABLE' },
  overloaded: { code: 503, status: 'UNAVAILABLE' },
  shutting_down: { code: 503, status: 'UNAVAILABLE' },
  timeout: { code: 504, status: 'DEADLINE_EXCEEDED' },
};

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

/** `{"error": …}`, as a whole reply or as a chunk of a stream. */
export function errorBody(error: GatewayError): { error: Fields } {
  const {
    message,
    details: { vendor },
  } = error;
  const { code, status } = statuses[error.code];
  if (vendor?.family !== protocolName)
    return { error: { code, message, status, details: encodeDetails(error) } };
  const passed = selectClientStatus(error, protocolName);
  if (passed !== undefined) return { error: { code: passed, status, ...vendor.body, message } };
  return { error: { details: encodeDetails(error), ...vendor.body, code, message, status } };
}

/** If the stream would have been an array, the error is in one too. */
export function encodeError(error: GatewayError, match?: Match): ErrorReply {
  const body = errorBody(error);
  return {
    status: selectClientStatus(error, protocolName) ?? statuses[error.code].code,
    body: match?.framing === 'array' ? [body] : body,
  };
}

function readError(text: string): Fields {
  const body = parseJson(text);
  const whole: unknown = Array.isArray(body) ? body[0] : body;
  return readObject(readObject(whole).error);
}

/** `"34.4s"` → 34.4. */
function readSeconds(delay: unknown): number | undefined {
  return typeof delay === 'string' && /^\d+(\.\d+)?s$/.test(delay) ? Number(delay.slice(0, -1)) : undefined;
}

function readField(error: Fields): string | undefined {
  const [first] = readList(findDetail(error, 'BadRequest').fieldViolations);
  return readText(readObject(first).field) || undefined;
}

/** Decodes a vendor's error. Returns what the client may see of it. */
export function decodeError(status: number, text: string): GatewayError {
  const error = decodeVendorError(protocolName, status, text);
  const wire = readError(text);
  const param = error.details.param ?? (error.details.vendor ? readField(wire) : undefined);
  const retryAfter = readSeconds(findDetail(wire, 'RetryInfo').retryDelay);
  return new GatewayError(error.code, error.message, { ...error.details, param, retryAfter });
}

/** Decodes an error inside a stream. */
export function streamError(error: Fields): EventOf<'error'> {
  const { message, status, code } = error;
  const vendorError = {
    ...readVendorError({ error }),
    ...(typeof message === 'string' ? {} : { message: undefined }),
    code: typeof status === 'string' ? status : undefined,
  };
  return buildErrorEvent(protocolName, vendorError, Number.isInteger(code) ? Number(code) : undefined);
}
