/**
 * A conversation that is too long for its model, where the caller lets it be shortened: the oldest exchanges go, from
 * what the user said to right before what the user said next, so that no call of a tool loses its result and no result
 * its call. What instructs the model stays, and so does the last exchange.
 */
import type { CanonicalRequest, Turn } from '../canonical/request.ts';
import { GatewayError, isGatewayError } from '../errors.ts';
import type { Routed } from '../exchange.ts';
import type { Loss } from '../loss.ts';

export interface Shortened {
  readonly request: CanonicalRequest;
  /** The turns that are gone, as the client wrote them. */
  readonly losses: readonly Loss[];
}

/** How much of the conversation's text is left at most, try by try: how many tokens it is nobody has said. */
const shares = [3 / 4, 1 / 2, 1 / 4] as const;

/**
 * Runs `send` with the whole request, then with less and less of it while its model has no room; three times at most.
 * `whole` stands in for the request where something was left out of it before.
 */
export async function withinContext<Result>(
  exchange: Routed,
  whole: Shortened | undefined,
  send: (shortened?: Shortened) => Promise<Result>,
): Promise<Result> {
  let shortened = whole;
  for (const share of shares) {
    try {
      return await send(shortened);
    } catch (error) {
      const next = isOverflow(error) ? shortenTo(share, whole?.request ?? exchange.canonical()) : undefined;
      if (!next) throw error;
      shortened = whole ? { ...next, losses: [...whole.losses, ...next.losses] } : next;
    }
  }
  return send(shortened);
}

function isOverflow(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'context_length_exceeded';
}

function instructs({ role }: Turn): boolean {
  return role === 'system' || role === 'developer';
}

/** Whether an exchange begins with it: results of tools come in turns of the user's as well. */
function opens({ role, blocks }: Turn): boolean {
  return role === 'user' && !blocks.some(({ type }) => type === 'tool-result');
}

/** The request without its oldest exchanges, at least one, until a share of it is left; undefined where only one is there. */
export function shortenTo(share: number, request: CanonicalRequest): Shortened | undefined {
  const { turns } = request;
  const sizes = turns.map((turn) => JSON.stringify(turn).length);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  const from = firstKept(turns, sizes, whole * share);
  if (from === undefined) return undefined;
  const kept: Turn[] = [];
  const losses: Loss[] = [];
  for (const [index, turn] of turns.entries()) {
    if (index >= from || instructs(turn)) kept.push(turn);
    else losses.push({ path: turn.at ?? `turns[${index}]`, reason: tooLong, code: 'truncated' });
  }
  return { request: { ...request, turns: kept }, losses };
}

const tooLong = 'left out, since the conversation is too long for the model';

/**
 * The first turn of the conversation that stays: the start of the earliest exchange from which no more than `most` is
 * left, or else of the last one. The first exchange never stays; undefined if there is no other. One pass: summing up
 * again for each start would take minutes for a long conversation.
 */
function firstKept(turns: readonly Turn[], sizes: readonly number[], most: number): number | undefined {
  let left = sizes.reduce((sum, size) => sum + size, 0);
  let begun = false;
  let last: number | undefined;
  for (const [index, turn] of turns.entries()) {
    if (instructs(turn)) continue;
    if (begun && opens(turn)) {
      last = index;
      if (left <= most) return index;
    }
    begun = true;
    left -= sizes[index] ?? 0;
  }
  return last;
}

/** No tokeniser in use packs more bytes of text than this into a token, taken over a whole conversation. */
const mostBytesPerToken = 16;

/** Throws `context_length_exceeded` where a call cannot fit into its model, whoever counts; the vendor is then not asked. */
export function checkContext({ call, attempt }: Routed): void {
  const { contextLength, id } = attempt.target.model;
  if (call.size.textBytes <= contextLength * mostBytesPerToken) return;
  throw new GatewayError(
    'context_length_exceeded',
    `The ${call.size.textBytes} bytes of this call are more than fit into the ${contextLength} tokens of "${id}"; send less of the conversation.`,
  );
}
