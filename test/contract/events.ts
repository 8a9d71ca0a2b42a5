/** Events as every decoder has to give them: in their shape, and in an order that makes sense. */
import { expect } from 'vitest';
import { eventSchema, type CanonicalEvent } from '../../core/index.ts';

/** Every event has its shape, and they come in an order that makes sense. */
export function checkEvents(events: readonly CanonicalEvent[]): void {
  const open = new Set<number>();
  const seen = new Set<number>();
  const finished = new Set<number>();
  for (const event of events) {
    expect(eventSchema.safeParse(event).error?.message).toBeUndefined();
    if (event.type === 'block-start') {
      expect(seen.has(event.block), `block ${event.block} is used twice`).toBe(false);
      seen.add(event.block);
      open.add(event.block);
    }
    if (event.type === 'block-delta')
      expect(open.has(event.block), `block ${event.block} is open`).toBe(true);
    if (event.type === 'block-end')
      expect(open.delete(event.block), `block ${event.block} is open`).toBe(true);
    if (event.type === 'finish') {
      expect(finished.has(event.candidate), `candidate ${event.candidate} finishes twice`).toBe(false);
      finished.add(event.candidate);
    }
  }
  expect([...seen]).toEqual([...seen].map((_, index) => index));
  const ends = events.filter(({ type }) => type === 'response-end' || type === 'error');
  expect(ends.length).toBeLessThanOrEqual(1);
  if (ends.length === 1) expect(events.at(-1)).toBe(ends[0]);
  if (ends[0]?.type === 'response-end') expect([...open]).toEqual([]);
}
