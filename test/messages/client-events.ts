/** Replies as canonical events, and the frames that a client gets of them. */
import { expect } from 'vitest';
import type { CanonicalEvent, Opaque } from '../../core/index.ts';
import { readStream } from '../contract/replies.ts';
import { isObject } from '../support/json.ts';
import { makeCall, protocol } from './bodies.ts';

export const { client } = protocol;
export const context = {
  id: 'k7',
  model: 'openai/gpt-5.5',
  created: 1_790_000_000,
  call: makeCall({ thinking: { type: 'adaptive' } }),
};

export function encodeFrames(events: readonly CanonicalEvent[]): string {
  const encoder = client.encodeEvents(context);
  return events.map((event) => encoder.push(event)).join('');
}

/** The events a client reads, each with its name. */
export function writeEvents(events: readonly CanonicalEvent[]): Record<string, unknown>[] {
  return readStream(Buffer.from(encodeFrames(events))).map(({ event, data }) => {
    const body: unknown = JSON.parse(data);
    if (!isObject(body)) throw new Error('no object');
    expect(event).toBe(body.type);
    return body;
  });
}

export const start = (
  block: number,
  kind: 'text' | 'reasoning' | 'refusal' | 'tool-call' | 'image',
  facts: object = {},
): CanonicalEvent => ({ type: 'block-start', candidate: 0, block, kind, ...facts });

export const delta = (block: number, text: string): CanonicalEvent => ({
  type: 'block-delta',
  candidate: 0,
  block,
  text,
});

export const end = (block: number, opaque?: Opaque[]): CanonicalEvent => ({
  type: 'block-end',
  candidate: 0,
  block,
  ...(opaque ? { opaque } : {}),
});

export const finish = (
  unified: 'stop' | 'length' | 'tool-calls' | 'content-filter' = 'stop',
): CanonicalEvent => ({
  type: 'finish',
  candidate: 0,
  reason: { unified, raw: unified },
});

export const last: CanonicalEvent[] = [finish(), { type: 'response-end' }];

export const call = (block: number, id: string): CanonicalEvent =>
  start(block, 'tool-call', { id, name: `look_${id}` });
