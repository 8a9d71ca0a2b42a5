/**
 * Every error a client can see, in one table. A protocol turns a code into its own wire body; nothing else
 * about an error is decided twice. Messages are written for the person who reads them and never hold a key,
 * a stack or an upstream body that concerns our own credential.
 */

interface ErrorFacts {
  /** HTTP status before the first byte of a reply. */
  readonly status: number;
  /** False where sending the same call again cannot help: the client is told by `x-should-retry: false`. */
  readonly retry: boolean;
}

export const errorTable = {
  invalid_request: { status: 400, retry: false },
  unsupported_parameter: { status: 400, retry: false },
  context_length_exceeded: { status: 400, retry: false },
  content_policy_violation: { status: 400, retry: false },
  invalid_api_key: { status: 401, retry: false },
  out_of_balance: { status: 402, retry: false },
  forbidden: { status: 403, retry: false },
  not_found: { status: 404, retry: false },
  model_not_found: { status: 404, retry: false },
  conflict: { status: 409, retry: true },
  outcome_not_kept: { status: 409, retry: false },
  body_too_large: { status: 413, retry: false },
  unsupported_media_type: { status: 415, retry: false },
  idempotency_mismatch: { status: 422, retry: false },
  rate_limited: { status: 429, retry: true },
  client_gone: { status: 499, retry: false },
  internal: { status: 500, retry: true },
  upstream_failed: { status: 502, retry: true },
  overloaded: { status: 503, retry: true },
  shutting_down: { status: 503, retry: true },
  upstream_overloaded: { status: 503, retry: true },
  ledger_unavailable: { status: 503, retry: true },
  timeout: { status: 504, retry: true },
} as const satisfies Record<string, ErrorFacts>;

export type ErrorCode = keyof typeof errorTable;

function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(errorTable, name);
}

export const errorCodes: readonly ErrorCode[] = Object.keys(errorTable).filter(isErrorCode);

/** A vendor's error, without what concerns our key or account there. */
export interface VendorWords {
  /** Protocols with errors of the same shape share a family. */
  readonly family?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  /** Its HTTP status. */
  readonly status?: number | undefined;
  /** The error object with all its fields. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

export interface ErrorDetails {
  /** The request field at fault, as a path: `messages[0].role`. */
  readonly param?: string | undefined;
  /** Seconds after which the same call may succeed, not always a whole number. */
  readonly retryAfter?: number | undefined;
  /** Retries and other targets were tried, so that the client cannot do better by sending the call again. */
  readonly isFinal?: boolean | undefined;
  /** The part of the request that the vendor does not accept, where the call may succeed without it. */
  readonly rejects?: 'reasoning' | undefined;
  /** What the reply's head tells beside it. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What the vendor itself said, where the caller may see it. */
  readonly vendor?: VendorWords | undefined;
  /** The fault is this one call's, yet another target may take it. */
  readonly elsewhere?: boolean | undefined;
  readonly cause?: unknown;
}

/** Several copies of the package may be loaded, so errors are known by this brand and not by `instanceof`. */
const brand = Symbol.for('tollgate.error');

/** Characters of what is told: messages name what a client sent, and are remembered with its call. */
const longestMessage = 4000;

/** An error with a row in the table: the only kind that reaches a client with its own message. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  readonly [brand] = true;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    // Told where it is made: whoever puts it into a client's words would be taken for the culprit.
    if (!isErrorCode(code))
      throw new TypeError(
        `there is no error code "${code}"; there are: ${Object.keys(errorTable).join(', ')}`,
      );
    super(message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message, {
      cause: details.cause,
    });
    this.name = 'GatewayError';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  get retry(): boolean {
    return errorTable[this.code].retry && !this.details.isFinal;
  }
}

export function isGatewayError(value: unknown): value is GatewayError {
  return typeof value === 'object' && value !== null && brand in value;
}

/** Anything thrown, as an error fit for a client: an unknown one is told as internal and keeps its cause for the log. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  return new GatewayError('internal', 'The gateway failed to handle this call; it may be sent again.', {
    cause: thrown,
  });
}
