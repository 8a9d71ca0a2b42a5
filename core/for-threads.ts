/**
 * What threads of plugins import in place of `index.ts`, whose packages would take 20 MB of a thread's
 * memory.
 */

export { computeCost } from './billing/cost.ts';
export { formatUsd, parseUsd } from './util/money.ts';
export { readOwnVersion } from './util/own-version.ts';
