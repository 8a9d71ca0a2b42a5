/** Replies as canonical events, and the chunks that a client gets of them. */
import { expect } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { isObject } from '../support/json.ts';
import { makeCall } from './bodies.ts';

export const { client } = protocol;

export interface Chunk {
  readonly choices: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

export function isChunk(value: unknown): value is Chunk {
  return isObject(value) && Array.isArray(value.choices);
}

/** The parsed frames of a stream, without the last one. */
export function encodeChunks(
  events: readonly CanonicalEvent[],
  fields: Record<string, unknown> = {},
): Chunk[] {
  const encoder = client.encodeEvents({
    id: 'k7',
    model: 'openai/gpt-5.5',
    created: 1_790_000_000,
    call: makeCall({ stream: true, ...fields }),
  });
  const frames = events
    .map((event) => encoder.push(event))
    .join('')
    .split('\n\n')
    .filter(Boolean);
  expect(frames.pop()).toBe('data: [DONE]');
  return frames.map((frame) => {
    expect(frame.startsWith('data: ')).toBe(true);
    const chunk: unknown = JSON.parse(frame.slice(6));
    if (!isChunk(chunk)) throw new Error(`no chunk: ${frame}`);
    return chunk;
  });
}

export const encodeDeltas = (events: readonly CanonicalEvent[]): unknown[] =>
  encodeChunks(events).map(({ choices }) => choices[0]?.delta);

export const start: CanonicalEvent = { type: 'response-start' };
export const stop: CanonicalEvent = { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'end' } };
export const end: CanonicalEvent = { type: 'response-end' };
