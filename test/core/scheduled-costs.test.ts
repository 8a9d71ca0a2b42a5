/** What calls reserve at rates that change with the time, and the name of the rule that decided a cost. */
import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { computeCharge } from '../../core/billing/charge.ts';
import { boundUse, computeAffordableOutput, computeWorstCost } from '../../core/billing/cost-bounds.ts';
import { computeCost, nameRule } from '../../core/billing/cost.ts';
import type { Price } from '../../core/index.ts';
import { PriceSchedule } from '../../core/price-schedule.ts';
import { priceSchema } from '../../core/price.ts';
import { Tally } from '../../core/tally.ts';
import { target } from '../balance/targets.ts';
import { buildRouted } from '../support/exchange.ts';
import { costOf, used } from '../support/rates.ts';
import { appliesByHand, hour, limit, minute, moments, times, when } from './rules-by-hand.ts';

const usd = fc.nat(40_000).map((cents) => new Decimal(cents).div(1000).toFixed());

const rates = fc.record(
  { input: usd, output: usd, cacheRead: usd, cacheWrite30m: usd, cacheWrite12h: usd },
  { requiredKeys: ['input', 'output'] },
);

const statedPrice = fc
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
      rules: rules.map(({ own, ...rule }, place) => ({
        ...(rule.from === undefined ? {} : { from: rule.from }),
        when: rule.when,
        name: `rule-${place}`,
        ...(typeof own === 'string' ? { times: own } : { ...own, ...terms }),
      })),
    };
  });

function parseSchedule(facts: unknown, longest = hour): { price: Price; schedule: PriceSchedule } {
  const price = priceSchema.parse(facts);
  return { price, schedule: new PriceSchedule(price.rules ?? [], longest) };
}

it('a cost is named by the time, the mode and the length that decided it', () => {
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

it('the reservation of a call is the most expensive rule of its minutes, and no more', () => {
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
          const rule = facts.rules.find((stated) => appliesByHand(stated, at))?.name;
          const cost = costOf({ input, output, ...(rule === undefined ? {} : { rule }) }, price);
          expect(cost, `at ${new Date(at).toISOString()}`).toBeLessThanOrEqual(reserved);
        }
        const limited = computeAffordableOutput(reserved + 1n, bound, price);
        expect(limited).toBeGreaterThanOrEqual(output);
      },
    ),
    { numRuns: 250 },
  );
  expect(crossed).toBeGreaterThan(0);
});

it('the reservation of a call has long cache retention only if the call asks for it', () => {
  const { price } = parseSchedule({ input: '1', output: '0', cacheWrite30m: '1.25', cacheWrite12h: '2.5' });
  const bound = { input: 1_000_000, output: 0, candidates: 1 };
  const costs = [{ uncached: true }, { brief: true }, {}].map((asked) =>
    computeWorstCost({ ...bound, ...asked }, price),
  );
  expect(costs).toEqual([1_000_000_000n, 1_250_000_000n, 2_500_000_000n]);
});

describe('a call across an hour at which the price changes', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const facts = {
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
