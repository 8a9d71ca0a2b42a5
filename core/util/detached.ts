/**
 * A copy of a text. To V8 a part of a long string is a view that keeps the whole in memory: without a copy, a stream
 * whose client is slow would hold several chunks for a few words of them.
 */
export function detached(text: string): string {
  // V8 has to write the longer string out before it can cut it, which makes the copy.
  return `${text} `.slice(0, -1);
}
