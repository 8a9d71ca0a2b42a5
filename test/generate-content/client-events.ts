/** Replies as canonical events, and the chunks that a client gets of them. */
import { expect } from 'vitest';
import type { CanonicalEvent, ClientCall } from '../../core/index.ts';
import { makeCall, makeMatch, protocol, showingThoughts } from './bodies.ts';

export const { client } = protocol;
export const start: CanonicalEvent = { type: 'response-start' };
export const end: CanonicalEvent = { type: 'response-end' };

export const stop: CanonicalEvent = {
  type: 'finish',
  candidate: 0,
  reason: { unified: 'stop', raw: 'end_turn' },
};

export const usage: CanonicalEvent = { type: 'usage', usage: { input: 7, output: 5, reasoning: 2 } };

export function encodeFrames(
  events: readonly CanonicalEvent[],
  call: ClientCall = makeCall(showingThoughts, makeMatch(true)),
): string[] {
  const encoder = client.encodeEvents({ id: 'k7', model: 'a/b', created: 1, call });
  return events.map((event) => encoder.push(event));
}

export function encodeChunks(events: readonly CanonicalEvent[], call?: ClientCall): unknown[] {
  const all = encodeFrames(events, call).join('');
  // Each frame is a single data line. Any other line breaks some client.
  expect(all).toMatch(/^(data: [^\r\n]+\r\n\r\n)*$/);
  return all
    .split('\r\n\r\n')
    .filter(Boolean)
    .map((frame): unknown => JSON.parse(frame.slice('data: '.length)));
}
