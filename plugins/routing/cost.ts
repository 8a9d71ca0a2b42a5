/**
 * Asks the cheapest target first. The estimate includes the call's length, its output limit, and the share of
 * its input that the target is likely to have cached, learnt from earlier calls.
 */
import {
  definePlugin,
  estimateInput,
  findCount,
  findRate,
  findTier,
  getRate,
  getTerms,
  type ClientCall,
  type End,
  type Parsed,
  type Table,
  type Target,
  type Terms,
  type Unit,
} from '../../core/index.ts';
import { keepThroughReloads } from '../shared/kept.ts';
import { PerTarget } from '../shared/routing/per-target.ts';
import { sortLowestFirst, strategyOptions, tapRanking } from '../shared/routing/ranking.ts';

/** Tokens of output that are expected of a call whose limit is higher. */
const usualOutput = 1000;
/** The weight of the last call in the average. */
const share = 0.1;

/**
 * What is known of a target's prices and usual calls. These are plain numbers: they are only compared, and
 * never charged.
 */
interface Known {
  /** The share of input tokens that were read from the cache. */
  hits: number;
  /**
   * The price that the rates were computed from. If the target has another price, they are computed again.
   */
  price: Terms | undefined;
  rates: Rates;
}

interface Rates {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly request: number;
}

const free: Rates = { input: 0, output: 0, cacheRead: 0, request: 0 };
const million = 1_000_000;

/** USD per million tokens. Without a cache price, cached input costs the full price. */
function toRates(table: Table, terms: Terms): Rates {
  const read = (unit: Unit): number => Number(findRate([table, terms], { unit })?.rate ?? 0);
  const input = read('input');
  return {
    input,
    output: read('output'),
    cacheRead: Number(getRate(table, 'cacheRead') ?? input),
    request: read('request') * million,
  };
}

/** A call long enough for a dearer tier is charged entirely at that tier. */
function selectRates({ price: stated, schedule }: Target, known: Known, input: number): Rates {
  const price = schedule ? getTerms(stated, schedule.findRule(Date.now())) : stated;
  if (known.price !== price) Object.assign(known, { price, rates: toRates(price, price) });
  const longest = findTier(price, input);
  return longest ? toRates(longest, price) : known.rates;
}

function learn(known: PerTarget<Known>, end: End): undefined {
  if (end.type !== 'answered' || end.charge.basis !== 'usage') return;
  const { uses } = end.charge;
  const [input = 0, cacheRead = 0] = [findCount(uses, 'input'), findCount(uses, 'cacheRead')];
  if (input === 0) return;
  const target = known.getEntry(end.exchange.attempt.target);
  target.hits += (Math.min(1, cacheRead / input) - target.hits) * share;
}

/** What the call likely uses besides tokens, such as searches in the documents that it brings. */
function estimateFees({ fees = [] }: ClientCall, { price }: Target): number {
  return fees.reduce((sum, { name: unit, expected = 0 }) => {
    const found = expected === 0 ? undefined : findRate([price], { unit });
    return found ? sum + (expected * Number(found.rate) * million) / found.kind.per : sum;
  }, 0);
}

function estimateCost({ call }: Parsed, target: Target, known: Known): number {
  const { model } = target;
  const input = estimateInput(call, model);
  const output = Math.min(call.outputLimit ?? usualOutput, usualOutput, model.outputLimit) * call.candidates;
  const rates = selectRates(target, known, input);
  const cached = input * known.hits;
  const tokens = (input - cached) * rates.input + cached * rates.cacheRead + output * rates.output;
  return tokens + rates.request + estimateFees(call, target);
}

function createKnown(): Known {
  return { hits: 0, price: undefined, rates: free };
}

export const cost = definePlugin({
  name: 'cost',
  options: strategyOptions,
  apply(host, { byDefault }) {
    const known = keepThroughReloads(host, 'cost', new PerTarget(createKnown));
    tapRanking(host, 'cost', byDefault, (targets, parsed) =>
      sortLowestFirst(targets, (target) => estimateCost(parsed, target, known().getEntry(target))),
    );
    host.hooks.observe.tap('cost', (end) => learn(known(), end));
  },
});
