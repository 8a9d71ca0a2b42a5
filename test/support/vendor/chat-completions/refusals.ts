/**
 * The vendor's refusals, in shapes that real ones have: OpenAI's error body, an aggregator's (with a number
 * as its code and the other vendor's words inside), and the HTML page of a proxy in front.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { WholeReply } from '../delivery.ts';
import type { ReceivedRequest } from '../server.ts';

export interface Complaint {
  readonly message: string;
  readonly param?: string | null;
  readonly code: string | null;
  readonly type?: string;
}

export function buildErrorBody({
  message,
  param = null,
  code,
  type = 'invalid_request_error',
}: Complaint): object {
  return { error: { message, type, param, code } };
}

/** The reply to a request the caller got wrong. */
export function refuse(complaint: Complaint, status = 400): WholeReply {
  return { status, body: buildErrorBody(complaint) };
}

export function refuseModel(model: string): WholeReply {
  return refuse(
    {
      message: `The model \`${model}\` does not exist or you do not have access to it.`,
      code: 'model_not_found',
    },
    404,
  );
}

/** Names the wrong key as the vendor does, by its ends alone. */
function refuseKey(key: string): WholeReply {
  const shown = key.length > 8 ? `${key.slice(0, 3)}${'*'.repeat(key.length - 5)}${key.slice(-2)}` : '***';
  const message = `Incorrect API key provided: ${shown}. You can find your API key in your account settings.`;
  return refuse({ message, code: 'invalid_api_key' }, 401);
}

export function checkKey({ authorization = '' }: IncomingHttpHeaders, key: string): WholeReply | undefined {
  const shown = /^Bearer (\S+)$/.exec(authorization)?.[1];
  if (shown === undefined)
    return refuse(
      { message: "You didn't provide an API key in an Authorization header using Bearer auth.", code: null },
      401,
    );
  return shown === key ? undefined : refuseKey(shown);
}

/** A call goes to one of these paths, by POST. */
export function checkPath(
  { method, path }: Pick<ReceivedRequest, 'method' | 'path'>,
  ...paths: readonly string[]
): WholeReply | undefined {
  if (!paths.includes(path)) return refuse({ message: `Invalid URL (${method} ${path})`, code: null }, 404);
  return method === 'POST'
    ? undefined
    : refuse({ message: `Not allowed to ${method} on ${path}.`, code: 'method_not_supported' }, 405);
}

export function isJsonCall(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(;|$)/.test(headers['content-type'] ?? '');
}

export function refuseOverflow(limit: number, prompt: number): WholeReply {
  const message =
    `This model's maximum context length is ${limit} tokens. ` +
    `However, your messages resulted in ${prompt} tokens.`;
  return refuse({ message, param: 'messages', code: 'context_length_exceeded' });
}

const htmlPage =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n' +
  '<body><h1>502 Bad Gateway</h1></body>\r\n</html>\r\n';

/** Refusals a scenario can return whatever the request says: `{ reply: refusals.rateLimited }`. */
export const refusals = {
  unauthorised: refuseKey('sk-revoked-0000'),
  /** DeepSeek's error for an account without money. */
  outOfMoney: refuse(
    { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' },
    402,
  ),
  forbidden: refuse(
    {
      message: 'Country or region not supported',
      type: 'request_forbidden',
      code: 'unsupported_country_region_territory',
    },
    403,
  ),
  rateLimited: {
    ...refuse(
      {
        message: 'Rate limit reached for requests. Please try again later.',
        type: 'rate_limit_error',
        code: 'rate_limit_exceeded',
      },
      429,
    ),
    headers: { 'retry-after': '2' },
  },
  quotaSpent: refuse(
    { message: 'You exceeded your current quota.', type: 'insufficient_quota', code: 'insufficient_quota' },
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
  policy: refuse({
    message: 'This request was rejected by the safety system.',
    code: 'content_policy_violation',
  }),
  broken: refuse(
    { message: 'The server had an error while processing your request.', type: 'server_error', code: null },
    500,
  ),
  htmlPage: { status: 502, headers: { 'content-type': 'text/html' }, body: htmlPage },
  overloaded: refuse(
    {
      message: 'The engine is currently overloaded, please try again later.',
      type: 'server_error',
      code: 'overloaded',
    },
    503,
  ),
} as const satisfies Record<string, WholeReply>;
