/**
 * Counts one reply as it passes, in either lane: the reported usage, the bytes delivered, and whether the
 * reply is complete. Metering depends on this alone.
 */
import type { CanonicalEvent } from './canonical/events.ts';
import type { Usage } from './canonical/usage.ts';
import type { Loss } from './loss.ts';
import { GatewayError, type ErrorCode } from './util/errors.ts';

const opening: ReadonlySet<string> = new Set(['response-start', 'usage', 'ping']);

/** True if an event only announces a reply. */
export function isOpening({ type }: CanonicalEvent): boolean {
  return opening.has(type);
}

/** Losses listed for one reply at most, so that a stream cannot fill the memory. */
const mostLosses = 50;

/** Unreadable events to skip in one reply; with more, the reply is broken. */
const mostUnreadable = 5;

/** Codes by the status of errors in the caller's own content, whose messages may be shown. */
const callersFault: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [400, 'invalid_request'],
  [413, 'body_too_large'],
  [422, 'invalid_request'],
]);

const nothing: Usage = {};

export class Tally {
  /** The model that answered, by the vendor's own name, if the reply says so. */
  model: string | undefined = undefined;
  /** The usage reported so far. The last value of each field counts: providers correct their figures. */
  usage: Usage = nothing;
  /** UTF-8 bytes of text, reasoning and tool arguments. */
  deliveredBytes = 0;
  /** Whether a text or reasoning block was seen: a model wrote it, so it used tokens. */
  spoke = false;
  unreadable = 0;
  /** Characters that decoders keep to the end: tool arguments, and events without output so far. */
  keptLength = 0;
  /** Whether `response-end` was seen: the reply is complete. */
  complete = false;
  /** Whether a plugin stopped the reply: a tap of `transformStream` threw. */
  stopped = false;
  /** What the client's protocol cannot express. */
  readonly losses: Loss[] = [];
  /** Candidates that have finished. Nearly always there is one, and a set would take 0.2 kB. */
  #firstFinished: number | undefined;
  #otherFinished: Set<number> | undefined;
  /** Blocks that are tool calls or their results; created with the first. */
  #calls: Set<number> | undefined;
  /** Blocks with pictures, and candidates with a finished or partial picture; created with the first. */
  #pictures: { readonly blocks: Set<number>; readonly candidates: Set<number> } | undefined;

  noteLoss(kind: string, reason: string): void {
    const path = `reply.${kind}`;
    if (this.losses.length < mostLosses && !this.losses.some((loss) => loss.path === path))
      this.losses.push({ path, reason, code: 'reply' });
  }

  /** True if every candidate has finished, even if the stream continues. */
  hasFinished(candidates: number): boolean {
    return (this.#firstFinished === undefined ? 0 : 1) + (this.#otherFinished?.size ?? 0) >= candidates;
  }

  /** True if everything was read from the provider, even if the last frame is missing. */
  hasAll(candidates: number): boolean {
    return this.complete || (this.hasFinished(candidates) && this.usage.output !== undefined);
  }

  read(event: CanonicalEvent): void {
    if (event.type === 'block-delta') {
      // The size of a base64 picture says nothing about its cost.
      if (!this.#pictures?.blocks.has(event.block)) this.deliveredBytes += Buffer.byteLength(event.text);
      if (this.#calls?.has(event.block)) this.keptLength += event.text.length;
    } else if (event.type === 'block-start') {
      if (event.kind === 'image') this.#show(event.candidate).blocks.add(event.block);
      else if (event.kind === 'text' || event.kind === 'reasoning') this.spoke = true;
      else (this.#calls ??= new Set()).add(event.block);
    } else if (event.type === 'partial-image') {
      this.#show(event.candidate);
    } else if (event.type === 'usage') {
      this.usage = this.usage === nothing ? event.usage : { ...this.usage, ...event.usage };
    } else if (event.type === 'response-start') {
      this.model = event.model;
    } else if (event.type === 'finish') {
      this.#finish(event.candidate);
    } else if (event.type === 'response-end') {
      this.complete = true;
    } else if (event.type === 'error') {
      throw toStreamError(event);
    } else if (event.type === 'unreadable') {
      this.#skip();
    }
  }

  get images(): number {
    return this.#pictures?.blocks.size ?? 0;
  }

  /** Finished pictures, plus one for each candidate that only had a partial one. */
  get imagesShown(): number {
    return Math.max(this.images, this.#pictures?.candidates.size ?? 0);
  }

  #finish(candidate: number): void {
    this.#firstFinished ??= candidate;
    if (candidate !== this.#firstFinished) (this.#otherFinished ??= new Set()).add(candidate);
  }

  #skip(): void {
    this.unreadable += 1;
    if (this.unreadable > mostUnreadable)
      throw new GatewayError('upstream_failed', 'The provider sent events that could not be read.');
    this.noteLoss('event', 'the provider sent an event that could not be read');
  }

  #show(candidate: number): { readonly blocks: Set<number> } {
    this.#pictures ??= { blocks: new Set(), candidates: new Set() };
    this.#pictures.candidates.add(candidate);
    return this.#pictures;
  }
}

/** Error codes by the status inside a stream error; most have none. */
const codes: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [429, 'rate_limited'],
  [503, 'upstream_overloaded'],
  [529, 'upstream_overloaded'],
]);

const broke = 'The provider broke off its reply with an error';

function toStreamError({
  message,
  code,
  status,
  meaning,
  vendor,
}: Extract<CanonicalEvent, { type: 'error' }>): GatewayError {
  if (meaning) {
    const [family, body] = Object.entries(vendor ?? {})[0] ?? [];
    const failure = body ? `${broke}: ${message}` : `${broke}.`;
    const text = meaning === 'upstream_failed' ? failure : message;
    return new GatewayError(meaning, text, { vendor: { family, code, status, body }, cause: message });
  }
  const details = { vendor: { code }, cause: message };
  if (code === 'context_length_exceeded' || code === 'content_policy_violation')
    return new GatewayError(code, message, details);
  const fault = callersFault.get(status);
  if (fault) return new GatewayError(fault, message, details);
  return new GatewayError(codes.get(status) ?? 'upstream_failed', `${broke}.`, details);
}
