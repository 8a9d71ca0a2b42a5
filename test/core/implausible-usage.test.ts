/** Figures that no model can have used. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeWorstCost } from '../../core/billing/cost-bounds.ts';
import type { Usage } from '../../core/index.ts';
import { bytes, chargeUsage, estimate, inHouse } from './charged.ts';

it.each<[string, Usage[], Partial<Usage>]>([
  ['no input at all', [{ input: 0, output: 4 }], { input: estimate.input, output: 4 }],
  ['no output, and text came', [{ input: 5, output: 0 }], { input: 5, output: estimate.output }],
  ['nothing at all', [{ input: 0, output: 0 }], estimate],
  [
    'more input than bytes',
    [{ input: 9_007_199_254_740_991, output: 4 }],
    { input: estimate.input, output: 4 },
  ],
  [
    'more output than the model can',
    [{ input: 5, output: 9_007_199_254_740_991 }],
    { input: 5, output: estimate.output },
  ],
])('the check of usage estimates and flags implausible figures: %s', (_, figures, usage) => {
  const charge = chargeUsage(figures);
  expect(charge).toMatchObject({ usage, basis: 'estimate', suspect: true });
  expect(charge.cost).toBeGreaterThan(0n);
});

it('the check of usage drops the parts of an implausible figure with it', () => {
  expect(chargeUsage([{ input: 1e15, cacheRead: 1e15, output: 4 }]).usage).toEqual({
    input: estimate.input,
    output: 4,
  });
});

it('the check of usage flags a part larger than its whole, and prices it as the whole', () => {
  expect(chargeUsage([{ input: 5, cacheRead: 50, output: 4 }])).toMatchObject({
    cost: 500n + 8000n,
    suspect: true,
  });
});

it('the check of usage does not accept implausible figures of a call that broke off', () => {
  expect(chargeUsage([{ input: 1e15 }], 'hello there', 'aborted')).toMatchObject({
    usage: estimate,
    suspect: true,
  });
});

it('the check of usage estimates missing figures without flagging the call', () => {
  expect(chargeUsage([])).toMatchObject({ usage: estimate, basis: 'estimate', suspect: false });
  expect(chargeUsage([{ input: 9 }])).toMatchObject({
    usage: { input: 9, output: estimate.output },
    basis: 'estimate',
    suspect: false,
  });
});

const figure = fc.oneof(fc.constant(0), fc.nat(200), fc.nat(10_000), fc.maxSafeNat());

const anyUsage = fc.record(
  {
    input: figure,
    output: figure,
    cacheRead: figure,
    reasoning: figure,
    cacheWrite5m: figure,
    webSearches: figure,
  },
  { requiredKeys: [] },
);

it('any usage charges something, and never more than the model can cost for so many bytes', () => {
  const most = computeWorstCost(
    { input: bytes + 4096, output: inHouse.model.outputLimit + 4096, candidates: 1 },
    inHouse.price,
  );
  fc.assert(
    fc.property(
      fc.array(anyUsage, { maxLength: 4 }),
      fc.constantFrom('completed' as const, 'aborted' as const),
      (figures, outcome) => {
        const { cost } = chargeUsage(figures, 'hello there', outcome);
        expect(cost).toBeGreaterThan(0n);
        expect(cost).toBeLessThanOrEqual(most);
      },
    ),
    { numRuns: 500 },
  );
});
