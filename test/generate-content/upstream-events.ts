/** Chunks of a provider's stream, and what they decode to. */
import type { CanonicalEvent, ClientCall } from '../../core/index.ts';
import { checkEvents } from '../contract/events.ts';
import { fold, type Folded } from '../contract/replies.ts';
import { makeCall, protocol } from './bodies.ts';

export const { upstream } = protocol;
export const own = makeCall();

/** A call of another protocol, with tools that its encoder sent to the vendor. */
export const foreign: ClientCall = {
  ...own,
  decode: () => ({
    ...own.decode(),
    tools: [
      { type: 'custom', name: 'patch' },
      { type: 'function', name: 'f' },
    ],
  }),
};

export function chunk(
  parts: readonly unknown[],
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
    modelVersion: 'gemini',
    responseId: 'r1',
  };
}

export function decode(chunks: readonly unknown[], call: ClientCall = own): CanonicalEvent[] {
  const decoder = upstream.decodeEvents(call);
  const events = [
    ...chunks.flatMap((each) =>
      decoder.push({ event: undefined, data: typeof each === 'string' ? each : JSON.stringify(each) }),
    ),
    ...decoder.end(),
  ];
  checkEvents(events);
  return events;
}

export function decodeChunks(chunks: readonly unknown[], call?: ClientCall): Folded {
  return fold(decode(chunks, call));
}
