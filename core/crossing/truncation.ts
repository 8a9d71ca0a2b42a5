/**
 * Shortens a conversation that is too long for its model, if the client allows it. The oldest exchanges go,
 * each from one user turn to the next, so that calls and results stay together. Instructions and the last
 * exchange stay.
 */
import { getContext } from '../billing/cost-bounds.ts';
import type { CanonicalRequest, Turn, Block } from '../canonical/request.ts';
import type { Routed } from '../exchange.ts';
import type { Loss } from '../loss.ts';
import { GatewayError, isGatewayError } from '../util/errors.ts';
import type { ChangedRequest } from './pieces.ts';

/** The share of the text to keep, try by try. The number of tokens is unknown. */
const shares = [3 / 4, 1 / 2, 1 / 4] as const;

/**
 * Calls `send` with the whole request, then with less of it while the model reports that it is too long,
 * three times at most. `whole` replaces the request if something was left out of it before.
 */
export async function sendWithinContext<Result>(
  exchange: Routed,
  whole: ChangedRequest | undefined,
  send: (shortened?: ChangedRequest) => Promise<Result>,
): Promise<Result> {
  let shortened = whole;
  for (const share of shares) {
    try {
      return await send(shortened);
    } catch (error) {
      const next = isOverflow(error) ? shortenTo(share, whole?.request ?? exchange.getRequest()) : undefined;
      if (!next) throw error;
      shortened = whole ? { ...next, losses: [...whole.losses, ...next.losses] } : next;
    }
  }
  return send(shortened);
}

function isOverflow(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'context_length_exceeded';
}

export function instructs({ role }: Turn): boolean {
  return role === 'system' || role === 'developer';
}

/** True if an exchange begins with this turn. Tool results come in user turns too. */
function opens({ role, blocks }: Turn): boolean {
  return role === 'user' && !blocks.some(({ type }) => type === 'tool-result');
}

/** Removes the oldest exchanges, at least one, until a share is left. Undefined if there is only one. */
export function shortenTo(share: number, request: CanonicalRequest): ChangedRequest | undefined {
  const { turns } = request;
  const sizes = turns.map((turn) => JSON.stringify(turn).length);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  const from = findFirstKept(turns, sizes, whole * share);
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
 * The first turn to keep: the start of the earliest exchange from which at most `most` is left, or the last
 * exchange. The first exchange is never kept; undefined if there is no other. One pass, since a sum for each
 * start would take minutes for a long conversation.
 */
function findFirstKept(turns: readonly Turn[], sizes: readonly number[], most: number): number | undefined {
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

/** No tokeniser in use packs more bytes into a token, on average over a conversation. */
const mostBytesPerToken = 16;

/** Throws `context_length_exceeded` if a call cannot fit into its model by any tokeniser. */
export function checkContext({ call, attempt }: Routed): void {
  const { model } = attempt.target;
  const context = getContext(call, model);
  if (call.size.textBytes <= context * mostBytesPerToken) return;
  const text = `${call.size.textBytes} bytes do not fit into the ${context} tokens of "${model.id}".`;
  throw new GatewayError('context_length_exceeded', `${text} Send less of the conversation.`);
}

/**
 * Removes the reasoning of earlier turns, for a provider that rejects its signatures. A signature is bound
 * to the account, the model or the preceding text, and conversations move or are edited.
 */
const reason = 'left out, since the provider does not accept its signature';

function isSealed(block: Block): boolean {
  return block.type === 'reasoning' || ('opaque' in block && block.opaque !== undefined);
}

/** Removes reasoning, and the signature of other blocks. */
function unseal(block: Block): Block[] {
  if (block.type === 'reasoning') return [];
  if (!('opaque' in block)) return [block];
  const { opaque: _, ...rest } = block;
  return [rest];
}

export function removeReasoning(request: CanonicalRequest): ChangedRequest {
  const losses: Loss[] = [];
  const turns = request.turns.map((turn, index): Turn => {
    const sealed = turn.blocks.flatMap((block, place) =>
      isSealed(block) ? [block.at ?? `turns[${index}].blocks[${place}]`] : [],
    );
    if (sealed.length === 0) return turn;
    for (const path of sealed) losses.push({ path, reason, code: 'state' });
    return { ...turn, blocks: turn.blocks.flatMap(unseal) };
  });
  // A turn that contained only reasoning is dropped.
  return {
    request: {
      ...request,
      turns: turns.filter((turn, index) => turn.blocks.length > 0 || turn === request.turns[index]),
    },
    losses,
  };
}
