/** Replies as canonical events, and the stream that a client gets of them. */
import { expect } from 'vitest';
import type { CanonicalEvent } from '../../core/index.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { buildBlock } from '../support/events.ts';
import { isObject } from '../support/json.ts';
import { makeCall } from './bodies.ts';

export const { client } = protocol;
export type Fields = Record<string, unknown>;

/** Parses the events of a stream. Expects `[DONE]` at its end and leaves it out. */
export function parseEvents(frames: string): Fields[] {
  const blocks = frames.split('\n\n').filter(Boolean);
  expect(blocks.pop()).toBe('data: [DONE]');
  return blocks.map((block) => {
    const match = /^event: (\S+)\ndata: (.*)$/.exec(block);
    const data: unknown = JSON.parse(match?.[2] ?? '');
    if (!isObject(data)) throw new Error(block);
    expect(data.type).toBe(match?.[1]);
    return data;
  });
}

export function writeEvents(events: readonly CanonicalEvent[], fields: Fields = {}): Fields[] {
  const encoder = client.encodeEvents({
    id: '0199-ab',
    model: 'openai/gpt-5.5',
    created: 1_790_000_000,
    call: makeCall({ stream: true, ...fields }),
  });
  return parseEvents(events.map((event) => encoder.push(event)).join(''));
}

export const start: CanonicalEvent = { type: 'response-start', id: 'vendor', model: 'vendors-own' };

export const end: CanonicalEvent[] = [
  { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
  { type: 'usage', usage: { input: 7, output: 5, cacheRead: 3, reasoning: 2 } },
  { type: 'response-end' },
];

type Pieces = Parameters<typeof buildBlock>;

export function block(number: number, kind: Pieces[1], ...pieces: string[]): CanonicalEvent[] {
  return buildBlock(number, kind, pieces);
}

export function callTool(
  number: number,
  pieces: string[],
  facts: Pieces[3] = {},
  opaque?: Pieces[4],
): CanonicalEvent[] {
  return buildBlock(number, 'tool-call', pieces, { id: `call_${number}`, name: 'f', ...facts }, opaque);
}

export function listTypes(events: readonly Fields[]): string[] {
  return events.map(({ type }) => String(type).replace(/^response\./, ''));
}

export function getLastResponse(events: readonly Fields[]): Fields {
  const response = events.at(-1)?.response;
  return isObject(response) ? response : {};
}
