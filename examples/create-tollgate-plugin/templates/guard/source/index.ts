/**
 * A guard that stops replies which hold a word of a list. While the list is empty, `when` keeps calls in the
 * verbatim lane, where bodies pass as they were written.
 */
import { definePlugin, GatewayError, type CanonicalEvent } from 'tollgate';
import { z } from 'zod';

const options = z.strictObject({
  /** No word: the guard is off. */
  words: z.array(z.string().min(1)).default([]),
});

async function* stopAtWords(
  events: AsyncIterable<CanonicalEvent>,
  words: readonly string[],
): AsyncGenerator<CanonicalEvent> {
  const longest = Math.max(...words.map(({ length }) => length));
  // A word may be split over two deltas of a block.
  const ends = new Map<number, string>();
  for await (const event of events) {
    if (event.type === 'block-delta') {
      const text = (ends.get(event.block) ?? '') + event.text;
      if (words.some((word) => text.includes(word)))
        throw new GatewayError(
          'content_policy_violation',
          'The reply holds a word that may not leave here.',
          {
            charge: true,
          },
        );
      ends.set(event.block, text.slice(-longest));
    }
    yield event;
  }
}

export const myPlugin = definePlugin({
  name: 'my-plugin',
  options,
  apply({ hooks }, { words }) {
    hooks.transformStream.tap({ name: 'my-plugin', when: () => words.length > 0 }, (events) =>
      stopAtWords(events, words),
    );
  },
});
