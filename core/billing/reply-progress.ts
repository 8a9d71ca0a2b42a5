/**
 * Keeps count of one reply while it goes by, in either lane: what the vendor says it used, how much was
 * delivered, and whether the reply is whole. Metering and the written settlement policy stand on this alone.
 */
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Usage } from '../canonical/usage.ts';
import { GatewayError, type ErrorCode } from '../errors.ts';
import type { Loss } from '../loss.ts';

const opening: ReadonlySet<string> = new Set(['response-start', 'usage', 'ping']);

/** Whether an event says nothing of a reply but that it is on its way. */
export function isOpening({ type }: CanonicalEvent): boolean {
  return opening.has(type);
}

/** How far a reply has come, and what its vendor has said of its cost so far. */
export type Progress = Readonly<
  Pick<Tally, 'usage' | 'unreadable' | 'deliveredBytes' | 'complete' | 'spoke' | 'images' | 'imagesShown'>
>;

/** The most losses that are listed for one reply: a vendor's stream must not fill the memory with them. */
const mostLosses = 50;

/** Unreadable events that are skipped in one reply; more of them, and the reply is broken. */
const mostUnreadable = 5;

/** Statuses that are about the caller's own content, and what they are called: only then may the vendor's words be shown. */
const callersFault: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [400, 'invalid_request'],
  [413, 'body_too_large'],
  [422, 'invalid_request'],
]);

const nothing: Usage = {};

export class Tally {
  /** The vendor's figures so far. Of each field the last one counts: vendors correct their figures, downwards as well. */
  usage: Usage = nothing;
  /** UTF-8 bytes of text, reasoning and tool arguments. */
  deliveredBytes = 0;
  /** Whether there was a block of text or reasoning: a model wrote it, so it used tokens. */
  spoke = false;
  /** Events that could not be read, and were skipped. */
  unreadable = 0;
  /** Characters that decoders keep to the end of the reply: what tools are called with, and events that said nothing yet. */
  keptLength = 0;
  /** Whether `response-end` came: the reply is complete. */
  complete = false;
  /** What the client's protocol had no place for. */
  readonly losses: Loss[] = [];
  readonly #finished = new Set<number>();
  /** Once there was one: the blocks that are calls of tools, or what comes of them. */
  #calls: Set<number> | undefined;
  /** Once there was a picture: the blocks that hold one, and the candidates that have one, be it still in the making. */
  #pictures: { readonly blocks: Set<number>; readonly candidates: Set<number> } | undefined;

  lost(kind: string, reason: string): void {
    const path = `reply.${kind}`;
    if (this.losses.length < mostLosses && !this.losses.some((loss) => loss.path === path))
      this.losses.push({ path, reason, code: 'reply' });
  }

  /** Whether every candidate has finished, though the stream may go on. */
  hasFinished(candidates: number): boolean {
    return this.#finished.size >= candidates;
  }

  /** Whether the client has had all there was to have, though the vendor's last frame is missing. */
  hasAll(candidates: number): boolean {
    return this.complete || (this.hasFinished(candidates) && this.usage.output !== undefined);
  }

  /** Throws where the vendor broke off with an error of its own. */
  read(event: CanonicalEvent): void {
    if (event.type === 'block-delta') {
      // What a picture is in base64 says nothing of what it costs.
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
    } else if (event.type === 'finish') {
      this.#finished.add(event.candidate);
    } else if (event.type === 'response-end') {
      this.complete = true;
    } else if (event.type === 'error') {
      throw brokenOff(event);
    } else if (event.type === 'unreadable') {
      this.#skip();
    }
  }

  /** Pictures that were delivered. */
  get images(): number {
    return this.#pictures?.blocks.size ?? 0;
  }

  /** The same, with one for each candidate whose picture was only shown in the making. */
  get imagesShown(): number {
    return Math.max(this.images, this.#pictures?.candidates.size ?? 0);
  }

  #skip(): void {
    this.unreadable += 1;
    if (this.unreadable > mostUnreadable)
      throw new GatewayError('upstream_failed', 'The provider sent events that could not be read.');
    this.lost('event', 'the provider sent an event that could not be read');
  }

  #show(candidate: number): { readonly blocks: Set<number> } {
    this.#pictures ??= { blocks: new Set(), candidates: new Set() };
    this.#pictures.candidates.add(candidate);
    return this.#pictures;
  }
}

/** What an error inside a stream is to be called, by the status its vendor tells with it; most tell none. */
const codes: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [429, 'rate_limited'],
  [503, 'upstream_overloaded'],
  [529, 'upstream_overloaded'],
]);

const broke = 'The provider broke off its reply with an error of its own';

function brokenOff({
  message,
  code,
  status,
  meaning,
  vendor,
}: Extract<CanonicalEvent, { type: 'error' }>): GatewayError {
  if (meaning) {
    const [family, body] = Object.entries(vendor ?? {})[0] ?? [];
    const told = meaning === 'upstream_failed' ? (body ? `${broke}: ${message}` : `${broke}.`) : message;
    return new GatewayError(meaning, told, { vendor: { family, code, status, body }, cause: message });
  }
  const details = { vendor: { code }, cause: message };
  if (code === 'context_length_exceeded' || code === 'content_policy_violation')
    return new GatewayError(code, message, details);
  const fault = callersFault.get(status);
  if (fault) return new GatewayError(fault, message, details);
  return new GatewayError(codes.get(status) ?? 'upstream_failed', `${broke}.`, details);
}
