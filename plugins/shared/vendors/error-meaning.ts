/**
 * Classifies a vendor's error. Only codes and statuses are certain; without them the message decides. Quoted
 * text is removed from the message first: vendors quote the request, and a client must not make an error look
 * like one about our key.
 */
import type { ErrorCode } from '../../../core/index.ts';
import { joinPatterns } from '../wire-kit/join-patterns.ts';
import { readObjects } from '../wire-kit/values.ts';
import { splitNames } from '../wire-kit/vendor-bag.ts';
import type { VendorError } from './errors.ts';

interface ErrorMeaning {
  readonly code: ErrorCode;
  /** The error concerns our key or account, and clients must not see it. */
  readonly isOurs?: boolean;
  /** The same call may succeed at another target. */
  readonly elsewhere?: boolean;
  /** The part of the request that the vendor does not accept, if the call may succeed without it. */
  readonly rejects?: 'reasoning';
}

/** Words of vendors' codes and types by the status that they have, for errors without one. */
const words: Readonly<Record<number, string>> = {
  400: `
    invalid_request invalid_request_error bad_request bad_request_error BadRequestError INVALID_ARGUMENT
    InvalidParameter invalid_parameter_error validation_error FAILED_PRECONDITION context_length_exceeded
    exceed_context_size_error content_policy_violation data_inspection_failed
  `,
  401: `
    authentication_error AuthenticationError invalid_api_key InvalidApiKey invalid_authentication_error
    authorized_error UNAUTHENTICATED
  `,
  402: 'billing_error insufficient_balance insufficient_balance_error insufficient_funds',
  403: 'permission_error permission_denied PermissionDeniedError PERMISSION_DENIED',
  404: 'not_found_error NotFoundError NOT_FOUND resource_not_found_error model_not_found ModelNotFound',
  409: 'conflict_error',
  413: 'request_too_large',
  422: 'unprocessable_entity UnprocessableEntityError',
  429: `
    rate_limit_exceeded rate_limit_error rate_limit_reached_error RateLimitError too_many_requests requests
    tokens insufficient_quota exceeded_current_quota_error RESOURCE_EXHAUSTED Throttling
    Throttling.RateQuota Throttling.AllocationQuota limit_requests limit_burst_rate
  `,
  500: 'api_error',
  503: 'server_is_overloaded engine_overloaded_error service_unavailable ServiceUnavailableError UNAVAILABLE',
  504: 'timeout_error DEADLINE_EXCEEDED',
  529: 'overloaded_error',
};

/** Maps each word in these lists to its status. */
export function mapToStatus(lists: Readonly<Record<number, string>>): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(lists).flatMap(([status, names]) =>
      [...splitNames(names)].map((name): [string, number] => [name, Number(status)]),
    ),
  );
}

const statuses = mapToStatus(words);

/** The HTTP status that an error with this code or type has. */
export function findStatus(word = ''): number | undefined {
  return statuses.get(word);
}

/** About our key or account. Google answers 400 to a wrong key, OpenAI 429 to an empty account. */
const ourCodes = splitNames(`
  ${words[401]} ${words[402]} insufficient_quota exceeded_current_quota_error account_deactivated
  account_suspended billing_not_active billing_hard_limit_reached contract_spend_limit_reached
  organization_restricted unsupported_country_region_territory
`);
/** Reasons in the details of Google's errors for an error about our key or project. */
const ourReasons = /^(API_KEY|CONSUMER|BILLING|SERVICE_DISABLED|ACCESS_TOKEN|ACCOUNT)/;
const ourWords = joinPatterns(
  /(invalid|incorrect|expired|missing) api[ _-]?key/,
  /api[ _-]?key (is )?(not valid|invalid|expired|missing|leaked)/,
  /credit balance is too low|insufficient (balance|credits?|funds)/,
  /reached your specified (api )?usage limits/,
  /organi[sz]ation (has been disabled|must be verified)/,
  /billing (account|is not|not active|hard limit|to be enabled)/,
  /location is not supported/,
  /has not been used in project|project has been denied/,
);

const modelCodes = splitNames(`
  model_not_found invalid_model model_decommissioned model_not_available ModelNotFound DeploymentNotFound
`);
const modelWords = joinPatterns(
  /\bmodels?\b(?:(?!\bmodels?\b)[^.:])*\b(not (exist|found|available)|decommissioned)/,
  /\bmodels?\b(?:(?!\bmodels?\b)[^.:])*\bno longer (available|supported)/,
  /not a valid model|(invalid|unknown) model\b(?! (output|response))|no such model/,
);

/** Vendors' names for things that they keep and that a request refers to. */
const { source: things } = joinPatterns(
  /files?|items?|cached? ?contents?|cached content metadata|vector ?stores?|containers?|conversations?/,
  /prompts?|responses?|skills?|images?|audio|videos?|documents?|attachments?|uploads?|mcp servers?/,
  /storage object/,
);
const { source: missing } = joinPatterns(
  /not found|(?:does|do|did)(?: not|n't) exist|may not exist|no longer (?:exists?|available)/,
  /(?:has |have |is |are )?(?:been )?(?:expired|deleted)/,
);
const aThing = String.raw`\b(?:${things})\b`;
const missingThing = joinPatterns(
  new RegExp(String.raw`${aThing}(?:(?!${aThing})[^.])*\b(?:${missing})`),
  new RegExp(
    String.raw`\b(?:no such|not found:|cannot find|could not find|couldn't find) (?:the )?(?:${things})\b`,
  ),
  new RegExp(String.raw`\bno (?:${things}) (?:found|with)\b`),
);
const { source: facility } = /(?:search|api|upload|input|generation|endpoint)/;
const theThing = String.raw`\b(?:the|this|that|requested) (?:${things})\b(?! ${facility})`;
const access = String.raw`\b(?:permission|access|authorized|allowed)\b`;
const closedThing = joinPatterns(
  new RegExp(String.raw`${access}(?:(?!${access})[^.])*${theThing}`),
  /storage\.objects\.|gs:\/\//,
);
const notReady = /\bfile\b(?:(?!\bfile\b)[^.])*\bis not in an? active state/i;
/** Things of the vendor's own, which the request does not refer to. */
const vendorsOwn = /\b(models?|deployment|endpoint|scopes?|regions?|billing)\b/i;

const policyWords = joinPatterns(
  /violates (our |the )?(usage guidelines|usage polic|content polic)|content filtering policy/,
  /requires moderation and|input was flagged|failed check: safety/,
);
const overflow = joinPatterns(
  /context[ _](length|window|size)|maximum context|(prompt|input) is too long|too many (input )?tokens/,
  /reduce the length of the (messages|prompt)|input token count(?:(?!input token).)*exceeds/,
  /exceeds the maximum number of tokens/,
);
const overflowCodes = new Set(['context_length_exceeded', 'exceed_context_size_error']);
/** One call is larger than our account's quota for a minute (OpenAI, Groq). */
const largerThanQuota = /request too large\b(?:(?!request too)[^])*tokens per/i;
/** OpenRouter has no provider that accepts such a request. */
const noEndpoint = /no endpoints found that support/i;

const quoted = /(?<!\w)'[^']*'(?!\w)|"[^"]*"|`[^`]*`/g;

function isAboutUs(error: VendorError, said: string): boolean {
  const { code = '', type = '' } = error;
  return (
    ourCodes.has(code) ||
    ourCodes.has(type) ||
    readObjects(error.fields.details).some(({ reason = '' }) => ourReasons.test(String(reason))) ||
    ourWords.test(said)
  );
}

/** Whether the error is about a thing that the request refers to: a file, an item, a cache. */
function isAboutThing(status: number | undefined, { message, fields }: VendorError, said: string): boolean {
  // llama.cpp's answer for an unknown path.
  if (message === 'File Not Found' && fields.code === 404) return false;
  if (notReady.test(said)) return true;
  if (vendorsOwn.test(said)) return false;
  return missingThing.test(said) || (status === 403 && closedThing.test(said));
}

function isAboutModel({ code = '', type = '', param = 'model' }: VendorError, said: string): boolean {
  return param === 'model' && (modelCodes.has(code) || modelCodes.has(type) || modelWords.test(said));
}

/** Anthropic and Google have no code for this. */
const badSeal = joinPatterns(
  /invalid `?(signature|data)`? in `?(redacted_)?thinking`?/,
  /(corrupted|invalid) thought[ _]signature|thought[ _]signature is not valid/,
);

/** Whether the vendor rejects the signature or the encryption of earlier reasoning. */
function isAboutSeal({ code, message }: VendorError): boolean {
  return code === 'invalid_encrypted_content' || badSeal.test(message ?? '');
}

const aboutThing: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [403, 'forbidden'],
  [404, 'not_found'],
  [410, 'not_found'],
]);

function classifyContentError(error: VendorError, said: string): ErrorCode {
  const { code = '', type = '' } = error;
  if (overflowCodes.has(code) || overflowCodes.has(type) || overflow.test(error.message ?? ''))
    return 'context_length_exceeded';
  return code === 'content_policy_violation' || policyWords.test(said)
    ? 'content_policy_violation'
    : 'invalid_request';
}

const byStatus: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [404, 'model_not_found'],
  [408, 'timeout'],
  [409, 'conflict'],
  [410, 'model_not_found'],
  [413, 'body_too_large'],
  [429, 'rate_limited'],
  [503, 'upstream_overloaded'],
  [504, 'timeout'],
  [529, 'upstream_overloaded'],
]);

const limited = joinPatterns(/rate[ _-]?limit|too many requests|throttl|concurrency (limit|exceeded)/);
const overloaded = joinPatterns(/overloaded|(at|over|out of) capacity|(server|engine) is (too )?busy/);

/** The status of an error that has none, nor a known word, by its message. */
export function guessStatus({ message = '' }: VendorError): number | undefined {
  const said = message.replace(quoted, '');
  if (overflow.test(said) || policyWords.test(said)) return 400;
  if (limited.test(said)) return 429;
  return overloaded.test(said) ? 503 : undefined;
}

const refused: ErrorMeaning = { code: 'upstream_failed', isOurs: true };

export function classifyError(status: number | undefined, error: VendorError): ErrorMeaning {
  const said = (error.message ?? '').replace(quoted, '');
  if (status === 401 || status === 402) return refused;
  if (
    (status === 403 || status === 400) &&
    (error.code === 'content_policy_violation' || policyWords.test(said))
  )
    return { code: 'content_policy_violation' };
  if (
    status !== undefined &&
    status < 500 &&
    status !== 429 &&
    isAboutThing(status, error, said) &&
    !isAboutUs(error, '')
  ) {
    return { code: aboutThing.get(status) ?? classifyContentError(error, said) };
  }
  if (isAboutUs(error, said)) return refused;
  if (status === 403 || (status === 400 && error.type === 'FAILED_PRECONDITION')) return refused;
  if ((status === 413 || status === 429) && largerThanQuota.test(said))
    return { code: 'body_too_large', elsewhere: true };
  if (status === 404 && noEndpoint.test(said)) return { code: 'unsupported_parameter' };
  if (status === 400 && isAboutSeal(error)) return { code: 'invalid_request', rejects: 'reasoning' };
  if (status === 400 || status === 422)
    return isAboutModel(error, said)
      ? { code: 'model_not_found' }
      : { code: classifyContentError(error, said) };
  // OpenAI could not use a tool server that the request names.
  if (status === 424 && error.param !== undefined) return { code: 'invalid_request' };
  return { code: byStatus.get(status) ?? 'upstream_failed' };
}
