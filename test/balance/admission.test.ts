/** What the gateway quotes a call at, and how it narrows the grant once an amount is reserved. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PriceSchedule } from '../../core/billing/price-schedule.ts';
import { costOf, worstCost, type Grant, type Planned, type Target } from '../../core/index.ts';
import { narrow, outOfBalance, quotesFor, type Policy } from '../../plugins/meters/balance/admission.ts';
import { presumed } from '../../plugins/meters/balance/decisions.ts';
import { routed } from '../support/exchange.ts';
import { target } from './targets.ts';

const lower: Policy = { whenShort: 'lower', leastOutput: 16, reserve: 'first' };
/** A dollar a million tokens is 1000 nano-USD a token. */
const cheap = target('cheap', { input: '1', output: '2' });
const dear = target('dear', { input: '1', output: '20' });

interface Size {
  readonly searches?: number;
  readonly outputLimit?: number | undefined;
  readonly candidates?: number;
  readonly size?: Partial<Planned['call']['size']>;
}

function planned({ outputLimit, candidates = 1, searches = 0, size }: Size = {}): Planned {
  const exchange = routed(cheap);
  return {
    ...exchange,
    call: {
      ...exchange.call,
      outputLimit,
      candidates,
      fees: [{ name: 'webSearch', field: 'tools[0].type', most: searches }],
      size: { textBytes: 100, images: 0, mediaBytes: 0, ...size },
    },
  };
}

function grant(...targets: Target[]): Grant {
  return { targets };
}

describe('a quote', () => {
  it('is the most the call can cost: a token for each byte, and the whole output', () => {
    expect(quotesFor(grant(cheap), planned({ outputLimit: 50 }), lower)).toEqual([
      {
        model: 'house/model',
        provider: 'cheap',
        price: expect.stringMatching(/^[0-9a-f]{12}$/),
        least: 100_000n + 16n * 2000n,
        most: 100_000n + 50n * 2000n,
        input: 25,
        owed: 25_000n,
      },
    ]);
  });

  it("takes the model's own limit if the client states none or a larger one", () => {
    const most = 100_000n + 1000n * 2000n;
    expect(quotesFor(grant(cheap), planned(), lower)[0]?.most).toBe(most);
    expect(quotesFor(grant(cheap), planned({ outputLimit: 5000 }), lower)[0]?.most).toBe(most);
  });

  it("counts each candidate, each image by the catalogue's rule, and media by its bytes", () => {
    const pictured = target('cheap', { input: '1', output: '2' }, { capabilities: { imageTokens: 300 } });
    const [quoted] = quotesFor(
      grant(pictured),
      planned({ outputLimit: 10, candidates: 3, size: { images: 2, mediaBytes: 50 } }),
      lower,
    );
    expect(quoted?.most).toBe((100n + 600n + 50n) * 1000n + 30n * 2000n);
  });

  it.each([
    ['as many as the caller allows', 3, 3n],
    ['ten where the caller states no limit', Infinity, 10n],
    ['none below zero', -5, 0n],
    ['a thousand where the caller allows more', 1e300, 1000n],
  ])('covers searches, and what they find: %s', (_, searches, count) => {
    const searching = target(
      'cheap',
      { input: '1', output: '2', webSearch: '0.01' },
      { contextLength: 60_100 },
    );
    const found = count * 10_000n < 60_000n ? count * 10_000n : 60_000n;
    const most = 100_000n + found * 1000n + count * 10_000_000n + 50n * 2000n;
    expect(quotesFor(grant(searching), planned({ outputLimit: 50, searches }), lower)[0]).toMatchObject({
      most,
      owed: 25_000n,
    });
    expect(
      narrow(
        grant(searching),
        planned({ outputLimit: 50, searches }),
        { status: 'reserved', quote: 0, amount: most - 40n * 2000n },
        lower,
      ).outputLimit,
    ).toBe(16);
  });

  const readings = (
    searches: number,
    rounds: number,
    caching: 'marked' | 'automatic' = 'marked',
  ): bigint | undefined => {
    const searching = target(
      'cheap',
      { input: '1', output: '2', cacheRead: '0.1', webSearch: '0' },
      { contextLength: 60_100 },
    );
    const { protocol } = searching;
    const reading = { ...searching, protocol: { ...protocol, upstream: { ...protocol.upstream, caching } } };
    return quotesFor(grant(reading), planned({ outputLimit: 1, searches, size: { rounds } }), lower)[0]?.most;
  };

  it('covers all readings of a conversation that grows with each search', () => {
    // 100, 10,100, 20,100 and 30,100 tokens.
    expect(readings(3, 3)).toBe(60_400n * 1000n + 2000n);
    expect(readings(Infinity, Infinity)).toBe(
      (100n + 10_100n + 20_100n + 30_100n + 40_100n + 50_100n + 5n * 60_100n) * 1000n + 2000n,
    );
  });

  it('covers those readings at the price of cached tokens if the provider caches the conversation', () => {
    expect(readings(3, 3, 'automatic')).toBe(30_100n * 1000n + 30_300n * 100n + 2000n);
  });

  it('covers a conversation that is read again after code ran', () => {
    expect(readings(0, 2)).toBe((100n + 2100n + 4100n) * 1000n + 2000n);
  });

  it('covers a cache that the call names, at the price of cached tokens', () => {
    const quoted = (price: { readonly cacheRead?: string }): bigint | undefined =>
      quotesFor(
        grant(target('cheap', { input: '1', output: '2', ...price })),
        planned({ outputLimit: 1, size: { cached: true } }),
        lower,
      )[0]?.most;
    expect(quoted({ cacheRead: '0.1' })).toBe(100n * 1000n + 99_900n * 100n + 2000n);
    expect(quoted({})).toBe(100_000n * 1000n + 2000n);
  });

  it.each([
    [100, 100n * 1000n + 50n * 2000n],
    [101, 101n * 3000n + 50n * 4000n],
  ])('takes the rates for long input only if %i bytes can reach them', (textBytes, most) => {
    const tiered = target('tiered', {
      input: '1',
      output: '2',
      tiers: [{ above: 100, input: '3', output: '4' }],
    });
    expect(quotesFor(grant(tiered), planned({ outputLimit: 50, size: { textBytes } }), lower)[0]?.most).toBe(
      most,
    );
  });

  it('covers cache writes unless the call marks nothing and the provider caches only what is marked', () => {
    const writing = target('cheap', { input: '1', output: '2', cacheWrite1h: '2' });
    const marked = {
      ...writing,
      protocol: {
        ...writing.protocol,
        upstream: { ...writing.protocol.upstream, caching: 'marked' as const },
      },
    };
    const quoted = (to: Target, uncached: boolean): bigint | undefined =>
      quotesFor(grant(to), planned({ outputLimit: 1, size: { uncached } }), lower)[0]?.most;
    expect([quoted(marked, true), quoted(marked, false), quoted(writing, true)]).toEqual([
      102_000n,
      202_000n,
      202_000n,
    ]);
  });

  it('keeps a limit that an earlier plugin granted', () => {
    expect(quotesFor({ targets: [cheap], outputLimit: 20 }, planned(), lower)[0]?.most).toBe(
      100_000n + 20n * 2000n,
    );
  });

  it('asks no more than the client if that is below the minimum', () => {
    expect(quotesFor(grant(cheap), planned({ outputLimit: 3 }), lower)[0]).toMatchObject({
      least: 106_000n,
      most: 106_000n,
    });
  });

  it('presumes that a call with an unknown end costs its stored usage, in any mode it asked for', () => {
    const first = target('cheap', {
      input: '1',
      output: '2',
      modes: { fast: { input: '10', output: '20' } },
    });
    const asking = planned({ outputLimit: 50 });
    const [quote] = quotesFor(
      grant(first),
      { ...asking, call: { ...asking.call, modes: [{ name: 'fast', field: 'service_tier' }] } },
      lower,
    );
    if (!quote) throw new Error('nothing was quoted');
    expect(quote.most).toBe(1_000_000n + 50n * 20_000n);
    expect(costOf(JSON.parse(presumed('call', quote).usage), first.price)).toBe(quote.owed);
  });

  it('covers what is owed for a call whose end is unknown, even while a cheaper rule applies', () => {
    const sale = target('sale', { input: '1', output: '2', rules: [{ name: 'sale', times: '0.01' }] });
    const schedule = new PriceSchedule(sale.price.rules ?? [], 1000);
    const [quote] = quotesFor(grant({ ...sale, schedule }), planned({ outputLimit: 50 }), lower);
    if (!quote) throw new Error('nothing was quoted');
    expect([quote.owed, quote.least, quote.most]).toEqual([25_000n, 25_000n, 25_000n]);
    expect(costOf(JSON.parse(presumed('call', quote).usage), sale.price)).toBe(quote.owed);
  });

  it('has no lower end if the options refuse short balances', () => {
    expect(quotesFor(grant(cheap), planned(), { ...lower, whenShort: 'refuse' })[0]).toMatchObject({
      least: 2_100_000n,
      most: 2_100_000n,
    });
  });
});

describe('a grant', () => {
  it('is unchanged if everything was reserved', () => {
    expect(
      narrow(grant(cheap), planned(), { status: 'reserved', quote: 0, amount: 2_100_000n }, lower),
    ).toEqual({ targets: [cheap] });
  });

  it('has its limit lowered to what the amount covers', () => {
    expect(
      narrow(grant(cheap), planned(), { status: 'reserved', quote: 0, amount: 200_000n }, lower),
    ).toEqual({ targets: [cheap], outputLimit: 50 });
    expect(
      narrow(
        grant(cheap),
        planned({ candidates: 2 }),
        { status: 'reserved', quote: 0, amount: 200_000n },
        lower,
      ),
    ).toEqual({ targets: [cheap], outputLimit: 25 });
  });

  it('is unchanged if everything was reserved and rounding made it cheaper than its parts', () => {
    const tiny = target('tiny', { input: '0', output: '0.0004' });
    const call = planned({ outputLimit: 31 });
    expect(quotesFor(grant(tiny), call, lower)[0]?.most).toBe(12n);
    expect(narrow(grant(tiny), call, { status: 'reserved', quote: 0, amount: 12n }, lower)).toEqual({
      targets: [tiny],
    });
  });

  it('begins with the target that was affordable', () => {
    const quotes = quotesFor(grant(dear, cheap), planned(), lower);
    expect(quotes.map(({ least }) => least)).toEqual([420_000n, 132_000n]);
    expect(
      narrow(grant(dear, cheap), planned(), { status: 'reserved', quote: 1, amount: 200_000n }, lower),
    ).toEqual({ targets: [cheap], outputLimit: 50 });
  });

  it('drops later targets that could cost more than the amount at this limit, and keeps the others', () => {
    const alike = target('alike', { input: '1', output: '2' });
    expect(
      narrow(
        grant(cheap, dear, alike),
        planned(),
        { status: 'reserved', quote: 0, amount: 2_100_000n },
        lower,
      ),
    ).toEqual({ targets: [cheap, alike] });
    expect(
      narrow(grant(dear, cheap), planned(), { status: 'reserved', quote: 0, amount: 500_000n }, lower),
    ).toEqual({ targets: [dear, cheap], outputLimit: 20 });
  });

  it('drops a later target whose own larger limit could cost more', () => {
    const longer = target('longer', { input: '1', output: '2' }, { outputLimit: 2000 });
    expect(
      narrow(grant(cheap, longer), planned(), { status: 'reserved', quote: 0, amount: 2_100_000n }, lower),
    ).toEqual({ targets: [cheap] });
  });

  it('keeps later targets if the most expensive one is reserved, as far as the balance covers it', () => {
    const dearest = target('dearest', { input: '1', output: '90' });
    const targets = grant(cheap, dearest, dear);
    const policy: Policy = { ...lower, reserve: 'dearest' };
    const quotes = quotesFor(targets, planned(), policy);
    expect(quotes.slice(0, 3)).toMatchObject([
      { provider: 'cheap', least: 90_100_000n, most: 90_100_000n },
      { provider: 'cheap', least: 20_100_000n, most: 20_100_000n },
      { provider: 'cheap', least: 132_000n, most: 2_100_000n },
    ]);
    const taken = { status: 'reserved', quotes: quotes.length } as const;
    const left = (quote: number, amount: bigint): string[] =>
      narrow(targets, planned(), { ...taken, quote, amount }, policy).targets.map(
        ({ provider }) => provider.name,
      );
    expect([left(0, 90_100_000n), left(1, 20_100_000n), left(2, 2_100_000n)]).toEqual([
      ['cheap', 'dearest', 'dear'],
      ['cheap', 'dear'],
      ['cheap'],
    ]);
    expect(left(4, 20_100_000n)).toEqual(['dear']);
    expect(quotesFor(grant(dear, cheap), planned(), policy)).toEqual(
      quotesFor(grant(dear, cheap), planned(), lower),
    );
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
        fc.constantFrom('first' as const, 'dearest' as const),
        (prices, size, share, reserve) => {
          const policy: Policy = { ...lower, reserve };
          const call = planned(size);
          const before = grant(...prices.map((price, index) => target(`p${index}`, price)));
          const quotes = quotesFor(before, call, policy);
          const index = Math.floor(share * (quotes.length - 1));
          const { least, most } = quotes[index] ?? { least: 0n, most: 0n };
          const amount = least + ((most - least) * BigInt(Math.round(share * 1000))) / 1000n;
          const after = narrow(
            before,
            call,
            { status: 'reserved', quote: index, amount, quotes: quotes.length },
            policy,
          );
          expect(after.targets[0]).toBe(before.targets[Math.max(0, index - (quotes.length - prices.length))]);
          for (const { model, price } of after.targets) {
            const output = Math.min(
              after.outputLimit ?? Infinity,
              call.call.outputLimit ?? Infinity,
              model.outputLimit,
            );
            expect(output).toBeGreaterThanOrEqual(Math.min(16, call.call.outputLimit ?? 16));
            expect(
              worstCost({ input: call.call.size.textBytes, output, candidates: call.call.candidates }, price),
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
    const quotes = quotesFor(grant(dear, cheap), planned(), lower);
    const someone = { kind: 'user', account: 'someone', key: 'key-1' } as const;
    const error = outOfBalance(quotes, someone, { status: 'short', by: 'balance', available: 100_000n });
    expect(error).toMatchObject({ code: 'out_of_balance', status: 402, retry: false });
    expect(error.message).toContain('could cost 0.000132 USD');
    expect(error.message).toContain('has 0.0001 USD available');
    expect(error.message).toContain('tollgate credit add someone <usd>');
    expect(outOfBalance(quotes, someone, { status: 'short', by: 'cap', available: 5n }).message).toContain(
      'the key key-1 has 0.000000005 USD left to spend',
    );
  });
});
