/**
 * What calls cost and reserve at rates that change with the time, against a calculation from the text of the
 * price.
 */
import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { computeCharge } from '../../core/billing/charge.ts';
import { boundUse } from '../../core/billing/cost-bounds.ts';
import { computeCost, nameRule } from '../../core/billing/cost.ts';
import { computeAffordableOutput, computeWorstCost } from '../../core/billing/worst-cost.ts';
import { type Price, type Usage } from '../../core/index.ts';
import { PriceSchedule } from '../../core/price-schedule.ts';
import { priceSchema } from '../../core/price.ts';
import { Tally } from '../../core/tally.ts';
import { target } from '../balance/targets.ts';
import { buildRouted } from '../support/exchange.ts';
import { used } from '../support/rates.ts';
import { appliesByHand, hour, limit, minute, moments, times, when } from './rules-by-hand.ts';

interface Rates {
  readonly input: string;
  readonly output: string;
  readonly cacheRead?: string;
  readonly cacheWrite30m?: string;
  readonly cacheWrite12h?: string;
}
interface Terms {
  readonly tiers?: readonly (Rates & { readonly above: number })[];
  readonly modes?: Readonly<Record<string, { readonly times: string }>>;
}
type Rule = {
  readonly name: string;
  readonly from?: string;
  readonly when?: Parameters<typeof appliesByHand>[0]['when'];
} & ({ readonly times: string } | (Rates & Terms));
/** A price in the form with members. */
type Facts = Rates &
  Terms & {
    readonly [member: string]: unknown;
    readonly name?: string;
    readonly request?: string;
    readonly rules?: readonly Rule[];
  };

const usd = fc.nat(40_000).map((cents) => new Decimal(cents).div(1000).toFixed());

const rates = fc.record(
  { input: usd, output: usd, cacheRead: usd, cacheWrite30m: usd, cacheWrite12h: usd },
  { requiredKeys: ['input', 'output'] },
);

const statedPrice: fc.Arbitrary<Facts> = fc
  .record({
    base: rates,
    fee: fc.option(usd, { nil: undefined }),
    long: fc.option(rates, { nil: undefined }),
    flex: fc.option(times, { nil: undefined }),
    rules: fc.array(
      fc.record({ from: limit, when, own: fc.oneof(times, rates) }, { requiredKeys: ['when', 'own'] }),
      { maxLength: 3 },
    ),
  })
  .map(({ base, fee, long, flex, rules }) => {
    const terms = {
      ...(long ? { tiers: [{ above: 1000, ...long }] } : {}),
      ...(flex ? { modes: { flex: { times: flex } } } : {}),
    };
    return {
      ...base,
      ...(fee ? { request: fee } : {}),
      ...terms,
      rules: rules.map(({ own, ...rule }, place): Rule => ({
        ...(rule.from === undefined ? {} : { from: rule.from }),
        when: rule.when,
        name: `rule-${place}`,
        ...(typeof own === 'string' ? { times: own } : { ...own, ...terms }),
      })),
    };
  });

/** USD for a usage at a time, from the text of the price alone. */
function computeByHand(price: Facts, usage: Usage, at: number): Decimal {
  const rule = price.rules?.find(({ from, when: stated }) =>
    appliesByHand({ ...(from ? { from } : {}), when: stated ?? {} }, at),
  );
  const own = rule && 'input' in rule ? rule : price;
  const { input = 0, output = 0, cacheRead = 0, cacheWrite30m = 0, cacheWrite12h = 0 } = usage;
  const tier = own.tiers?.find(({ above }) => input > above);
  const table = tier ?? own;
  const flex = usage.mode === 'flex' ? own.modes?.flex : undefined;
  const scaleRate = (rate: string): Decimal =>
    new Decimal(rate).times(flex?.times ?? '1').times(rule && 'times' in rule ? rule.times : '1');
  let rest = input;
  let sum = new Decimal(0);
  const take = (count: number, rate: string | undefined): void => {
    if (rate === undefined) return;
    const taken = Math.min(count, rest);
    rest -= taken;
    sum = sum.plus(scaleRate(rate).times(taken));
  };
  take(cacheRead, table.cacheRead);
  take(cacheWrite30m, table.cacheWrite30m);
  take(cacheWrite12h, table.cacheWrite12h ?? table.cacheWrite30m);
  sum = sum.plus(scaleRate(table.input).times(rest)).plus(scaleRate(table.output).times(output)).div(1e6);
  return sum
    .plus(price.request ?? 0)
    .times(1e9)
    .toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN);
}

function parseSchedule(facts: Facts, longest = hour): { price: Price; schedule: PriceSchedule } {
  const price = priceSchema.parse(facts);
  return { price, schedule: new PriceSchedule(price.rules ?? [], longest) };
}

describe('the cost at a rule', () => {
  it('is named by the time, the mode and the length that decided it', () => {
    const { price } = parseSchedule({
      name: 'off-peak',
      input: '1',
      output: '2',
      tiers: [{ above: 100, input: '2', output: '4' }],
      modes: { flex: { times: '0.5' } },
      rules: [{ name: 'peak', times: '2' }],
    });
    expect(nameRule(used({ input: 1 }), price)).toBe('off-peak');
    expect(nameRule(used({ input: 101, mode: 'flex', rule: 'peak' }), price)).toBe('peak flex above-100');
    expect(nameRule(used({ input: 101, mode: 'flex', rule: 'peak flex above-100' }), price)).toBe(
      'peak flex above-100',
    );
    expect(nameRule(used({ input: 1, mode: 'batch' }), price)).toBe('off-peak');
    expect(nameRule(used({}), parseSchedule({ input: '1', output: '2' }).price)).toBe('standard');
  });
});

describe('the reservation of a call', () => {
  it('is the most expensive rule of its minutes, and no more', () => {
    let crossed = 0;
    fc.assert(
      fc.property(
        statedPrice,
        moments,
        fc.integer({ min: 1, max: 60 }),
        fc.nat(2000),
        fc.nat(500),
        (facts, now, longest, input, output) => {
          const { price, schedule } = parseSchedule(facts, longest * minute);
          const bound = { input, output, candidates: 1, rules: schedule.listPossibleRules(now) };
          if (bound.rules.length > 1) crossed += 1;
          const reserved = computeWorstCost(bound, price);
          const each = bound.rules.map((rule) => computeWorstCost({ ...bound, rules: [rule] }, price));
          expect(reserved).toBe(each.reduce((most, cost) => (cost > most ? cost : most)));
          for (const place of [0, longest / 2, longest]) {
            const at = now + Math.floor(place * minute);
            expect(
              computeByHand(facts, { input, output }, at).lte(reserved.toString()),
              `at ${new Date(at).toISOString()}`,
            ).toBe(true);
          }
          const limited = computeAffordableOutput(reserved + 1n, bound, price);
          expect(limited).toBeGreaterThanOrEqual(output);
        },
      ),
      { numRuns: 250 },
    );
    expect(crossed).toBeGreaterThan(0);
  });

  it('counts long cache retention only if the call asks for it', () => {
    const { price } = parseSchedule({ input: '1', output: '0', cacheWrite30m: '1.25', cacheWrite12h: '2.5' });
    const bound = { input: 1_000_000, output: 0, candidates: 1 };
    const costs = [{ uncached: true }, { brief: true }, {}].map((asked) =>
      computeWorstCost({ ...bound, ...asked }, price),
    );
    expect(costs).toEqual([1_000_000_000n, 1_250_000_000n, 2_500_000_000n]);
  });
});

describe('a call across an hour at which the price changes', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const facts: Facts = {
    name: 'off-peak',
    input: '1',
    output: '1',
    rules: [{ name: 'peak', when: { zone: 'Asia/Shanghai', hours: ['09:00-12:00'] }, times: '2' }],
  };

  it.each([
    ['end', 'peak', 2_000_000n],
    ['start', 'off-peak', 1_000_000n],
  ] as const)('is billed by its %s if the provider bills that way', (billedAt, rule, cost) => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 23, 0, 59), toFake: ['Date', 'performance'] });
    const { price, schedule } = parseSchedule({ ...facts, billedAt });
    const exchange = buildRouted({ ...target('house', { input: '1', output: '1' }), price, schedule });
    const started = { ...exchange.attempt, sent: true, startedAt: performance.now() };
    const running = { ...exchange, attempt: started };
    const reserved = computeWorstCost(boundUse(running.call, running.attempt.target, 1000), price);
    vi.advanceTimersByTime(2 * minute);
    const tally = new Tally();
    tally.read({ type: 'usage', usage: { input: 500, output: 500 } });
    tally.read({ type: 'response-end' });
    const charge = computeCharge('completed', running, tally);
    expect(charge).toMatchObject({ rule, cost });
    expect(computeCost(charge, price)).toBe(cost);
    expect(reserved).toBeGreaterThanOrEqual(
      computeWorstCost({ ...boundUse(running.call, running.attempt.target, 1000), rules: ['peak'] }, price),
    );
  });
});
