/**
 * Classifies what went wrong with a provider: the error that the client gets, and whether a retry or another
 * target may help.
 */
import { readText } from '../crossing/reply-body.ts';
import type { Attempt, Routed, Target } from '../exchange.ts';
import type { Model } from '../model-facts.ts';
import type { UpstreamRequest, UpstreamResponse } from '../provider.ts';
import { GatewayError, readSystemCode, toGatewayError, type ErrorCode } from '../util/errors.ts';

/** Headers that carry a credential. */
const secretHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];

const shortestSecret = 6;

/** Removes our credentials from an error text, in case the provider echoes them. */
function redactSecrets(text: string, { headers }: UpstreamRequest): string {
  const secrets = secretHeaders.flatMap((name) => headers[name]?.split(' ').at(-1) ?? []);
  return secrets.reduce(
    (redacted, secret) =>
      secret.length < shortestSecret ? redacted : redacted.replaceAll(secret, '[redacted]'),
    text,
  );
}

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** A pattern for the provider's name of a model. A plain word, which may mean anything, counts in quotes. */
function buildPattern({ id, upstream }: Model): RegExp {
  const name = escapePattern(upstream);
  if (/^[a-z]+$/i.test(upstream)) return new RegExp(`(?<=['"\`])${name}(?=['"\`])`, 'g');
  const before = id.endsWith(upstream) ? escapePattern(id.slice(0, -upstream.length)) : '';
  return new RegExp(`(?<![\\w-]${before ? `|${before}` : ''})${name}(?![\\w-]|\\.\\w)`, 'g');
}

function renameModel(error: GatewayError, model: Model): GatewayError {
  const { code, message, details } = error;
  const { vendor } = details;
  if (!vendor || model.upstream === model.id) return error;
  const pattern = buildPattern(model);
  const rename = (text: string): string => text.replace(pattern, () => model.id);
  const body: typeof vendor.body =
    vendor.body &&
    JSON.parse(JSON.stringify(vendor.body), (_name: string, value: unknown) =>
      typeof value === 'string' ? rename(value) : value,
    );
  return new GatewayError(code, rename(message), { ...details, vendor: { ...vendor, body } });
}

/**
 * The error of an attempt. A broken connection is explained by its cause: the client disconnected, our
 * timeout ended it, or the provider failed.
 */
export function toAttemptError(thrown: unknown, { cancellation, attempt }: Routed): GatewayError {
  const explain = (code: ErrorCode, message: string): GatewayError =>
    new GatewayError(code, message, { cause: thrown });
  if (cancellation.cancelled)
    return (
      cancellation.reason ?? explain('client_gone', 'The client disconnected before the reply was complete.')
    );
  if (attempt.cancellation.cancelled)
    return explain('timeout', 'The provider did not begin to answer in time.');
  const code = readSystemCode(thrown);
  if (code === undefined) return renameModel(toGatewayError(thrown), attempt.target.model);
  return code === 'ETIMEDOUT'
    ? explain('timeout', 'The provider stopped sending before its reply was complete.')
    : explain('upstream_failed', 'The connection to the provider broke before its reply was complete.');
}

/**
 * Why an attempt produced no output: `left-before-output` if the client disconnected while the provider was
 * working, otherwise `failed`. A provider that refused the call has failed even if the client had
 * disconnected.
 */
export function classifyNoOutput({ cancellation, attempt }: Routed): 'failed' | 'left-before-output' {
  const wasRefused = attempt.status !== undefined && attempt.status !== 200;
  return cancellation.clientLeft && attempt.cancellation.cancelled && !wasRefused
    ? 'left-before-output'
    : 'failed';
}

/** Decodes an error reply, with its `retry-after`. If the body is cut or too long, the status counts. */
export async function decodeRefusal(
  { protocol, model }: Target,
  response: UpstreamResponse,
  request: UpstreamRequest,
): Promise<GatewayError> {
  const text = await readText(response).catch(() => '');
  const error = protocol.upstream.decodeError(response.status, redactSecrets(text, request));
  const retryAfter = readRetryAfter(response);
  // The provider may know the model by another name than the client.
  const message =
    error.code === 'model_not_found'
      ? `The provider does not serve the model "${model.id}" at present.`
      : error.message;
  return new GatewayError(error.code, message, {
    ...error.details,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/** Seconds. Much larger numbers would print with an exponent, which the header does not allow. */
const longestWait = 365 * 24 * 3600;

/** Limits whose rest, and the time until they reset, providers state in headers. */
const limits = ['requests', 'tokens'] as const;

/**
 * Seconds until the provider accepts the call again. `retry-after-ms` is more exact. Without `retry-after`, a
 * rate limit of which nothing is left says when it resets.
 */
function readRetryAfter({ status, headers }: UpstreamResponse): number | undefined {
  const exact = headers['retry-after-ms'];
  if (typeof exact === 'string' && /^[\d.]+$/.test(exact)) return boundWait(Number(exact) / 1000);
  const stated = readWait(headers['retry-after']);
  if (stated !== undefined || status !== 429) return stated;
  const used = limits.filter((limit) => (headers[`x-ratelimit-remaining-${limit}`] ?? '0') === '0');
  const waits = used.flatMap((limit) => readWait(headers[`x-ratelimit-reset-${limit}`]) ?? []);
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

const secondsOf: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };
const durationPart = /(\d{1,9}(?:\.\d{1,9})?)(ms|[smhd])/g;
const duration = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd])){1,5}$/;

/** Reads seconds (`20`), a duration (`20s`, `6m0s`) or a date. */
function readWait(stated: string | readonly string[] | undefined): number | undefined {
  if (typeof stated !== 'string' || stated === '') return undefined;
  if (/^[\d.]+$/.test(stated)) return boundWait(Number(stated));
  if (!duration.test(stated)) return boundWait((Date.parse(stated) - Date.now()) / 1000);
  const parts = [...stated.matchAll(durationPart)];
  return boundWait(
    parts.reduce((sum, [, count, unit = 's']) => sum + Number(count) * (secondsOf[unit] ?? 1), 0),
  );
}

function boundWait(seconds: number): number | undefined {
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), longestWait);
}

/**
 * Errors that another target may not have: they concern this provider, our key there, or its model. An
 * invalid request is invalid everywhere.
 */
const othersMayAnswer: ReadonlySet<ErrorCode> = new Set([
  'upstream_failed',
  'upstream_overloaded',
  'rate_limited',
  'model_not_found',
  'timeout',
  'unsupported_parameter',
  'conflict',
]);

/** What a failed attempt means for the next one. */
export type FailureKind =
  /** The request is at fault, or the client disconnected: no other attempt helps. */
  | 'request'
  /** The conversation is too long for this model; another one may have a larger context. */
  | 'overflow'
  /** The provider may have produced a picture, which costs money: no further attempt. */
  | 'picture'
  /** The provider does not accept the signed reasoning of earlier turns. */
  | 'seal'
  /** It refuses the key, lacks the model or a parameter, or a plugin blocked the call. */
  | 'target'
  /** The key has reached a rate limit of its provider. */
  | 'limit'
  /** The provider sent nothing, or nothing more, until the timeout. */
  | 'silence'
  /** The same call may succeed in a moment. */
  | 'transient';

/** Statuses by which providers refuse a key. Of these, 429 means missing credit. */
const aboutKey: ReadonlySet<number | undefined> = new Set([401, 402, 403, 429]);

/** Errors that only mean that this target was the wrong one. */
const aboutTarget: ReadonlySet<ErrorCode> = new Set(['unsupported_parameter', 'model_not_found']);

/** The status by which the provider refused the call, if need be that of an error inside a reply with 200. */
function readRefusedStatus({ details }: GatewayError, { status }: Attempt): number | undefined {
  return status === 200 ? (details.vendor?.status ?? status) : status;
}

/** Whether another key may help. Some vendors refuse a wrong key with 400. */
export function isKeyRefused({ code }: GatewayError, { status }: UpstreamResponse): boolean {
  return status === 401 || (status === 400 && code === 'upstream_failed');
}

export function classifyFailure(error: GatewayError, attempt: Attempt): FailureKind {
  const { code, details } = error;
  const { sent } = attempt;
  const status = readRefusedStatus(error, attempt);
  if (details.rejects === 'reasoning') return 'seal';
  if (code === 'context_length_exceeded') return 'overflow';
  if (!othersMayAnswer.has(code) && !details.elsewhere) return 'request';
  if (mayHaveMadeImage(attempt, code)) return 'picture';
  const wasAsked = sent || status !== undefined;
  if (
    details.elsewhere ||
    aboutTarget.has(code) ||
    (code !== 'rate_limited' && aboutKey.has(status)) ||
    (status === 400 && code === 'upstream_failed')
  )
    return 'target';
  if (!wasAsked && (code === 'rate_limited' || code === 'upstream_overloaded')) return 'target';
  if (code === 'rate_limited') return 'limit';
  return code === 'timeout' && (status === undefined || status === 200) ? 'silence' : 'transient';
}

/** Failures for which the call is at fault. */
const aboutCall: ReadonlySet<FailureKind> = new Set(['request', 'overflow', 'seal']);

/** Whether an attempt shows its target to be working; undefined if it shows nothing. */
export function judgeAttempt(attempt: Attempt): boolean | undefined {
  const { error, status, sent } = attempt;
  if (!error) return true;
  if (error.code === 'client_gone') return undefined;
  const kind = classifyFailure(error, attempt);
  // A provider that refuses one call for its size accepts others.
  if (aboutCall.has(kind) || error.details.elsewhere || error.code === 'conflict')
    return status === undefined ? undefined : true;
  return kind === 'target' && !sent && status === undefined ? undefined : false;
}

/** Statuses by which a proxy in front of a provider reports that it lost the request. */
function isProxyStatus(status: number): boolean {
  return status === 502 || status === 504 || (status >= 520 && status <= 527);
}

/** Every picture costs money. If the provider may have produced one, the call is not sent again. */
function mayHaveMadeImage({ target, sent, status }: Attempt, code: ErrorCode): boolean {
  return (
    target.model.output.includes('image') &&
    sent &&
    (status === undefined || status === 200 || code === 'timeout' || isProxyStatus(status))
  );
}

export interface Skipped {
  readonly target: Target;
  readonly error: GatewayError;
}

/**
 * The error of a call whose attempts all failed. `isFinal` asks the client not to retry. Targets that were
 * skipped are named, since the caller may have asked for them.
 */
export function buildFinalError(
  attempts: readonly Attempt[],
  last: GatewayError,
  isFinal: boolean,
  skipped: readonly Skipped[] = [],
): GatewayError {
  const error = mergeErrors(attempts, last, isFinal);
  if (skipped.length === 0) return error;
  const reasons = skipped.map(
    ({ target, error }) => ` ${target.model.id} of ${target.provider.name} was skipped. ${error.message}`,
  );
  return new GatewayError(error.code, error.message + reasons.join(''), error.details);
}

/** The error of the target if only one was tried. */
function mergeErrors(attempts: readonly Attempt[], last: GatewayError, isFinal: boolean): GatewayError {
  if (!othersMayAnswer.has(last.code)) return last;
  const asked = new Set(attempts.map(({ target }) => target)).size;
  if (asked < 2)
    return isFinal && last.code !== 'rate_limited'
      ? new GatewayError(last.code, last.message, { ...last.details, isFinal })
      : last;
  const failures = attempts.flatMap(({ error }) => (error && !aboutTarget.has(error.code) ? [error] : []));
  const latest = failures.at(-1);
  if (!latest) return last;
  const times = failures.flatMap(({ details }) => details.retryAfter ?? []);
  const details = {
    retryAfter: times.length > 0 ? Math.min(...times) : undefined,
    vendor: latest.details.vendor,
    cause: last,
  };
  if (failures.every(({ code }) => code === 'rate_limited'))
    return new GatewayError('rate_limited', latest.message, details);
  return new GatewayError('upstream_overloaded', `All ${asked} providers or keys that were tried failed.`, {
    ...details,
    vendor: undefined,
    isFinal,
  });
}
