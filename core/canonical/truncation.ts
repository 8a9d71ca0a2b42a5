/**
 * Shortens a conversation that is too long for its model: the oldest exchange goes, from what the user said to right
 * before what the user said next, so that no call of a tool loses its result and no result its call. What instructs
 * the model stays, and so does what was said last.
 */
import type { Loss } from '../loss.ts';
import type { CanonicalRequest, Turn } from './request.ts';

export interface Shortened {
  readonly request: CanonicalRequest;
  /** The turns that are gone, by their places in the request that was passed. */
  readonly losses: readonly Loss[];
}

function instructs({ role }: Turn): boolean {
  return role === 'system' || role === 'developer';
}

/** Whether an exchange begins with it: results of tools come in turns of the user's as well. */
function opens({ role, blocks }: Turn): boolean {
  return role === 'user' && !blocks.some(({ type }) => type === 'tool-result');
}

/** The request without its oldest exchange; undefined where only one is left. */
export function withoutOldestExchange(request: CanonicalRequest): Shortened | undefined {
  const { turns } = request;
  const first = turns.findIndex((turn) => !instructs(turn));
  const next = turns.findIndex((turn, index) => index > first && opens(turn));
  if (first < 0 || next < 0) return undefined;
  const dropped = new Set(turns.flatMap((turn, index) => (index >= first && index < next && !instructs(turn) ? [index] : [])));
  return {
    request: { ...request, turns: turns.filter((_, index) => !dropped.has(index)) },
    losses: [...dropped].map((index) => ({ path: `turns[${index}]`, reason: 'dropped, since the conversation is too long for the model' })),
  };
}
