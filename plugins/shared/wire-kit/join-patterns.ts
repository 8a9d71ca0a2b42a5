/** Long patterns are written as several short ones: vendors' phrases, a subject a line. */

/** A pattern that matches what any of the patterns matches, in either case. */
export function joinPatterns(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'i');
}
