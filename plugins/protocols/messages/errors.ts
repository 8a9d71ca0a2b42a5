/** Translates errors in both directions. */
import type { ErrorCode, ErrorReply, GatewayError } from '../../../core/index.ts';
import type { EventOf } from '../../shared/wire-kit/canonical-types.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import {
  selectClientStatus,
  decodeVendorError,
  buildErrorEvent,
  readVendorError,
} from '../../shared/wire-kit/vendor-error.ts';

interface Words {
  readonly type: string;
  /** The protocol's own status, if it has one. */
  readonly status?: number;
}

const wording: Readonly<Record<ErrorCode, Words>> = {
  invalid_request: { type: 'invalid_request_error' },
  unsupported_parameter: { type: 'invalid_request_error' },
  context_length_exceeded: { type: 'invalid_request_error' },
  content_policy_violation: { type: 'invalid_request_error' },
  invalid_api_key: { type: 'authentication_error' },
  out_of_balance: { type: 'billing_error' },
  budget_exceeded: { type: 'billing_error' },
  forbidden: { type: 'permission_error' },
  not_found: { type: 'not_found_error' },
  model_not_found: { type: 'not_found_error' },
  conflict: { type: 'conflict_error' },
  outcome_not_kept: { type: 'conflict_error' },
  body_too_large: { type: 'request_too_large' },
  unsupported_media_type: { type: 'invalid_request_error' },
  idempotency_mismatch: { type: 'invalid_request_error' },
  rate_limited: { type: 'rate_limit_error' },
  client_gone: { type: 'api_error' },
  internal: { type: 'api_error' },
  upstream_failed: { type: 'api_error' },
  upstream_overloaded: { type: 'overloaded_error', status: 529 },
  ledger_unavailable: { type: 'overloaded_error', status: 529 },
  overloaded: { type: 'overloaded_error', status: 529 },
  shutting_down: { type: 'overloaded_error', status: 529 },
  timeout: { type: 'timeout_error' },
};

/** Clients recognise a conversation that is too long by this text. */
const tooLong = 'prompt is too long';

const family = 'messages';

function errorBody(error: GatewayError, id: string | undefined): Fields {
  const {
    code,
    details: { vendor },
  } = error;
  const { type } = wording[code];
  const body =
    vendor?.family === family
      ? { type, ...vendor.body, message: buildMessage(error) }
      : { type, message: buildMessage(error), ...buildDetails(error) };
  return { type: 'error', error: body, ...(id === undefined ? {} : { request_id: id }) };
}

/** The body has no member for the field at fault. Like Anthropic, we put it at the start of the message. */
function buildMessage({ code, message, details: { param, vendor } }: GatewayError): string {
  if (code === 'context_length_exceeded')
    return message.toLowerCase().includes(tooLong) ? message : `${tooLong}: ${message}`;
  return param === undefined || vendor || message.includes(param) ? message : `${param}: ${message}`;
}

/** The vendor's code, by which clients distinguish errors of their request. */
function buildDetails({ status, details: { vendor } }: GatewayError): Fields {
  return status === 400 && vendor?.code ? { details: { error_code: vendor.code } } : {};
}

export function encodeError(error: GatewayError, id?: string): ErrorReply {
  return {
    status: selectClientStatus(error, family) ?? wording[error.code].status ?? error.status,
    body: errorBody(error, id),
  };
}

/** One frame, without a `message_stop`, which would make a broken reply look complete. */
export function encodeStreamError(error: GatewayError): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(error, undefined))}\n\n`;
}

/** The HTTP status of each error type. */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Reads an error event inside a stream. */
export function readStreamError(event: Fields): EventOf<'error'> {
  const error = readVendorError({ error: isObject(event.error) ? event.error : event });
  const { type, status } = error;
  return buildErrorEvent(
    family,
    { ...error, code: type },
    status ?? (type === undefined ? undefined : statuses[type]),
  );
}

/** Turns a provider's status and error body into an error that is safe to show to the client. */
export function decodeError(status: number, text: string): GatewayError {
  return decodeVendorError(family, status, text);
}
