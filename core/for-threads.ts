/**
 * What threads of plugins import in place of `index.ts`, whose packages would take 20 MB of a thread's
 * memory.
 */

export { computeCost } from './billing/cost.ts';
export { kinds, listUses, nameKind } from './canonical/units.ts';
export { restorePrice } from './price-terms.ts';
export { isDecimal } from './util/decimal.ts';
export { formatUsd } from './util/money.ts';
export { readOwnVersion } from './util/own-version.ts';
