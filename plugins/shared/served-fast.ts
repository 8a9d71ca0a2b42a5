/**
 * Whether a vendor says that it served a call before others, which has rates of its own: OpenAI by the tier "priority",
 * Anthropic by the speed "fast". One that had no room for it says so, and charges what it always does.
 */
import type { ClientCall, Usage } from '../../core/index.ts';

const words: ReadonlySet<unknown> = new Set(['priority', 'fast']);

/** Whether a request asks for it, in either vendor's word. */
export function asksForFast(asked: unknown): boolean {
  return words.has(asked);
}

/** Passed the vendor's word and the call; what neither speaks of is told nothing of. */
export function servedFast(told: unknown, { fast }: ClientCall): Pick<Usage, 'fast'> {
  if (words.has(told)) return { fast: true };
  return fast && typeof told === 'string' ? { fast: false } : {};
}
