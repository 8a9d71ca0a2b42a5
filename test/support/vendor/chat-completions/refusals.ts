/**
 * The vendor's refusals, in shapes that real ones have: OpenAI's error body, an aggregator's (with a number
 * as its code and the other vendor's words inside), and the HTML page of a proxy in front.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Json } from '../../json.ts';
import type { WholeReply } from '../delivery.ts';
import { readBody } from '../json-body.ts';
import type { ReceivedRequest } from '../server.ts';
import { Refused } from '../stage.ts';

export const openaiKey = 'sk-vendor-0123456789';

export function buildOpenaiHeaders(id: string): Record<string, string | readonly string[]> {
  return {
    'x-request-id': id,
    'openai-organization': 'org-fake',
    'openai-processing-ms': '12',
    'openai-version': '2020-10-01',
    'openai-project': 'proj_fake',
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '499',
    'x-ratelimit-reset-requests': '120ms',
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '199000',
    'x-ratelimit-reset-tokens': '2ms',
    'set-cookie': ['__cf_bm=fake; path=/; HttpOnly', '_cfuvid=fake; path=/'],
    server: 'cloudflare',
    'cf-ray': '0000000000000000-LHR',
    'cf-cache-status': 'DYNAMIC',
    'alt-svc': 'h3=":443"; ma=86400',
    'strict-transport-security': 'max-age=31536000',
  };
}

export interface Complaint {
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly type?: string;
}

export function complain(
  message: string,
  param: string | null = null,
  code: string | null = null,
  type = 'invalid_request_error',
): Complaint {
  return { message, type, param, code };
}

/** The reply to a request the caller got wrong. */
export function refuse(error: Complaint, status = 400): WholeReply {
  return { status, body: { error } };
}

export function reject(complaint: Complaint, status = 400): never {
  throw new Refused(refuse(complaint, status));
}

/** The object in a body of JSON. */
export function readJson(bytes: Buffer): Json {
  return readBody(bytes, (twice) =>
    refuse(
      twice === undefined
        ? complain('We could not parse the JSON body of your request.')
        : complain(`Duplicate parameter: '${twice}'.`, twice, 'duplicate_parameter'),
    ),
  );
}

export function rejectModel(model: string): never {
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return reject(complain(message, null, 'model_not_found'), 404);
}

/** Names the wrong key as the vendor does, by its ends alone. */
function refuseKey(key: string): WholeReply {
  const shown = key.length > 8 ? `${key.slice(0, 3)}${'*'.repeat(key.length - 5)}${key.slice(-2)}` : '***';
  const message = `Incorrect API key provided: ${shown}. You can find your API key in your account settings.`;
  return refuse(complain(message, null, 'invalid_api_key'), 401);
}

export function checkKey({ authorization = '' }: IncomingHttpHeaders): void {
  const shown = /^Bearer (\S+)$/.exec(authorization)?.[1];
  if (shown === undefined)
    reject(complain("You didn't provide an API key in an Authorization header using Bearer auth."), 401);
  if (shown !== openaiKey) throw new Refused(refuseKey(shown));
}

/** A call goes to one of these paths, by POST. */
export function checkPath({ method, path }: ReceivedRequest, ...paths: readonly string[]): void {
  if (!paths.includes(path)) reject(complain(`Invalid URL (${method} ${path})`), 404);
  if (method !== 'POST')
    reject(complain(`Not allowed to ${method} on ${path}.`, null, 'method_not_supported'), 405);
}

export function isJsonCall(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(;|$)/.test(headers['content-type'] ?? '');
}

export function rejectOverflow(limit: number, prompt: number): never {
  const message =
    `This model's maximum context length is ${limit} tokens. ` +
    `However, your messages resulted in ${prompt} tokens.`;
  return reject(complain(message, 'messages', 'context_length_exceeded'));
}

export const serverError = complain(
  'The server had an error while processing your request.',
  null,
  null,
  'server_error',
);

const htmlPage =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n' +
  '<body><h1>502 Bad Gateway</h1></body>\r\n</html>\r\n';

/** Refusals a scenario can return whatever the request says: `{ reply: refusals.rateLimited }`. */
export const refusals = {
  unauthorised: refuseKey('sk-revoked-0000'),
  /** DeepSeek's error for an account without money. */
  outOfMoney: refuse(complain('Insufficient Balance', null, 'invalid_request_error', 'unknown_error'), 402),
  forbidden: refuse(
    complain(
      'Country or region not supported',
      null,
      'unsupported_country_region_territory',
      'request_forbidden',
    ),
    403,
  ),
  rateLimited: {
    ...refuse(
      complain(
        'Rate limit reached for requests. Please try again later.',
        null,
        'rate_limit_exceeded',
        'rate_limit_error',
      ),
      429,
    ),
    headers: { 'retry-after': '2' },
  },
  quotaSpent: refuse(
    complain('You exceeded your current quota.', null, 'insufficient_quota', 'insufficient_quota'),
    429,
  ),
  /** An aggregator passing on the refusal of the vendor behind it: the code is a number. */
  limitedBehind: {
    status: 429,
    body: {
      error: {
        code: 429,
        message: 'Provider returned error',
        metadata: { raw: 'the model is rate-limited', provider_name: 'Someone' },
      },
      user_id: 'user_0000',
    },
  },
  policy: refuse(
    complain('This request was rejected by the safety system.', null, 'content_policy_violation'),
  ),
  broken: refuse(serverError, 500),
  htmlPage: { status: 502, headers: { 'content-type': 'text/html' }, body: htmlPage },
  overloaded: refuse(
    complain(
      'The engine is currently overloaded, please try again later.',
      null,
      'overloaded',
      'server_error',
    ),
    503,
  ),
} as const satisfies Record<string, WholeReply>;
