/** What went wrong between us and a vendor, as the caller may know it, and whether another vendor may do better. */
import { readText } from '../crossing/reply-events.ts';
import { GatewayError, toGatewayError, type ErrorCode } from '../errors.ts';
import type { Attempt, Routed, Target } from '../exchange.ts';
import type { UpstreamRequest, UpstreamResponse } from '../provider.ts';
import { inClientNames, withoutSecrets } from './vendor-names.ts';

const longestErrorBody = 1024 * 1024;

/** A connection that broke is told by why it did: the client's leaving, our deadline, or the vendor. */
export function failureOf(thrown: unknown, { cancellation, attempt }: Routed): GatewayError {
  if (cancellation.cancelled)
    return (
      cancellation.reason ??
      new GatewayError('client_gone', 'The client left before the reply was complete.', { cause: thrown })
    );
  if (attempt.cancellation.cancelled)
    return new GatewayError('timeout', 'The provider did not begin to answer in time.', { cause: thrown });
  if (codeOf(thrown) === 'UND_ERR_BODY_TIMEOUT')
    return new GatewayError('timeout', 'The provider fell silent before its reply was complete.', {
      cause: thrown,
    });
  if (codeOf(thrown) !== undefined)
    return new GatewayError(
      'upstream_failed',
      'The connection to the provider broke before its reply was complete.',
      { cause: thrown },
    );
  return inClientNames(toGatewayError(thrown), attempt.target.model);
}

/** Sockets, DNS and undici put a code on their errors, undici's HTTP parser a name alone; the gateway's own carry theirs under a brand. */
function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || thrown.name === 'GatewayError') return undefined;
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return thrown.name === 'HTTPParserError' ? thrown.name : undefined;
}

/** Why there was no output: the client left first, or the vendor failed. A vendor that refused the call, or failed while it was read on for a client that had left, has served nothing. */
export function howFailed({ cancellation, attempt }: Routed): 'failed' | 'left-before-output' {
  const wasRefused = attempt.status !== undefined && attempt.status !== 200;
  return cancellation.left && attempt.cancellation.cancelled && !wasRefused ? 'left-before-output' : 'failed';
}

/** What a vendor's refusal means to the caller; its `retry-after` is kept. Where its body is cut off or too long to read, its status alone counts. */
export async function refusedBy(
  { protocol, model }: Target,
  response: UpstreamResponse,
  request: UpstreamRequest,
): Promise<GatewayError> {
  const text = await readText(response, longestErrorBody).catch(() => '');
  const error = protocol.upstream.decodeError(response.status, withoutSecrets(text, request));
  const retryAfter = retryAfterIn(response.headers);
  // The vendor may call the model by another name than its client does.
  const message =
    error.code === 'model_not_found'
      ? `The provider does not serve the model "${model.id}" at present.`
      : error.message;
  return new GatewayError(error.code, message, {
    ...error.details,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/** Seconds: nobody waits longer, and much larger numbers are written with an exponent, which the header does not know. */
const longestWait = 365 * 24 * 3600;

/** Seconds until the vendor wants the call again. `retry-after-ms` is more exact; `retry-after` is a number of seconds or a date. */
function retryAfterIn(headers: UpstreamResponse['headers']): number | undefined {
  const exact = headers['retry-after-ms'];
  if (typeof exact === 'string' && /^[\d.]+$/.test(exact)) return boundedWait(Number(exact) / 1000);
  const told = headers['retry-after'];
  if (typeof told !== 'string' || told === '') return undefined;
  return boundedWait(/^[\d.]+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000);
}

function boundedWait(seconds: number): number | undefined {
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), longestWait);
}

/** A request that is wrong is wrong everywhere; all else concerns this vendor, our key there, or its model. */
const othersMayAnswer: ReadonlySet<ErrorCode> = new Set([
  'upstream_failed',
  'upstream_overloaded',
  'rate_limited',
  'model_not_found',
  'timeout',
  'unsupported_parameter',
  'conflict',
]);

/** What a failed attempt tells about the next one. */
export type FailureKind =
  /** The request is at fault, or the client left: no other attempt helps. */
  | 'request'
  /** The vendor may have made a picture: nobody may be asked again. */
  | 'picture'
  /** The vendor does not accept the sealed reasoning of earlier turns. */
  | 'seal'
  /** The target takes no call like this one: it refuses the key, lacks the model or a parameter, or a plugin kept the call from it. */
  | 'target'
  /** The key has reached a limit of its vendor's. */
  | 'limit'
  /** The vendor said nothing, or nothing more, until the timeout. */
  | 'silence'
  /** The same call may succeed in a moment. */
  | 'transient';

/** Statuses by which vendors refuse a key. A 429 among them is about missing credit. */
const aboutKey: ReadonlySet<number | undefined> = new Set([401, 402, 403, 429]);

/** What says only that one target was the wrong one to ask. */
const aboutTarget: ReadonlySet<ErrorCode> = new Set(['unsupported_parameter', 'model_not_found']);

export function failureKind({ code, details }: GatewayError, attempt: Attempt): FailureKind {
  const { status, sent } = attempt;
  if (details.rejects === 'reasoning') return 'seal';
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

/** Whether an attempt speaks for its target; undefined where it says nothing about it. */
export function resultOf(attempt: Attempt): boolean | undefined {
  const { error, status, sent } = attempt;
  if (!error) return true;
  if (error.code === 'client_gone') return undefined;
  const kind = failureKind(error, attempt);
  // A vendor that refuses one call for its size takes others.
  if (kind === 'request' || kind === 'seal' || error.details.elsewhere || error.code === 'conflict')
    return status === undefined ? undefined : true;
  return kind === 'target' && !sent && status === undefined ? undefined : false;
}

/** Statuses by which a proxy in front of a vendor says that it does not know what became of the request. */
function isProxyStatus(status: number): boolean {
  return status === 502 || status === 504 || (status >= 520 && status <= 527);
}

/** A picture is paid for each time: where its vendor may still make it, or has made it, the call is not sent again. */
function mayHaveMadeImage({ target, sent, status }: Attempt, code: ErrorCode): boolean {
  return (
    target.model.output.includes('image') &&
    sent &&
    (status === undefined || status === 200 || code === 'timeout' || isProxyStatus(status))
  );
}

/**
 * The error of a call whose attempts all failed. Where one target was asked it is that target's own. `isFinal` tells the
 * client not to send the call again.
 */
export function finalError(attempts: readonly Attempt[], last: GatewayError, isFinal: boolean): GatewayError {
  if (!othersMayAnswer.has(last.code)) return last;
  const asked = new Set(attempts.map(({ target }) => target)).size;
  if (asked < 2)
    return isFinal && last.code !== 'rate_limited'
      ? new GatewayError(last.code, last.message, { ...last.details, isFinal })
      : last;
  const failures = attempts.flatMap(({ error }) => (error && !aboutTarget.has(error.code) ? [error] : []));
  const told = failures.at(-1);
  if (!told) return last;
  const times = failures.flatMap(({ details }) => details.retryAfter ?? []);
  const details = {
    retryAfter: times.length > 0 ? Math.min(...times) : undefined,
    vendor: told.details.vendor,
    cause: last,
  };
  if (failures.every(({ code }) => code === 'rate_limited'))
    return new GatewayError('rate_limited', told.message, details);
  return new GatewayError(
    'upstream_overloaded',
    `None of the ${asked} providers or keys that were tried could answer.`,
    { ...details, vendor: undefined, isFinal },
  );
}
