/**
 * Every error a client can see, in one table. A protocol writes a code as its own body; nothing else about an
 * error is decided twice. Messages help the person who reads them and never contain a key, a stack or an
 * upstream body that concerns our credential.
 */

interface ErrorFacts {
  readonly status: number;
  /** False if a retry cannot help: the reply has `x-should-retry: false`. */
  readonly retry: boolean;
}

export const errorTable = {
  invalid_request: { status: 400, retry: false },
  unsupported_parameter: { status: 400, retry: false },
  context_length_exceeded: { status: 400, retry: false },
  content_policy_violation: { status: 400, retry: false },
  reference_not_found: { status: 400, retry: false },
  invalid_api_key: { status: 401, retry: false },
  out_of_balance: { status: 402, retry: false },
  budget_exceeded: { status: 402, retry: false },
  forbidden: { status: 403, retry: false },
  not_found: { status: 404, retry: false },
  model_not_found: { status: 404, retry: false },
  method_not_allowed: { status: 405, retry: false },
  request_timeout: { status: 408, retry: true },
  conflict: { status: 409, retry: true },
  outcome_not_kept: { status: 409, retry: false },
  body_too_large: { status: 413, retry: false },
  unsupported_media_type: { status: 415, retry: false },
  idempotency_mismatch: { status: 422, retry: false },
  rate_limited: { status: 429, retry: true },
  // A person's device learns so that its money or budget is used up; keys get 402.
  spending_capped: { status: 429, retry: false },
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

/** A provider's error, without what concerns our key or account. */
export interface VendorWords {
  /** Protocols whose errors have the same shape share a family. */
  readonly family?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

export interface ErrorDetails {
  /** Path of the request field at fault: `messages[0].role`. */
  readonly param?: string | undefined;
  /** Seconds after which the same call may succeed; may be fractional. */
  readonly retryAfter?: number | undefined;
  /** Retries and other targets were tried, so a retry by the client cannot help. */
  readonly isFinal?: boolean | undefined;
  /** The part of the request that the provider rejects; the call may succeed without it. */
  readonly rejects?: 'reasoning' | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What the provider said, if the client may see it. */
  readonly vendor?: VendorWords | undefined;
  /**
   * For an error with which a tap of `transformStream` stops a reply: whether the caller pays for what the
   * provider has produced. Default: only if some of the reply was delivered.
   */
  readonly charge?: boolean | undefined;
  /** The fault is in this call only, but another target may accept it. */
  readonly elsewhere?: boolean | undefined;
  readonly cause?: unknown;
}

/** Recognises errors of all copies of the package that may be loaded, as `instanceof` does not. */
const brand = Symbol.for('tollgate.error');

/** Maximum characters of a message: messages quote what clients send, and are kept with the call. */
const longestMessage = 4000;

/** An error with a row in the table: the only kind that reaches a client with its own message. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
  readonly [brand] = true;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    // Checked here, so that the error names the code that made it and not the encoder.
    if (!isErrorCode(code))
      throw new TypeError(`there is no error code "${code}"; known: ${Object.keys(errorTable).join(', ')}`);
    const shown = message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
    // Texts of others are cut for messages, sometimes within a character.
    super(shown.toWellFormed(), { cause: details.cause });
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

/** Turns anything thrown into an error for clients. The cause of an unknown one is for the log. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  return new GatewayError('internal', 'The gateway failed to handle this call; it may be sent again.', {
    cause: thrown,
  });
}

export function getMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code of an error of the system or of Node: `ECONNRESET`. A GatewayError's is of another kind. */
export function readSystemCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || isGatewayError(thrown)) return undefined;
  return 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** An error in the configuration. Its message is complete; no stack is needed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
