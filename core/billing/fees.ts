/**
 * What a vendor charges for apart from tokens where a call lets it work on its own: searches of the web and of files, and
 * containers to run code in. A price names what one of each costs; usage, how many there were.
 */
import type { Usage } from '../canonical/usage.ts';
import type { Price } from '../money.ts';

export type FeeName = 'webSearch' | 'fileSearch' | 'container';

/** What a call lets its vendor charge for: by the name a price has for it, the field that asks for it, and how often at most. */
export interface Fee {
  readonly name: FeeName;
  readonly field: string;
  /** `Infinity` where the call states no limit. */
  readonly most: number;
  /** Whether the call is worth making without it: where its price is not known it is left out and told as lost, and the call is not refused. */
  readonly spared?: boolean;
}

/** How many of each a vendor says there were. */
export const feeCounts = [
  ['webSearch', 'webSearches'],
  ['fileSearch', 'fileSearches'],
  ['container', 'containers'],
] as const satisfies readonly (readonly [FeeName, keyof Usage])[];

/** The first that a call cannot do without and a price does not name. */
export function unpricedFee(fees: readonly Fee[], price: Price): Fee | undefined {
  return fees.find(({ name, most, spared }) => !spared && most > 0 && price[name] === undefined);
}
