/** Answers that a provider was asked for inside an object. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CanonicalEvent } from '../../core/canonical/events.ts';
import { unwrapAnswers } from '../../core/crossing/emulations.ts';

const at = { candidate: 0, block: 0 };

/** What a client is shown of a text that comes in these pieces. */
async function show(pieces: readonly string[], kind: 'text' | 'reasoning' = 'text'): Promise<string> {
  const events: CanonicalEvent[] = [
    { type: 'block-start', ...at, kind },
    ...pieces.map((text): CanonicalEvent => ({ type: 'block-delta', ...at, text })),
    { type: 'block-end', ...at },
  ];
  const batches = (async function* () {
    for (const event of events) yield [event];
  })();
  let shown = '';
  for await (const batch of unwrapAnswers(batches, 'answer'))
    for (const event of batch) if (event.type === 'block-delta') shown += event.text;
  return shown;
}

const chop = (text: string, cuts: readonly number[]): string[] => {
  const places = cuts.map((cut) => cut % (text.length + 1)).toSorted((first, second) => first - second);
  return [...places, text.length].map((end, index) => text.slice(places[index - 1] ?? 0, end));
};

it('an answer in an object is shown without it, whatever it is and however it is cut', () =>
  fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.nat(4), fc.array(fc.nat()), async (value, indent, cuts) => {
      const text = JSON.stringify({ answer: value }, undefined, indent);
      const shown: unknown = JSON.parse(await show(chop(text, cuts)));
      expect(shown).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  ));

it('an answer in an object keeps the blanks and braces of its strings, one character at a time', () =>
  fc.assert(
    fc.asyncProperty(fc.string({ unit: fc.constantFrom('}', '{', ' ', '"', 'a') }), async (value) => {
      expect(JSON.parse(await show([...JSON.stringify({ answer: [value] })]))).toEqual([value]);
    }),
  ));

it.each([['I cannot do that.'], ['{"other":1}'], ['{"answers":[1]}'], ['{'], ['[1]']])(
  'an answer in an object is not taken apart if it is %s',
  async (text) => {
    expect(await show([...text])).toBe(text);
  },
);

it('an answer in an object is shown as far as it came if the provider broke it off', async () => {
  expect(await show(['{"answer":[{"a":1},', '{"a"'])).toBe('[{"a":1},{"a"');
});

it('an answer in an object is only looked for in the text', async () => {
  expect(await show(['{"answer":1}'], 'reasoning')).toBe('{"answer":1}');
});
