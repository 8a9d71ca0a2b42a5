/** The error body that chat-completions, responses and images share, in both directions. */
import type { ErrorCode, ErrorReply, GatewayError } from '../../../core/index.ts';
import type { EventOf } from './canonical-types.ts';
import {
  selectClientStatus,
  decodeVendorError,
  buildErrorEvent as vendorErrorEvent,
  type VendorError,
} from './vendor-error.ts';

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
  budget_exceeded: { type: 'insufficient_quota', code: 'insufficient_quota' },
  forbidden: { type: 'invalid_request_error', code: 'permission_denied' },
  not_found: { type: 'invalid_request_error', code: 'not_found' },
  model_not_found: { type: 'invalid_request_error', code: 'model_not_found' },
  method_not_allowed: { type: 'invalid_request_error', code: 'method_not_allowed' },
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

const family = 'openai';

/** Whether Google wrote the error: its number and RPC status mean nothing to OpenAI clients. */
function isFromGoogle({ code, status }: Readonly<Record<string, unknown>>): boolean {
  return typeof code === 'number' && typeof status === 'string';
}

/** The vendor's own type and code. Ours replace them if it has none, or if OpenAI clients act on them. */
function chooseWords(
  ours: Words,
  { code, details: { vendor } }: GatewayError,
): { readonly type: unknown; readonly code: unknown } {
  const body = vendor?.body ?? {};
  const isFault = code === 'upstream_failed' || code === 'upstream_overloaded' || code === 'timeout';
  const { type, code: word } = body;
  if (isFault || code === 'content_policy_violation') return ours;
  const hasType = typeof type === 'string' && type !== '';
  const isNumber = typeof word === 'number' && !isFromGoogle(body) && code !== 'context_length_exceeded';
  const hasCode = (typeof word === 'string' && word !== '') || isNumber;
  return { type: hasType ? type : ours.type, code: hasCode ? word : ours.code };
}

/** `{ error: { message, type, param, code } }`, for a whole reply or for a frame inside a stream. */
export function errorBody(error: GatewayError): { error: Record<string, unknown> } {
  const {
    code,
    message,
    details: { param = null, vendor },
  } = error;
  const ours = wording[code];
  if (vendor?.family === family)
    return { error: { ...vendor.body, message, param, ...chooseWords(ours, error) } };
  const word = code === 'invalid_request' ? vendor?.code : undefined;
  return { error: { message, type: ours.type, param, code: word ?? ours.code } };
}

/** A stream's last frame. Nothing follows it, which would make a broken reply look complete. */
export function encodeStreamError(error: GatewayError): string {
  return `data: ${JSON.stringify(errorBody(error))}\n\n`;
}

export function encodeError(error: GatewayError): ErrorReply {
  return { status: selectClientStatus(error, family) ?? error.status, body: errorBody(error) };
}

/** Turns a provider's status and error body into an error that is safe to show to the client. */
export function decodeError(status: number, text: string): GatewayError {
  return decodeVendorError(family, status, text);
}

/** The canonical event for a provider's error inside a stream. */
export function errorEvent(error: VendorError, status = error.status): EventOf<'error'> {
  return vendorErrorEvent(family, error, status);
}
