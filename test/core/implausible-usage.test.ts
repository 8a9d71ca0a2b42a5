/** Figures that no model can have used. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeCharge } from '../../core/billing/charge.ts';
import { Tally } from '../../core/billing/reply-progress.ts';
import { worstCost } from '../../core/billing/worst-cost.ts';
import type { Charge, Usage } from '../../core/index.ts';
import { target } from '../balance/targets.ts';
import { routed } from '../support/exchange.ts';

const house = target('house', { input: '1', output: '2', cacheRead: '0.1' });
const exchange = routed(house);

Object.assign(exchange.attempt, { sent: true, phase: 'first-event' });

const bytes = exchange.call.size.textBytes;

/** Charges a completed call whose provider sent this usage, one after the other, and so much text. */
function charged(
  figures: readonly Usage[],
  text = 'hello there',
  outcome: 'completed' | 'aborted' = 'completed',
): Charge {
  const tally = new Tally();
  tally.read({ type: 'block-delta', candidate: 0, block: 0, text });
  for (const usage of figures) tally.read({ type: 'usage', usage });
  return computeCharge(outcome, exchange, tally);
}

const estimate = { input: Math.ceil(bytes / 4), output: 3 };

describe('implausible figures', () => {
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
  ])('estimates and flags implausible figures: %s', (_, figures, usage) => {
    const charge = charged(figures);
    expect(charge).toMatchObject({ usage, basis: 'estimate', suspect: true });
    expect(charge.cost).toBeGreaterThan(0n);
  });

  it('drops the parts of an implausible figure with it', () => {
    expect(charged([{ input: 1e15, cacheRead: 1e15, output: 4 }]).usage).toEqual({
      input: estimate.input,
      output: 4,
    });
  });

  it('flags a part larger than its whole, and prices it as the whole', () => {
    expect(charged([{ input: 5, cacheRead: 50, output: 4 }])).toMatchObject({
      cost: 500n + 8000n,
      suspect: true,
    });
  });

  it('does not accept implausible figures of a call that broke off', () => {
    expect(charged([{ input: 1e15 }], 'hello there', 'aborted')).toMatchObject({
      usage: estimate,
      suspect: true,
    });
  });

  it('estimates missing figures without flagging the call', () => {
    expect(charged([])).toMatchObject({ usage: estimate, basis: 'estimate', suspect: false });
    expect(charged([{ input: 9 }])).toMatchObject({
      usage: { input: 9, output: estimate.output },
      basis: 'estimate',
      suspect: false,
    });
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

describe('arbitrary figures', () => {
  it('charges something, and never more than the model can cost for so many bytes', () => {
    const most = worstCost(
      { input: bytes + 4096, output: house.model.outputLimit + 4096, candidates: 1 },
      house.price,
    );
    fc.assert(
      fc.property(
        fc.array(anyUsage, { maxLength: 4 }),
        fc.constantFrom('completed' as const, 'aborted' as const),
        (figures, outcome) => {
          const { cost } = charged(figures, 'hello there', outcome);
          expect(cost).toBeGreaterThan(0n);
          expect(cost).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 500 },
    );
  });
});
