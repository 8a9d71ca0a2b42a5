/** Finds the terms of a price. It loads no schemas, because the ledger's threads compute costs too. */
import type { Usage } from './canonical/usage.ts';
import type { Price, Terms } from './price.ts';

/**
 * Modes that cost less than the usual one wherever they are served. A price that does not state their rates
 * charges the usual ones.
 */
export const discounts: ReadonlySet<string> = new Set(['flex', 'batch']);

/** The name of a price's own rates, unless it states one. */
export const standard = 'standard';

/** What holds at the time of a rule. A rule that the price lacks, or none, means the price's own rates. */
export function getTerms(price: Price, rule: string | undefined): Terms {
  return price.rules?.find((each) => each.name === rule) ?? price;
}

/**
 * Fees apart from tokens: web searches, file searches, and containers to run code in. A price states what
 * each costs, and usage how many there were.
 */
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

/** A mode by its name in a price, and the request field that asks for it. */
export interface Mode {
  readonly name: string;
  readonly field: string;
  /** The mode as the client wrote it, if prices have another name. */
  readonly word?: string;
  /**
   * True if no reply reports it (for example a tool backed by another model); then it is charged as
   * requested.
   */
  readonly silent?: true;
}

/** The mode of a reply that was served as usual although its call asked for another. */
export const usualMode = 'usual';

/** One kind of use: `units` at `rate` nano-USD, per million if they are tokens. */
export interface CostLine {
  readonly kind: string;
  readonly units: bigint;
  readonly rate: bigint;
  readonly per: bigint;
}
