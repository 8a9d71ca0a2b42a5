/**
 * Keeps characters whole in translated replies. Some providers cut their deltas between the two halves of a
 * surrogate pair, as in an emoji. Clients in other languages cannot decode half of one, so the first half
 * waits for the second. A half that stays alone becomes U+FFFD.
 */
import type { CanonicalEvent } from '../canonical/events.ts';

const lastHalf = /[\uD800-\uDBFF]$/;

export class CharacterJoiner {
  /** First halves that wait, by their block. */
  readonly #halves = new Map<number, string>();

  /** Whether an event passes as it is. Almost all do, and the answer costs next to nothing. */
  isWhole(event: CanonicalEvent): boolean {
    if (event.type === 'block-delta') return this.#halves.size === 0 && event.text.isWellFormed();
    return event.type !== 'block-end' || this.#halves.size === 0;
  }

  /** The events in place of one that does not pass. */
  join(event: CanonicalEvent): readonly CanonicalEvent[] {
    if (event.type !== 'block-delta' && event.type !== 'block-end') return [event];
    const { candidate, block } = event;
    const half = this.#halves.get(block) ?? '';
    this.#halves.delete(block);
    if (event.type === 'block-end')
      return half === '' ? [event] : [{ type: 'block-delta', candidate, block, text: '\uFFFD' }, event];
    const text = half + event.text;
    const [next] = lastHalf.exec(text) ?? [];
    if (next !== undefined) this.#halves.set(block, next);
    const whole = (next === undefined ? text : text.slice(0, -1)).toWellFormed();
    return whole === '' && event.vendor === undefined ? [] : [{ ...event, text: whole }];
  }
}
