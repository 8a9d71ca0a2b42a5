/**
 * The error body that chat-completions, responses and images share, in both directions: our errors in its words, and the
 * meaning of a vendor's refusal. Where a refusal is about our own key or account there, the caller never sees the
 * vendor's words; where it is about the caller's content, the caller does.
 */
import { GatewayError, type ErrorCode, type ErrorReply } from '../../core/index.ts';
import { isObject } from './vendor-bag.ts';

interface Words {
  readonly type: string;
  readonly code: string | null;
}

const wording: Readonly<Record<ErrorCode, Words>> = {
  invalid_request: { type: 'invalid_request_error', code: null },
  unsupported_parameter: { type: 'invalid_request_error', code: 'unsupported_parameter' },
  context_length_exceeded: { type: 'invalid_request_error', code: 'context_length_exceeded' },
  content_policy_violation: { type: 'invalid_request_error', code: 'content_policy_violation' },
  invalid_api_key: { type: 'invalid_request_error', code: 'invalid_api_key' },
  out_of_balance: { type: 'insufficient_quota', code: 'insufficient_quota' },
  forbidden: { type: 'invalid_request_error', code: 'permission_denied' },
  not_found: { type: 'invalid_request_error', code: 'not_found' },
  model_not_found: { type: 'invalid_request_error', code: 'model_not_found' },
  conflict: { type: 'invalid_request_error', code: 'conflict' },
  outcome_not_kept: { type: 'invalid_request_error', code: 'outcome_not_kept' },
  body_too_large: { type: 'invalid_request_error', code: 'request_too_large' },
  unsupported_media_type: { type: 'invalid_request_error', code: 'unsupported_media_type' },
  idempotency_mismatch: { type: 'invalid_request_error', code: 'idempotency_mismatch' },
  rate_limited: { type: 'requests', code: 'rate_limit_exceeded' },
  client_gone: { type: 'server_error', code: 'client_gone' },
  internal: { type: 'server_error', code: 'internal_error' },
  upstream_failed: { type: 'server_error', code: 'upstream_error' },
  // Codex knows by this code that it should not try again at once.
  upstream_overloaded: { type: 'server_error', code: 'server_is_overloaded' },
  ledger_unavailable: { type: 'server_error', code: 'service_unavailable' },
  overloaded: { type: 'server_error', code: 'service_unavailable' },
  shutting_down: { type: 'server_error', code: 'service_unavailable' },
  timeout: { type: 'server_error', code: 'timeout' },
};

/** `{"error": …}` for a whole reply, or for a frame inside a stream. */
export function errorBody({ code, message, details }: GatewayError): { error: Record<string, unknown> } {
  const { type, code: word } = wording[code];
  const { vendor } = details;
  const callers = code === 'invalid_request';
  return { error: { message, type: (callers && vendor?.type) || type, param: details.param ?? null, code: (callers && vendor?.code) || word } };
}

export function encodeError(error: GatewayError): ErrorReply {
  return { status: error.status, body: errorBody(error) };
}

/** What a vendor says about an error, in whatever shape it says it. */
export interface VendorError {
  readonly message: string | undefined;
  readonly type: string | undefined;
  /** All of a vendor's words for a refusal by policy become `content_policy_violation`. */
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** An HTTP status inside the body: OpenRouter and Google write it as `code`, Groq as `status_code`. */
  readonly status: number | undefined;
}

const longestMessage = 1000;

function words(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, longestMessage) : undefined;
}

/** FastAPI's `detail` (vLLM, Mistral): a text, or a list of `{ loc, msg }`. */
function detailOf(value: unknown): Record<string, unknown> | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === 'string') return { message: first };
  if (!isObject(first)) return undefined;
  const place = Array.isArray(first['loc']) ? first['loc'].filter((part) => part !== 'body').join('.') : undefined;
  return { message: place ? `${place}: ${words(first['msg']) ?? 'not accepted'}` : first['msg'], param: place };
}

function innermost(body: unknown): Record<string, unknown> {
  // Google wraps the body of its chat layer in an array.
  const whole: unknown = Array.isArray(body) ? body[0] : body;
  if (!isObject(whole)) return {};
  const { error } = whole;
  if (typeof error === 'string') return { ...whole, message: whole['message'] ?? error };
  return isObject(error) ? error : (detailOf(whole['detail']) ?? whole);
}

/** A more exact code from Anthropic's `details`. */
function detailedCode(details: unknown): string | undefined {
  return isObject(details) ? words(details['error_code']) : undefined;
}

function httpStatus(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 400 && value < 600 ? value : undefined;
}

const policyCodes = new Set(['content_policy_violation', 'content_filter', 'moderation_blocked', 'ResponsibleAIPolicyViolation', 'contentFilter']);

export function readVendorError(body: unknown): VendorError {
  const facts = innermost(body);
  const code = words(facts['code']) ?? detailedCode(facts['details']);
  return {
    message: words(facts['message']),
    type: words(facts['type']) ?? words(facts['status']),
    code: code !== undefined && policyCodes.has(code) ? 'content_policy_violation' : code,
    param: words(facts['param']),
    status: httpStatus(facts['code']) ?? httpStatus(facts['status_code']) ?? httpStatus(facts['status']),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const overflow = /context[ _](length|window|size)|maximum context|prompt is too long|input is too long|too many (input )?tokens|reduce the length of the (messages|prompt)/i;
/** Codes about our own key or account. Google answers 400 to a wrong key, and OpenAI 429 to an account without credit. */
const keyCodes = new Set([
  'invalid_api_key', 'insufficient_quota', 'authentication_error', 'account_deactivated', 'billing_not_active',
  'billing_hard_limit_reached',
]);
const badKey = /(invalid|incorrect|expired|missing) api[ _-]?key|api[ _-]?key (is )?(not valid|invalid|expired|missing)/i;

/** A refusal because of the caller's content. The vendor's own words help most. */
function callersFault({ message, type, code, param }: VendorError): GatewayError {
  const vendor = { type, code };
  const text = message ?? 'The provider refused this request and did not say why.';
  if (code === 'context_length_exceeded' || overflow.test(text)) return new GatewayError('context_length_exceeded', text, { param, vendor });
  if (code === 'content_policy_violation') return new GatewayError(code, text, { param, vendor });
  return new GatewayError('invalid_request', text, { param, vendor });
}

function isAboutOurKey({ message, code, type }: VendorError): boolean {
  return keyCodes.has(code ?? '') || keyCodes.has(type ?? '') || badKey.test(message ?? '');
}

/** Turns a vendor's refusal into what the caller may know of it. */
export function decodeError(status: number, text: string): GatewayError {
  const error = readVendorError(parsed(text));
  const cause = text.slice(0, longestMessage);
  if (status === 401 || status === 402 || status === 403 || isAboutOurKey(error)) {
    return new GatewayError('upstream_failed', 'The provider could not take this call.', { cause });
  }
  if (status === 400 || status === 422) return callersFault(error);
  if (status === 404) return new GatewayError('model_not_found', 'The provider does not serve this model at present.', { cause });
  if (status === 413) return new GatewayError('body_too_large', 'The provider takes no request of this size.', { cause });
  if (status === 429) return new GatewayError('rate_limited', 'The provider takes no more calls at the moment; try again later.', { cause });
  if (status === 503 || status === 529) return new GatewayError('upstream_overloaded', 'The provider is overloaded; try again later.', { cause });
  if (status === 408 || status === 504) return new GatewayError('timeout', 'The provider did not answer in time.', { cause });
  return new GatewayError('upstream_failed', `The provider failed with status ${status}.`, { cause });
}
