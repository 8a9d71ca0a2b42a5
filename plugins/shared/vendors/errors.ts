/**
 * Reads a provider's error, in whatever shape the provider writes it. Its meaning decides what the client
 * sees: the provider's own message, unless the error concerns our key or account.
 */
import { GatewayError, type ErrorCode, type ErrorDetails, type EventOf } from '../../../core/index.ts';
import { parseJson } from '../wire-kit/event-data.ts';
import { readMember } from '../wire-kit/values.ts';
import { isObject, type Fields, splitNames } from '../wire-kit/vendor-bag.ts';
import { classifyError, findStatus, guessStatus, mapToStatus } from './error-meaning.ts';
import { redact, redactFields, omitAdvice } from './redact.ts';

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
  if (Array.isArray(first.detail)) return readDetail(first.detail);
  const place = Array.isArray(first.loc) ? first.loc.filter((part) => part !== 'body').join('.') : undefined;
  return {
    message: place ? `${place}: ${readText(first.msg) ?? 'not accepted'}` : (first.msg ?? first.message),
    ...(place === undefined ? {} : { param: place }),
  };
}

/** Names of the member with the reason, at vendors that have no `message`. */
const messageNames = ['Message', 'msg', 'error_message', 'error_description', 'title'];

/** An error's fields with its reason as `message`. */
function addMessage(fields: Fields): Fields {
  const { message, detail, ...rest } = fields;
  if (typeof message === 'string') return fields;
  // Mistral writes its details into the message, FastAPI and problem details (NVIDIA) beside it.
  const found = readDetail(message ?? detail);
  if (found) return { ...rest, ...found };
  const name = messageNames.find((each) => typeof fields[each] === 'string');
  return name === undefined ? fields : { ...fields, message: fields[name] };
}

/** What MiniMax's codes mean, by status. It writes them into every reply, with status 200; 0 is no error. */
const minimaxCodes: ReadonlyMap<string, number> = mapToStatus({
  400: '1026 1027 1042 2013',
  401: '1004 2049',
  402: '1008',
  // The plan of our key lacks the model.
  404: '2061',
  // The last five are quotas of a plan that is used up; only MiniMax's own command line tells of some.
  429: '1002 1039 1041 1028 1030 2045 2056',
  504: '1001',
});
const minimaxPolicyCodes = splitNames('1026 1027');

function readBaseReply({ status_code: number, status_msg: message }: Fields): Fields {
  const code = minimaxPolicyCodes.has(String(number)) ? 'content_filter' : number;
  return { message, code, status: minimaxCodes.get(String(number)) ?? 500 };
}

function hasFailed(base: unknown): base is Fields {
  return isObject(base) && base.status_code !== 0 && base.status_code !== undefined;
}

/** The first of a list. Google wraps the body of its chat layer in an array, Cloudflare lists its errors. */
function takeFirst(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

/** OpenRouter also puts the error of a provider into the choice that it broke. */
function findChoiceError(choices: unknown): unknown {
  if (!Array.isArray(choices)) return undefined;
  for (const choice of choices) if (isObject(choice) && isGiven(choice.error)) return choice.error;
  return undefined;
}

/** The object with the error's own fields, wherever the vendor puts it. */
function findErrorFields(body: unknown): Fields {
  const whole = takeFirst(body);
  if (!isObject(whole)) return typeof whole === 'string' ? { message: whole } : {};
  const { error, errors, object: _, base_resp: base, sequence_number: _number, ...rest } = whole;
  if (hasFailed(base)) return readBaseReply(base);
  const inner = takeFirst(error) ?? takeFirst(errors) ?? findChoiceError(rest.choices);
  if (isObject(inner)) return addMessage(inner);
  if (typeof inner === 'string') return { ...rest, message: rest.message ?? inner };
  // The type of the event, not of the error.
  const { type, ...others } = rest;
  return addMessage(type === 'error' ? others : rest);
}

/** LiteLLM writes the number as text. */
function readStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

const policyCodes = splitNames(`
  content_policy_violation content_filter moderation_blocked ResponsibleAIPolicyViolation contentFilter
`);

/** Names of the member with an HTTP status. MiniMax writes `http_code`, Azure's gateway `statusCode`. */
const statusNames = ['code', 'status_code', 'statusCode', 'http_code', 'status'];

export function readVendorError(body: unknown): VendorError {
  const fields = findErrorFields(body);
  // Anthropic has a more exact code in `details`.
  const word = readText(fields.code) ?? readText(readMember(fields.details, 'error_code'));
  const code = word !== undefined && policyCodes.has(word) ? 'content_policy_violation' : word;
  const rpcStatus = typeof fields.status === 'string' ? fields.status : undefined;
  const type = readText(fields.type) ?? rpcStatus;
  const stated = statusNames.map((name) => readStatus(fields[name])).find((status) => status !== undefined);
  return {
    message: readText(fields.message),
    type,
    code,
    param: readText(fields.param),
    status: stated ?? findStatus(code) ?? findStatus(type),
    fields,
  };
}

/** Whether a member has a value. Cloudflare sends an empty list where there is no error. */
function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** Members of replies and of their events, of which errors have none. */
const replyNames = ['choices', 'candidates', 'output', 'content', 'data', 'usage', 'usageMetadata'];

/**
 * Whether an event, or a body that came with status 200, is or holds an error. What has a reason where a
 * reply should be is one too.
 */
export function isError(body: unknown, eventName?: string): boolean {
  const whole = takeFirst(body);
  if (!isObject(whole)) return false;
  const { error, errors, object, type, base_resp: base, message, detail, choices } = whole;
  if (eventName === 'error' || object === 'error' || type === 'error') return true;
  if (isGiven(error) || isGiven(errors) || hasFailed(base) || findChoiceError(choices)) return true;
  const hasReason = typeof message === 'string' || isGiven(detail);
  return hasReason && !replyNames.some((name) => isGiven(whole[name]));
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

interface Explanation {
  readonly code: ErrorCode;
  readonly message: string | undefined;
  readonly details: ErrorDetails;
  /** Whether it concerns our key or account. */
  readonly isOurs: boolean;
}

/** The code, message and details of a vendor's error that the client may see. */
function explain(family: string, error: VendorError, status: number | undefined): Explanation {
  const { code, isOurs = false, elsewhere, rejects } = classifyError(status, error);
  // A vendor's error often does not tell a missing model from one that our account may not use.
  if (isOurs || code === 'model_not_found')
    return { code, message: isOurs ? couldNotTake : ownMessages[code], details: {}, isOurs };
  const said = error.message === undefined ? undefined : redact(error.message);
  const message = said !== undefined && aboutLoad.has(code) ? omitAdvice(said) : said;
  const body = error.message === undefined ? {} : redactFields(error.fields);
  // A code that is no word in lower case, such as Google's, adds nothing to the HTTP status.
  const word = error.code !== undefined && /^[a-z]/.test(error.code) ? error.code : undefined;
  const vendor = { family, type: error.type, code: word, status, body };
  return {
    code,
    message,
    details: { param: error.param, vendor, elsewhere, rejects },
    isOurs,
  };
}

/** Text that is no JSON and no page, of three words or more: fewer only name the status. */
const sentence = /^\s*[^\s<{[]+\s+\S+\s+\S/;

/** Reads a reason that is text, not JSON. DeepSeek writes so of a request that it cannot parse. */
function readPlainReason(status: number, text: string): Fields | undefined {
  return (status === 400 || status === 422) && sentence.test(text) ? { message: text.trim() } : undefined;
}

/** Turns a vendor's status and error body into an error that is safe to show to the client. */
export function decodeVendorError(family: string, status: number, text: string): GatewayError {
  const said = readVendorError(parseJson(text) ?? readPlainReason(status, text));
  const { code, message, details } = explain(family, said, status);
  const ownMessage =
    ownMessages[code] ??
    (code === 'upstream_failed' ? `The provider failed with status ${status}.` : unexplained);
  return new GatewayError(code, message ?? ownMessage, { ...details, cause: text.slice(0, longestMessage) });
}

/** Statuses by which vendors refuse a key. 429 can mean missing credit. */
const keyStatuses: ReadonlySet<number | undefined> = new Set([401, 402, 403, 429]);

/**
 * The event for an error in a stream, or in a body that came with status 200. `known`: the status it would
 * have had otherwise.
 */
export function buildErrorEvent(family: string, error: VendorError, known = error.status): EventOf<'error'> {
  const likely = known ?? guessStatus(error);
  const {
    code,
    message,
    details: { vendor: { body = {} } = {} },
    isOurs,
  } = explain(family, error, likely ?? 500);
  // The key then rests, as after a refusal by status.
  const status = isOurs && !keyStatuses.has(likely) ? 401 : likely;
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
/** Clients read these as errors of their own key, proxy or timeout. */
const ambiguousStatuses = new Set([401, 402, 407, 408]);

/**
 * The vendor's status, if the client should see it: one of the vendor's own protocol, or any client if the
 * status means the same in all protocols.
 */
export function selectClientStatus(
  { code, details: { vendor } }: GatewayError,
  family: string,
): number | undefined {
  const status = vendor?.family === family || vendor?.status === 422 ? vendor.status : undefined;
  if (status === undefined || status < 400 || status >= 500) return undefined;
  return callErrors.has(code) && !ambiguousStatuses.has(status) ? status : undefined;
}
