/** The error body that chat-completions, responses and images share, in both directions. */
import type { ErrorCode, ErrorReply, GatewayError, EventOf } from '../../../core/index.ts';
import {
  selectClientStatus,
  decodeVendorError,
  buildErrorEvent as vendorErrorEvent,
  type VendorError,
} from '../vendors/errors.ts';

interface Words {
  readonly type: string;
  readonly code: string | null;
}

/** OpenAI's codes, where they differ from ours. */
const codes: Partial<Record<ErrorCode, string | null>> = {
  invalid_request: null,
  reference_not_found: 'previous_response_not_found',
  out_of_balance: 'insufficient_quota',
  budget_exceeded: 'insufficient_quota',
  spending_capped: 'insufficient_quota',
  forbidden: 'permission_denied',
  body_too_large: 'request_too_large',
  rate_limited: 'rate_limit_exceeded',
  internal: 'internal_error',
  upstream_failed: 'upstream_error',
  // Codex knows by this code that it should not try again at once.
  upstream_overloaded: 'server_is_overloaded',
  ledger_unavailable: 'service_unavailable',
  overloaded: 'service_unavailable',
  shutting_down: 'service_unavailable',
};

function getWords({ code: ours, status }: GatewayError): Words {
  const code = codes[ours] === undefined ? ours : codes[ours];
  if (code === 'insufficient_quota') return { type: code, code };
  if (ours === 'rate_limited') return { type: 'requests', code };
  return { type: status < 499 ? 'invalid_request_error' : 'server_error', code };
}

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
export function buildErrorBody(error: GatewayError): { error: Record<string, unknown> } {
  const {
    code,
    message,
    details: { vendor, param = vendor?.body?.param ?? null },
  } = error;
  const ours = getWords(error);
  if (vendor?.family === family)
    return { error: { ...vendor.body, message, param, ...chooseWords(ours, error) } };
  const word = code === 'invalid_request' ? vendor?.code : undefined;
  return { error: { message, type: ours.type, param, code: word ?? ours.code } };
}

/**
 * A stream's last frame. Nothing follows it, which would make a broken reply look complete. It names its
 * event, since LangChain4j reads no error from an unnamed one, and shows the text so far as a complete reply.
 */
export function encodeStreamError(error: GatewayError): string {
  return `event: error\ndata: ${JSON.stringify(buildErrorBody(error))}\n\n`;
}

export function encodeError(error: GatewayError): ErrorReply {
  return { status: selectClientStatus(error, family) ?? error.status, body: buildErrorBody(error) };
}

/** Turns a provider's status and error body into an error that is safe to show to the client. */
export function decodeError(status: number, text: string): GatewayError {
  return decodeVendorError(family, status, text);
}

/** The canonical event for a provider's error inside a stream. */
export function buildErrorEvent(error: VendorError, status = error.status): EventOf<'error'> {
  return vendorErrorEvent(family, error, status);
}
