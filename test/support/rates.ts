/** Prices and usage by the names of their kinds, as tests state and compare them. */
import { expect } from 'vitest';
import { computeCost } from '../../core/billing/cost.ts';
import {
  findKind,
  listUses,
  nameCounts,
  parseUsd,
  storePrice,
  toUsed,
  type Charge,
  type Price,
  type Usage,
  type Used,
} from '../../core/index.ts';

interface Rates {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead?: bigint;
  readonly cacheWrite5m?: bigint;
  readonly cacheWrite30m?: bigint;
  readonly inputAudio?: bigint;
  readonly outputAudio?: bigint;
  readonly outputImage?: bigint;
  readonly request?: bigint;
  readonly webSearch?: bigint;
  readonly previewSearch?: bigint;
  readonly search?: bigint;
}

interface NamedRates extends Rates {
  readonly name?: string;
  readonly tiers: readonly (Rates & { readonly above: number })[];
  readonly modes?: Readonly<Record<string, Rates>>;
  readonly rules?: readonly NamedRates[];
}

/** A price with a member for each rate, in nano-USD. */
export function nameRates(price: Price): NamedRates {
  return JSON.parse(JSON.stringify(storePrice(price)), (name, value: unknown) =>
    findKind(name) && typeof value === 'string' ? parseUsd(value) : value,
  );
}

/** A usage as billing has it. `rule` names the rule of its time. */
export function used({ rule, ...usage }: Usage & { readonly rule?: string }): Used {
  return { ...toUsed(usage), rule };
}

/** What a usage costs. */
export function costOf(usage: Usage & { readonly rule?: string }, price: Price): bigint {
  return computeCost(used(usage), price);
}

/** Matches what was used, if it has these counts. */
export function withCounts(counts: Usage): unknown {
  return expect.arrayContaining(listUses(counts));
}

/** A charge with its counts by their names. */
export function nameUsage({ uses, mode, ...charge }: Charge) {
  return { ...charge, usage: { ...nameCounts(uses), ...(mode === undefined ? {} : { mode }) } };
}
