/** Chunks of a provider's stream, and what they decode to. */
import type { CanonicalEvent, ClientCall } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { decodeAll, fold, type Folded } from '../contract/replies.ts';
import { makeCall } from './bodies.ts';

export const { upstream } = protocol;
export const done = { event: undefined, data: '[DONE]' };

export function choices(...deltas: [delta: object, finish?: string | null, index?: number][]): object {
  return {
    id: 'r1',
    created: 1,
    model: 'm',
    choices: deltas.map(([delta, finish = null, index = 0]) => ({ index, delta, finish_reason: finish })),
  };
}

export function decode(
  chunks: readonly (object | string)[],
  call: ClientCall = makeCall(),
  last = [done],
): CanonicalEvent[] {
  const events = chunks.map((chunk) => ({
    event: undefined,
    data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk),
  }));
  return decodeAll(upstream.decodeEvents(call), [...events, ...last]);
}

export function read(...parameters: Parameters<typeof decode>): Folded {
  return fold(decode(...parameters));
}
