/**
 * Reads a provider's error, in whatever shape the provider writes it. Its meaning decides what the client
 * sees: the provider's own message, unless the error concerns our key or account.
 */
import { GatewayError, type ErrorCode, type ErrorDetails, type EventOf } from '../../../core/index.ts';
import { parseJson } from './event-data.ts';
import { redact, redactFields, omitAdvice } from './redact.ts';
import { isObject, type Fields, splitNames } from './vendor-bag.ts';
import { classifyError } from './vendor-error-meaning.ts';

/** Protocols whose errors have the same shape. Chat-completions, responses and images share OpenAI's. */
type ErrorFamily = 'openai' | 'messages' | 'generate-content';

export interface VendorError {
  readonly message: string | undefined;
  readonly type: string | undefined;
  /** Every vendor's code for a policy refusal becomes `content_policy_violation`. */
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** An HTTP status inside the body: OpenRouter and Google write it as `code`, Groq as `status_code`. */
  readonly status: number | undefined;
  /** The error object as the vendor wrote it. */
  readonly fields: Fields;
}

const longestMessage = 1000;

function readText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, longestMessage) : undefined;
}

/** FastAPI's `detail` (vLLM, Mistral): a text, or a list of `{ loc, msg }`. */
function readDetail(value: unknown): Fields | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === 'string') return { message: first };
  if (!isObject(first)) return undefined;
  const place = Array.isArray(first.loc) ? first.loc.filter((part) => part !== 'body').join('.') : undefined;
  return { message: place ? `${place}: ${readText(first.msg) ?? 'not accepted'}` : first.msg, param: place };
}

/** The object with the error's own fields, wherever the vendor puts it. */
function findErrorFields(body: unknown): Fields {
  // Google wraps the body of its chat layer in an array.
  const whole: unknown = Array.isArray(body) ? body[0] : body;
  if (!isObject(whole)) return {};
  const { error, object: _, ...rest } = whole;
  if (typeof error === 'string') return { ...rest, message: rest.message ?? error };
  return isObject(error) ? error : (readDetail(whole.detail) ?? rest);
}

/** A more exact code from Anthropic's `details`. */
function readDetailCode(details: unknown): string | undefined {
  return isObject(details) ? readText(details.error_code) : undefined;
}

/** LiteLLM writes the number as text. */
function readStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

const policyCodes = splitNames(`
  content_policy_violation content_filter moderation_blocked ResponsibleAIPolicyViolation contentFilter
`);

export function readVendorError(body: unknown): VendorError {
  const fields = findErrorFields(body);
  const code = readText(fields.code) ?? readDetailCode(fields.details);
  return {
    message: readText(fields.message),
    type: readText(fields.type) ?? readText(fields.status),
    code: code !== undefined && policyCodes.has(code) ? 'content_policy_violation' : code,
    param: readText(fields.param),
    status: readStatus(fields.code) ?? readStatus(fields.status_code) ?? readStatus(fields.status),
    fields,
  };
}

/** The messages for clients if the vendor gives no reason, or none that they may see. */
const ownMessages: Partial<Record<ErrorCode, string>> = {
  model_not_found: 'The provider does not serve this model at present.',
  body_too_large: 'The provider does not accept a request of this size.',
  rate_limited: 'The provider takes no more calls at the moment; try again later.',
  upstream_overloaded: 'The provider is overloaded; try again later.',
  timeout: 'The provider did not answer in time.',
};
const unexplained = 'The provider refused this request and gave no reason.';
/** The message for every error about our key or account. */
const couldNotTake = 'The provider could not take this call.';

/** Errors about the vendor's load. Their messages often end with advice to the holder of the account. */
const aboutLoad: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'upstream_overloaded',
  'upstream_failed',
  'timeout',
]);

/** The vendor's code, if it is a word in lower case. Google's adds nothing to the HTTP status. */
function selectCode(code: string | undefined): string | undefined {
  return code !== undefined && /^[a-z]/.test(code) ? code : undefined;
}

interface Explanation {
  readonly code: ErrorCode;
  readonly message: string | undefined;
  readonly details: ErrorDetails;
}

/** The code, message and details of a vendor's error that the client may see. */
function explain(family: ErrorFamily, error: VendorError, status: number | undefined): Explanation {
  const { code, isOurs, elsewhere, rejects } = classifyError(status, error);
  // A vendor's error often does not tell a missing model from one that our account may not use.
  if (isOurs || code === 'model_not_found')
    return { code, message: isOurs ? couldNotTake : ownMessages[code], details: {} };
  const said = error.message === undefined ? undefined : redact(error.message);
  const message = said !== undefined && aboutLoad.has(code) ? omitAdvice(said) : said;
  const body = error.message === undefined ? {} : redactFields(error.fields);
  const vendor = { family, type: error.type, code: selectCode(error.code), status, body };
  return {
    code,
    message,
    details: { param: error.param, vendor, elsewhere, rejects },
  };
}

/** Text that is no JSON and no page, of three words or more: fewer only name the status. */
const sentence = /^\s*[^\s<{[]+\s+\S+\s+\S/;

/** Reads a reason that is text, not JSON. DeepSeek writes so of a request that it cannot parse. */
function readPlainReason(status: number, text: string): Fields | undefined {
  return (status === 400 || status === 422) && sentence.test(text) ? { message: text.trim() } : undefined;
}

/** Turns a vendor's status and error body into an error that is safe to show to the client. */
export function decodeVendorError(family: ErrorFamily, status: number, text: string): GatewayError {
  const said = readVendorError(parseJson(text) ?? readPlainReason(status, text));
  const { code, message, details } = explain(family, said, status);
  const ownMessage =
    ownMessages[code] ??
    (code === 'upstream_failed' ? `The provider failed with status ${status}.` : unexplained);
  return new GatewayError(code, message ?? ownMessage, { ...details, cause: text.slice(0, longestMessage) });
}

type ErrorEvent = EventOf<'error'>;

/** Codes that always blame the request's content. */
const contentCodes = new Set(['context_length_exceeded', 'content_policy_violation']);

/** The event for an error in a stream. `status`: what it would have been before the stream, if known. */
export function buildErrorEvent(family: ErrorFamily, error: VendorError, status = error.status): ErrorEvent {
  const {
    code,
    message,
    details: { vendor: { body = {} } = {} },
  } = explain(family, error, status ?? (contentCodes.has(error.code ?? '') ? 400 : 500));
  return {
    type: 'error',
    message: message ?? 'The provider broke off its reply and gave no reason.',
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(status === undefined ? {} : { status }),
    meaning: code,
    ...(Object.keys(body).length > 0 ? { vendor: { [family]: body } } : {}),
  };
}

/** Errors of one call, which keep the vendor's status. A failure of the vendor gets the gateway's. */
const callErrors: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'context_length_exceeded',
  'content_policy_violation',
  'forbidden',
  'not_found',
  'conflict',
  'body_too_large',
  'rate_limited',
]);
/** Clients read these as errors of their own key, proxy or timeout; 422 means the same as 400. */
const ambiguousStatuses = new Set([401, 402, 407, 408, 422]);

/** The vendor's status, if a client of the vendor's own protocol should see it. */
export function selectClientStatus(
  { code, details: { vendor } }: GatewayError,
  family: ErrorFamily,
): number | undefined {
  const status = vendor?.family === family ? vendor.status : undefined;
  if (status === undefined || status < 400 || status >= 500) return undefined;
  return callErrors.has(code) && !ambiguousStatuses.has(status) ? status : undefined;
}
