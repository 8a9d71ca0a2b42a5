import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CharacterJoiner } from '../../core/crossing/reply-events.ts';
import type { CanonicalEvent } from '../../core/index.ts';

const delta = (text: string, block = 0): CanonicalEvent => ({
  type: 'block-delta',
  candidate: 0,
  block,
  text,
});
const end = (block = 0): CanonicalEvent => ({ type: 'block-end', candidate: 0, block });

/** All events as they go on. */
function joinAll(events: readonly CanonicalEvent[]): CanonicalEvent[] {
  const joiner = new CharacterJoiner();
  return events.flatMap((event) => (joiner.isWhole(event) ? [event] : joiner.join(event)));
}

it('a text that is cut anywhere arrives whole, in pieces of whole characters', () => {
  const text = fc.string({ unit: 'binary', maxLength: 20 });
  fc.assert(
    fc.property(text, text, (one, other) => {
      // Two blocks whose deltas alternate, each one UTF-16 unit long.
      const units = [one, other].flatMap((each, block) =>
        each.split('').map((unit, place) => ({ place, event: delta(unit, block) })),
      );
      const cut = units.toSorted((first, second) => first.place - second.place).map(({ event }) => event);
      const joined = joinAll([...cut, end(0), end(1)]);
      const read = (block: number): string =>
        joined
          .map((event) => (event.type === 'block-delta' && event.block === block ? event.text : ''))
          .join('');
      expect([read(0), read(1)]).toEqual([one, other]);
      for (const event of joined)
        if (event.type === 'block-delta') expect(event.text.isWellFormed()).toBe(true);
    }),
  );
});

it('an event without a broken character passes as the same object', () => {
  const events = [delta('a\u{1f600}'), end(), { type: 'ping' } as const];
  const joined = joinAll(events);
  expect(joined.every((event, place) => event === events[place])).toBe(true);
});

it('a half that stays alone becomes a replacement character, and no text is lost', () => {
  expect(joinAll([delta('a\ud83d'), delta('b\ude00c'), delta('\ud83d'), end()])).toEqual([
    delta('a'),
    delta('\ufffdb\ufffdc'),
    delta('\ufffd'),
    end(),
  ]);
});

it('fields of a vendor stay on the delta that had them', () => {
  const vendor = { messages: { x: 1 } };
  expect(joinAll([{ type: 'block-delta', candidate: 0, block: 0, text: '\ud83d', vendor }])).toEqual([
    { type: 'block-delta', candidate: 0, block: 0, text: '', vendor },
  ]);
});
