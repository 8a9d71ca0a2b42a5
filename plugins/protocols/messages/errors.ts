/** Converts errors, in both directions. */
import type { ErrorReply, GatewayError, EventOf } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import {
  selectClientStatus,
  decodeVendorError,
  buildErrorEvent,
  readVendorError,
} from '../../shared/wire-kit/vendor-error.ts';

/** The error types and their HTTP statuses. */
const statuses = {
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

const typesByStatus: ReadonlyMap<number, string> = new Map(
  Object.entries(statuses).map(([type, status]) => [status, type]),
);

/** For an overload, all other protocols use status 503. */
function readStatus({ status }: GatewayError): number {
  return status === 503 ? statuses.overloaded_error : status;
}

function readType(error: GatewayError): string {
  const otherwise = error.status < 499 ? 'invalid_request_error' : 'api_error';
  return typesByStatus.get(readStatus(error)) ?? otherwise;
}

/** Clients recognize a conversation that is too long by this text. */
const tooLong = 'prompt is too long';

const family = 'messages';

function buildErrorBody(error: GatewayError, id: string | undefined): Fields {
  const { vendor } = error.details;
  const type = readType(error);
  const body =
    vendor?.family === family
      ? { type, ...vendor.body, message: buildMessage(error) }
      : {
          type,
          message: buildMessage(error),
          // Clients distinguish errors of their request by the vendor's code.
          ...(error.status === 400 && vendor?.code ? { details: { error_code: vendor.code } } : {}),
        };
  return { type: 'error', error: body, ...(id === undefined ? {} : { request_id: id }) };
}

/** The body has no field for the name of a parameter. As with Anthropic, the message starts with it. */
function buildMessage({ code, message, details: { param, vendor } }: GatewayError): string {
  if (code === 'context_length_exceeded')
    return message.toLowerCase().includes(tooLong) ? message : `${tooLong}: ${message}`;
  return param === undefined || vendor || message.includes(param) ? message : `${param}: ${message}`;
}

export function encodeError(error: GatewayError, id?: string): ErrorReply {
  return {
    status: selectClientStatus(error, family) ?? readStatus(error),
    body: buildErrorBody(error, id),
  };
}

/** No `message_stop` follows: it would make a broken reply look complete. */
export function encodeStreamError(error: GatewayError): string {
  return `event: error\ndata: ${JSON.stringify(buildErrorBody(error, undefined))}\n\n`;
}

export function readStreamError(event: Fields): EventOf<'error'> {
  const error = readVendorError(event);
  return buildErrorEvent(family, { ...error, code: error.type ?? error.code });
}

/** Turns a provider's status and error body into an error that is safe to show to the client. */
export function decodeError(status: number, text: string): GatewayError {
  return decodeVendorError(family, status, text);
}
