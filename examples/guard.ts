/**
 * A guard of your own: this one stops a reply that holds a word of a list. The provider bills what it has
 * written, so `charge` lets the caller pay for it; without it a reply is free until some of it was delivered.
 * Every call leaves the verbatim lane, since `when` is always true.
 */
import { definePlugin, GatewayError, type CanonicalEvent } from 'tollgate';
import { z } from 'zod';

const options = z.strictObject({ words: z.array(z.string().min(1)).min(1) });

type Events = AsyncIterable<CanonicalEvent>;

async function* stopAtWords(events: Events, words: readonly string[]): AsyncGenerator<CanonicalEvent> {
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

export const guard = definePlugin({
  name: 'guard',
  options,
  apply({ hooks }, { words }) {
    hooks.transformStream.tap({ name: 'guard', when: () => true }, (events) => stopAtWords(events, words));
  },
});
