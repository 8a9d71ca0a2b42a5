/** What is left of a grant that the balance does not cover in full. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeWorstCost } from '../../core/index.ts';
import { narrowGrant, buildBalanceError, listQuotes } from '../../plugins/meters/balance/admission.ts';
import { cheap, grant, lower, buildPlanned } from './sample-grant.ts';
import { target } from './targets.ts';

const dear = target('dear', { input: '1', output: '20' });

describe('a grant', () => {
  it('is unchanged if everything was reserved', () => {
    expect(
      narrowGrant(grant(cheap), buildPlanned(), { status: 'reserved', quote: 0, amount: 2_100_000n }, lower),
    ).toEqual({ targets: [cheap] });
  });

  it('has its limit lowered to what the amount covers', () => {
    expect(
      narrowGrant(grant(cheap), buildPlanned(), { status: 'reserved', quote: 0, amount: 200_000n }, lower),
    ).toEqual({ targets: [cheap], outputLimit: 50 });
    expect(
      narrowGrant(
        grant(cheap),
        buildPlanned({ candidates: 2 }),
        { status: 'reserved', quote: 0, amount: 200_000n },
        lower,
      ),
    ).toEqual({ targets: [cheap], outputLimit: 25 });
  });

  it('is unchanged if everything was reserved and rounding made it cheaper than its parts', () => {
    const tiny = target('tiny', { input: '0', output: '0.0004' });
    const call = buildPlanned({ outputLimit: 31 });
    expect(listQuotes(grant(tiny), call, lower)[0]?.most).toBe(12n);
    expect(narrowGrant(grant(tiny), call, { status: 'reserved', quote: 0, amount: 12n }, lower)).toEqual({
      targets: [tiny],
    });
  });

  it('begins with the target that was affordable', () => {
    const quotes = listQuotes(grant(dear, cheap), buildPlanned(), lower);
    expect(quotes.map(({ least }) => least)).toEqual([420_000n, 132_000n]);
    expect(
      narrowGrant(
        grant(dear, cheap),
        buildPlanned(),
        { status: 'reserved', quote: 1, amount: 200_000n },
        lower,
      ),
    ).toEqual({ targets: [cheap], outputLimit: 50 });
  });

  it('keeps later targets that could cost more than the amount, and its limit holds for them too', () => {
    const alike = target('alike', { input: '1', output: '2' });
    expect(
      narrowGrant(
        grant(cheap, dear, alike),
        buildPlanned(),
        { status: 'reserved', quote: 0, amount: 2_100_000n },
        lower,
      ),
    ).toEqual({ targets: [cheap, dear, alike] });
    expect(
      narrowGrant(
        grant(dear, cheap),
        buildPlanned(),
        { status: 'reserved', quote: 0, amount: 500_000n },
        lower,
      ),
    ).toEqual({ targets: [dear, cheap], outputLimit: 20 });
  });

  const millionths = fc
    .bigInt(0n, 50_000_000_000n)
    .map((nano) => `${nano / 1_000_000_000n}.${(nano % 1_000_000_000n).toString().padStart(9, '0')}`);

  it('never costs more than was reserved, nor gets less than the minimum, whatever the prices', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ input: millionths, output: millionths }), { minLength: 1, maxLength: 4 }),
        fc.record({
          outputLimit: fc.option(fc.integer({ min: 1, max: 3000 }), { nil: undefined }),
          candidates: fc.integer({ min: 1, max: 4 }),
          size: fc.record({ textBytes: fc.nat(5000) }),
        }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (prices, size, share) => {
          const call = buildPlanned(size);
          const before = grant(...prices.map((price, index) => target(`p${index}`, price)));
          const quotes = listQuotes(before, call, lower);
          const index = Math.floor(share * (quotes.length - 1));
          const { least, most } = quotes[index] ?? { least: 0n, most: 0n };
          const amount = least + ((most - least) * BigInt(Math.round(share * 1000))) / 1000n;
          const after = narrowGrant(before, call, { status: 'reserved', quote: index, amount }, lower);
          expect(after.targets).toEqual(before.targets.slice(index));
          // The others are reserved for before they are called.
          for (const { model, price } of after.targets.slice(0, 1)) {
            const output = Math.min(
              after.outputLimit ?? Infinity,
              call.call.outputLimit ?? Infinity,
              model.outputLimit,
            );
            expect(output).toBeGreaterThanOrEqual(Math.min(16, call.call.outputLimit ?? 16));
            expect(
              computeWorstCost(
                { input: call.call.size.textBytes, output, candidates: call.call.candidates },
                price,
              ),
            ).toBeLessThanOrEqual(amount);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('a refusal for lack of balance', () => {
  it('states the least the call could cost, the balance, and how to add to it', () => {
    const quotes = listQuotes(grant(dear, cheap), buildPlanned(), lower);
    const someone = { kind: 'user', account: 'someone', key: 'key-1' } as const;
    const error = buildBalanceError(quotes, someone, { status: 'short', by: 'balance', available: 100_000n });
    expect(error).toMatchObject({ code: 'out_of_balance', status: 402, retry: false });
    expect(error.message).toContain('could cost 0.000132 USD');
    expect(error.message).toContain('has 0.0001 USD besides what running calls reserve');
    expect(error.message).toContain('tollgate credit add someone <usd>');
    expect(
      buildBalanceError(quotes, someone, { status: 'short', by: 'cap', available: 5n }).message,
    ).toContain('the key key-1 has 0.000000005 USD left to spend');
  });
});
