/**
 * Reads a provider's error, in whatever shape the provider writes it. Its meaning decides what the client sees: the
 * provider's own message, unless the error concerns our key or account.
 */
import { GatewayError, type CanonicalEvent, type ErrorCode, type ErrorDetails } from '../../../core/index.ts';
import { redact, redactFields, withoutAdvice } from './redact.ts';
import { isObject, type Fields } from './vendor-bag.ts';
import { meaningOf } from './vendor-error-meaning.ts';

/** Protocols whose errors have the same shape. Chat-completions, responses and images share OpenAI's. */
export type ErrorFamily = 'openai' | 'messages' | 'generate-content';

/** What a vendor says about an error. */
export interface VendorError {
  readonly message: string | undefined;
  readonly type: string | undefined;
  /** All of a vendor's words for a refusal by policy become `content_policy_violation`. */
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** An HTTP status inside the body: OpenRouter and Google write it as `code`, Groq as `status_code`. */
  readonly status: number | undefined;
  /** The error object as the vendor wrote it. */
  readonly fields: Fields;
}

const longestMessage = 1000;

function words(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, longestMessage) : undefined;
}

/** FastAPI's `detail` (vLLM, Mistral): a text, or a list of `{ loc, msg }`. */
function detailOf(value: unknown): Fields | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === 'string') return { message: first };
  if (!isObject(first)) return undefined;
  const place = Array.isArray(first.loc) ? first.loc.filter((part) => part !== 'body').join('.') : undefined;
  return { message: place ? `${place}: ${words(first.msg) ?? 'not accepted'}` : first.msg, param: place };
}

function innermost(body: unknown): Fields {
  // Google wraps the body of its chat layer in an array.
  const whole: unknown = Array.isArray(body) ? body[0] : body;
  if (!isObject(whole)) return {};
  const { error, object: _, ...rest } = whole;
  if (typeof error === 'string') return { ...rest, message: rest.message ?? error };
  return isObject(error) ? error : (detailOf(whole.detail) ?? rest);
}

/** A more exact code from Anthropic's `details`. */
function detailedCode(details: unknown): string | undefined {
  return isObject(details) ? words(details.error_code) : undefined;
}

function httpStatus(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 400 && value < 600 ? value : undefined;
}

const policyCodes = new Set([
  'content_policy_violation',
  'content_filter',
  'moderation_blocked',
  'ResponsibleAIPolicyViolation',
  'contentFilter',
]);

export function readVendorError(body: unknown): VendorError {
  const fields = innermost(body);
  const code = words(fields.code) ?? detailedCode(fields.details);
  return {
    message: words(fields.message),
    type: words(fields.type) ?? words(fields.status),
    code: code !== undefined && policyCodes.has(code) ? 'content_policy_violation' : code,
    param: words(fields.param),
    status: httpStatus(fields.code) ?? httpStatus(fields.status_code) ?? httpStatus(fields.status),
    fields,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What callers are told where the vendor says nothing, or nothing that they may see. */
const ownWords: Partial<Record<ErrorCode, string>> = {
  model_not_found: 'The provider does not serve this model at present.',
  body_too_large: 'The provider takes no request of this size.',
  rate_limited: 'The provider takes no more calls at the moment; try again later.',
  upstream_overloaded: 'The provider is overloaded; try again later.',
  timeout: 'The provider did not answer in time.',
};
const unexplained = 'The provider refused this request and did not say why.';
/** For all that concerns our key or account. */
const couldNotTake = 'The provider could not take this call.';

/** Errors about the vendor's state. Their messages often end with advice to whoever holds the account. */
const aboutLoad: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'upstream_overloaded',
  'upstream_failed',
  'timeout',
]);

/** The vendor's own code, where it is a word in lower case. Google's status and numbers say no more than the HTTP status. */
function wordOf(code: string | undefined): string | undefined {
  return code !== undefined && /^[a-z]/.test(code) ? code : undefined;
}

interface Told {
  readonly code: ErrorCode;
  readonly message: string | undefined;
  readonly details: ErrorDetails;
}

/** What the caller may know of a vendor's error. */
function explain(family: ErrorFamily, error: VendorError, status: number | undefined): Told {
  const { code, isOurs, elsewhere, rejects } = meaningOf(status, error);
  // Whether a model is missing or only closed to our account, its vendor often does not know itself.
  if (isOurs || code === 'model_not_found')
    return { code, message: isOurs ? couldNotTake : ownWords[code], details: {} };
  const said = error.message === undefined ? undefined : redact(error.message);
  const message = said !== undefined && aboutLoad.has(code) ? withoutAdvice(said) : said;
  const body = error.message === undefined ? {} : redactFields(error.fields);
  const vendor = { family, type: error.type, code: wordOf(error.code), status, body };
  return {
    code,
    message,
    details: {
      param: error.param,
      vendor,
      ...(elsewhere ? { elsewhere } : {}),
      ...(rejects ? { rejects } : {}),
    },
  };
}

/** Turns a vendor's refusal, its HTTP status and the text of its body, into what the caller may know of it. */
export function decodeVendorError(family: ErrorFamily, status: number, text: string): GatewayError {
  const { code, message, details } = explain(family, readVendorError(parsed(text)), status);
  const otherwise =
    ownWords[code] ??
    (code === 'upstream_failed' ? `The provider failed with status ${status}.` : unexplained);
  return new GatewayError(code, message ?? otherwise, { ...details, cause: text.slice(0, longestMessage) });
}

type ErrorEvent = Extract<CanonicalEvent, { type: 'error' }>;

/** Codes that say by themselves that the caller's content is at fault. */
const contentCodes = new Set(['context_length_exceeded', 'content_policy_violation']);

/** The event for an error inside a reply. `status` is the one it would have had before the reply began, where that is known. */
export function errorEvent(family: ErrorFamily, error: VendorError, status = error.status): ErrorEvent {
  const {
    code,
    message,
    details: { vendor: { body = {} } = {} },
  } = explain(family, error, status ?? (contentCodes.has(error.code ?? '') ? 400 : 500));
  return {
    type: 'error',
    message: message ?? 'The provider broke off its reply and did not say why.',
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(status === undefined ? {} : { status }),
    meaning: code,
    ...(Object.keys(body).length > 0 ? { vendor: { [family]: body } } : {}),
  };
}

/** Errors of one call, which keep the status that the vendor gave them. A fault of the vendor has the gateway's. */
const oneCalls: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'context_length_exceeded',
  'content_policy_violation',
  'forbidden',
  'not_found',
  'conflict',
  'body_too_large',
  'rate_limited',
]);
/** Clients take these for errors of their key at the gateway, of a proxy, or of their own timeout. A 422 is a 400 by another name. */
const otherwiseMeant = new Set([401, 402, 407, 408, 422]);

/** The vendor's status, where the client is to see it. */
export function passedStatus(
  { code, details: { vendor } }: GatewayError,
  family: ErrorFamily,
): number | undefined {
  const status = vendor?.family === family ? vendor.status : undefined;
  if (status === undefined || status < 400 || status >= 500) return undefined;
  return oneCalls.has(code) && !otherwiseMeant.has(status) ? status : undefined;
}
