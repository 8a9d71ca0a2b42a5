/** Errors in Google's words, in both directions: a number, an RPC status and details by type. */
import {
  GatewayError,
  type CanonicalEvent,
  type ErrorCode,
  type ErrorReply,
  type Match,
} from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import {
  passedStatus,
  decodeVendorError,
  errorEvent,
  readVendorError,
} from '../../shared/wire-kit/vendor-error.ts';

interface Words {
  /** The HTTP status as well. */
  readonly code: number;
  readonly status: string;
}

const wording: Readonly<Record<ErrorCode, Words>> = {
  invalid_request: { code: 400, status: 'INVALID_ARGUMENT' },
  unsupported_parameter: { code: 400, status: 'INVALID_ARGUMENT' },
  context_length_exceeded: { code: 400, status: 'INVALID_ARGUMENT' },
  content_policy_violation: { code: 400, status: 'INVALID_ARGUMENT' },
  invalid_api_key: { code: 401, status: 'UNAUTHENTICATED' },
  out_of_balance: { code: 402, status: 'FAILED_PRECONDITION' },
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
  // The status that says this goes with 503 at Google, and its clients know the pair.
  upstream_failed: { code: 503, status: 'UNAVAILABLE' },
  upstream_overloaded: { code: 503, status: 'UNAVAILABLE' },
  ledger_unavailable: { code: 503, status: 'UNAVAILABLE' },
  overloaded: { code: 503, status: 'UNAVAILABLE' },
  shutting_down: { code: 503, status: 'UNAVAILABLE' },
  timeout: { code: 504, status: 'DEADLINE_EXCEEDED' },
};

const family = 'generate-content';
const rpc = 'type.googleapis.com/google.rpc.';

function detailsOf({ code, message, details: { param, retryAfter } }: GatewayError): Fields[] {
  const info = {
    '@type': `${rpc}ErrorInfo`,
    reason: code === 'invalid_api_key' ? 'API_KEY_INVALID' : code.toUpperCase(),
    domain: 'tollgate',
  };
  const field = { '@type': `${rpc}BadRequest`, fieldViolations: [{ field: param, description: message }] };
  const retry = { '@type': `${rpc}RetryInfo`, retryDelay: `${Math.ceil(retryAfter ?? 0)}s` };
  return [info, ...(param === undefined ? [] : [field]), ...(retryAfter === undefined ? [] : [retry])];
}

/** `{"error": …}` for a reply of its own, or for a chunk of a stream. */
export function errorBody(error: GatewayError): { error: Fields } {
  const {
    message,
    details: { vendor },
  } = error;
  const { code, status } = wording[error.code];
  if (vendor?.family !== family) return { error: { code, message, status, details: detailsOf(error) } };
  const passed = passedStatus(error, family);
  if (passed !== undefined) return { error: { code: passed, status, ...vendor.body, message } };
  return { error: { details: detailsOf(error), ...vendor.body, code, message, status } };
}

/** Where a stream would have been an array, so is the error. */
export function encodeError(error: GatewayError, match?: Match): ErrorReply {
  const body = errorBody(error);
  return {
    status: passedStatus(error, family) ?? wording[error.code].code,
    body: match?.framing === 'array' ? [body] : body,
  };
}

function parsed(text: string): Fields {
  try {
    const body: unknown = JSON.parse(text);
    const whole: unknown = Array.isArray(body) ? body[0] : body;
    return isObject(whole) && isObject(whole.error) ? whole.error : {};
  } catch {
    return {};
  }
}

/** The details of one type. */
function detail(error: Fields, type: string): Fields {
  const details: unknown[] = Array.isArray(error.details) ? error.details : [];
  const found = details.find((each) => isObject(each) && each['@type'] === rpc + type);
  return isObject(found) ? found : {};
}

/** `"34.4s"` → 34.4. */
function secondsOf(delay: unknown): number | undefined {
  return typeof delay === 'string' && /^\d+(\.\d+)?s$/.test(delay) ? Number(delay.slice(0, -1)) : undefined;
}

function fieldOf(error: Fields): string | undefined {
  const violations: unknown = detail(error, 'BadRequest').fieldViolations;
  const first: unknown = Array.isArray(violations) ? violations[0] : undefined;
  return isObject(first) && typeof first.field === 'string' && first.field !== '' ? first.field : undefined;
}

/** Passed status and text of a vendor's refusal; the answer is what the caller may know of it. */
export function decodeError(status: number, text: string): GatewayError {
  const error = decodeVendorError(family, status, text);
  const wire = parsed(text);
  const param = error.details.param ?? (error.details.vendor ? fieldOf(wire) : undefined);
  const retryAfter = secondsOf(detail(wire, 'RetryInfo').retryDelay);
  return new GatewayError(error.code, error.message, { ...error.details, param, retryAfter });
}

/** The event for an error inside a stream. */
export function streamError(error: Fields): Extract<CanonicalEvent, { type: 'error' }> {
  const { message, status, code } = error;
  const told = readVendorError({ error });
  const known = Number.isInteger(code) ? Number(code) : undefined;
  const said = typeof message === 'string' ? told : { ...told, message: undefined };
  return errorEvent(family, { ...said, code: typeof status === 'string' ? status : undefined }, known);
}
