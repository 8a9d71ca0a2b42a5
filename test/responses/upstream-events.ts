/** Events of a provider's stream, and what they decode to. */
import type { CanonicalEvent } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { checkEvents } from '../contract/events.ts';
import { decodeAll, fold, type Folded } from '../contract/replies.ts';
import { makeCall } from './bodies.ts';

export const { upstream } = protocol;

export function decode(...events: object[]): CanonicalEvent[] {
  const decoded = decodeAll(
    upstream.decodeEvents(makeCall()),
    events.map((event) => ({ event: undefined, data: JSON.stringify(event) })),
  );
  checkEvents(decoded);
  return decoded;
}

export function read(...events: object[]): Folded {
  return fold(decode(...events));
}

export const created = {
  type: 'response.created',
  response: {
    id: 'resp_1',
    model: 'gpt',
    created_at: 5.5,
    status: 'in_progress',
    output: [],
    service_tier: 'flex',
    tools: [],
  },
};

export const complete = (fields: object = {}): object => ({
  type: 'response.completed',
  response: { status: 'completed', output: [], ...fields },
});

export const delta = (text: unknown, place: object = { output_index: 0, content_index: 0 }): object => ({
  type: 'response.output_text.delta',
  ...place,
  delta: text,
});
