/** Finds the terms of a price. It loads no schemas, because the ledger's threads compute costs too. */
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
