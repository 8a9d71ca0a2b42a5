/** What went wrong between us and a vendor, as the caller may know it, and whether another vendor may do better. */
import { GatewayError, toGatewayError, type ErrorCode } from './errors.ts';
import type { Attempt, Routed } from './exchange.ts';
import type { Protocol } from './protocol.ts';
import type { UpstreamRequest, UpstreamResponse } from './provider.ts';
import { readText } from './reply-events.ts';
import { inClientNames, withoutSecrets } from './vendor-names.ts';

const longestErrorBody = 1024 * 1024;

/** A connection that broke is told by why it did: the client's leaving, our deadline, or the vendor. */
export function failureOf(thrown: unknown, { cancellation, attempt }: Routed): GatewayError {
  if (cancellation.cancelled) return cancellation.reason ?? new GatewayError('client_gone', 'The client left before the reply was complete.', { cause: thrown });
  if (attempt.cancellation.cancelled) return new GatewayError('timeout', 'The provider did not begin to answer in time.', { cause: thrown });
  if (codeOf(thrown) === 'UND_ERR_BODY_TIMEOUT') return new GatewayError('timeout', 'The provider fell silent before its reply was complete.', { cause: thrown });
  if (codeOf(thrown) !== undefined) return new GatewayError('upstream_failed', 'The connection to the provider broke before its reply was complete.', { cause: thrown });
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
export async function refusedBy(protocol: Protocol, response: UpstreamResponse, request: UpstreamRequest): Promise<GatewayError> {
  const text = await readText(response, longestErrorBody).catch(() => '');
  const error = protocol.upstream.decodeError(response.status, withoutSecrets(text, request));
  const retryAfter = secondsOf(response.headers['retry-after']);
  return retryAfter === undefined ? error : new GatewayError(error.code, error.message, { ...error.details, retryAfter });
}

/** Seconds: nobody waits longer, and much larger numbers are written with an exponent, which the header does not know. */
const longestWait = 365 * 24 * 3600;

/** `retry-after` is a number of seconds or a date. */
function secondsOf(told: unknown): number | undefined {
  if (typeof told !== 'string' || told === '') return undefined;
  const seconds = /^[\d.]+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, Math.ceil(seconds)), longestWait);
}

/** A request that is wrong is wrong everywhere; all else concerns this vendor, our key there, or its model. */
const othersMayAnswer: ReadonlySet<ErrorCode> = new Set(['upstream_failed', 'upstream_overloaded', 'rate_limited', 'model_not_found', 'timeout', 'unsupported_parameter', 'conflict']);

/** Whether the next target is to be tried after an attempt that failed before the first event of a reply. */
export function fallsBack({ code, details }: GatewayError, { attempt }: Routed): boolean {
  return (details.elsewhere === true || othersMayAnswer.has(code)) && !mayHaveMadeImage(attempt, code);
}

/** An image is dear and made once: where its vendor may be at it still, or have made it, nobody else is asked. */
function mayHaveMadeImage({ target, sent, status }: Attempt, code: ErrorCode): boolean {
  return target.model.output.includes('image') && sent && (status === undefined || status === 200 || code === 'timeout');
}

/** What says only that one target was the wrong one to ask. */
const aboutTarget: ReadonlySet<ErrorCode> = new Set(['unsupported_parameter', 'model_not_found']);

/**
 * The error of a call whose attempts all failed, the last of them with `last`. After several there is nothing left that
 * asking again at once could reach: it is told once, with the soonest time at which one of them may answer.
 */
export function finalError(attempts: readonly Attempt[], last: GatewayError): GatewayError {
  if (attempts.length < 2 || !othersMayAnswer.has(last.code)) return last;
  const failures = attempts.flatMap(({ error }) => (error && !aboutTarget.has(error.code) ? [error] : []));
  const told = failures.at(-1);
  if (!told) return last;
  const times = failures.flatMap(({ details }) => details.retryAfter ?? []);
  const details = { retryAfter: times.length > 0 ? Math.min(...times) : undefined, vendor: told.details.vendor, cause: last };
  if (failures.every(({ code }) => code === 'rate_limited')) return new GatewayError('rate_limited', told.message, details);
  return new GatewayError('upstream_overloaded', `None of the ${attempts.length} providers or keys that were tried could answer.`, { ...details, vendor: undefined });
}
