/**
 * Fees apart from tokens: web searches, file searches, and containers to run code in. A price states what
 * each costs, and usage how many there were.
 */
import type { Usage } from '../canonical/usage.ts';

export type FeeName = 'webSearch' | 'previewSearch' | 'fileSearch' | 'container';

/** A fee that a call allows: its name in a price, the request field that asks for it, and the most uses. */
export interface Fee {
  readonly name: FeeName;
  readonly field: string;
  /** `Infinity` if the call states no limit. */
  readonly most: number;
  /**
   * True if the call still makes sense without it. If its price is unknown, it is left out and reported as a
   * loss instead of refusing the call.
   */
  readonly spared?: boolean;
}

/** The usage field that counts each fee. */
export const feeCounts = [
  ['webSearch', 'webSearches'],
  ['previewSearch', 'previewSearches'],
  ['fileSearch', 'fileSearches'],
  ['container', 'containers'],
] as const satisfies readonly (readonly [FeeName, keyof Usage])[];

/** What one use costs. A search by the preview tool costs what others do unless the price says otherwise. */
export function getFee(
  price: Readonly<Partial<Record<FeeName, bigint | undefined>>>,
  name: FeeName,
): bigint | undefined {
  return price[name] ?? (name === 'previewSearch' ? price.webSearch : undefined);
}

/**
 * Counts the searches of a call that offers the preview tool as that tool's. Replies count all searches
 * together.
 */
export function nameSearches(usage: Usage, fees: readonly Fee[] = []): Usage {
  const { webSearches } = usage;
  if (!webSearches || !fees.some(({ name }) => name === 'previewSearch')) return usage;
  return { ...usage, webSearches: undefined, previewSearches: webSearches };
}
