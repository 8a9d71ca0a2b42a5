/**
 * Errors in Google's words, in both directions: a number, an RPC status and details by type. What concerns our own
 * key or project there is never shown in the vendor's words; what concerns the caller's content is.
 */
import { GatewayError, type ErrorCode, type ErrorReply, type Match } from '../../../core/index.ts';
import { decodeError as decodeCommonError } from '../../shared/openai-error.ts';
import { isObject, type Fields } from '../../shared/vendor-bag.ts';

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

const rpc = 'type.googleapis.com/google.rpc.';

function detailsOf({ code, message, details: { param, retryAfter } }: GatewayError): Fields[] {
  const info = { '@type': `${rpc}ErrorInfo`, reason: code === 'invalid_api_key' ? 'API_KEY_INVALID' : code.toUpperCase(), domain: 'tollgate' };
  const field = { '@type': `${rpc}BadRequest`, fieldViolations: [{ field: param, description: message }] };
  const retry = { '@type': `${rpc}RetryInfo`, retryDelay: `${retryAfter}s` };
  return [info, ...(param === undefined ? [] : [field]), ...(retryAfter === undefined ? [] : [retry])];
}

/** `{"error": …}` for a reply of its own, or for a chunk of a stream. */
export function errorBody(error: GatewayError): { error: Fields } {
  const { code, status } = wording[error.code];
  return { error: { code, message: error.message, status, details: detailsOf(error) } };
}

/** Where a stream would have been an array, so is the error. */
export function encodeError(error: GatewayError, match?: Match): ErrorReply {
  const body = errorBody(error);
  return { status: wording[error.code].code, body: match?.framing === 'array' ? [body] : body };
}

function parsed(text: string): Fields {
  try {
    const body: unknown = JSON.parse(text);
    const whole: unknown = Array.isArray(body) ? body[0] : body;
    return isObject(whole) && isObject(whole['error']) ? whole['error'] : {};
  } catch {
    return {};
  }
}

/** The details of one type. */
function detail(error: Fields, type: string): Fields {
  const details: unknown[] = Array.isArray(error['details']) ? error['details'] : [];
  const found = details.find((each) => isObject(each) && each['@type'] === rpc + type);
  return isObject(found) ? found : {};
}

const overflow = /input token count.*exceeds|exceeds the maximum number of tokens/i;
/** What Google answers 400 to though it is about our key, our project or where we are. */
const aboutUs = /^(API_KEY|CONSUMER|BILLING|SERVICE_DISABLED|ACCESS_TOKEN|ACCOUNT)/;

function isAboutUs(error: Fields): boolean {
  return aboutUs.test(String(detail(error, 'ErrorInfo')['reason'] ?? '')) || error['status'] === 'FAILED_PRECONDITION';
}

/** `"34.4s"` → 35. */
function secondsOf(delay: unknown): number | undefined {
  const seconds = typeof delay === 'string' && /^\d+(\.\d+)?s$/.test(delay) ? Number(delay.slice(0, -1)) : undefined;
  return seconds === undefined ? undefined : Math.ceil(seconds);
}

function fieldOf(error: Fields): string | undefined {
  const violations: unknown = detail(error, 'BadRequest')['fieldViolations'];
  const first: unknown = Array.isArray(violations) ? violations[0] : undefined;
  return isObject(first) && typeof first['field'] === 'string' && first['field'] !== '' ? first['field'] : undefined;
}

/** Passed status and text of a vendor's refusal; the answer is what the caller may know of it. */
export function decodeError(status: number, text: string): GatewayError {
  const error = parsed(text);
  const common = decodeCommonError(status, text);
  if (status === 400 && isAboutUs(error)) return new GatewayError('upstream_failed', 'The provider could not take this call.', { cause: common.details.cause });
  const isOverflow = common.code === 'invalid_request' && overflow.test(common.message);
  const param = common.details.param ?? (common.code === 'invalid_request' ? fieldOf(error) : undefined);
  const retryAfter = common.details.retryAfter ?? secondsOf(detail(error, 'RetryInfo')['retryDelay']);
  return new GatewayError(isOverflow ? 'context_length_exceeded' : common.code, common.message, { ...common.details, param, retryAfter });
}
