/** What the gateway quotes a call at, and how it narrows the grant once an amount is reserved. */
import { describe, expect, it } from 'vitest';
import type { Target } from '../../core/index.ts';
import { PriceSchedule } from '../../core/price-schedule.ts';
import { narrowGrant, listQuotes } from '../../plugins/meters/balance/admission.ts';
import { presumeUsage } from '../../plugins/meters/balance/decisions.ts';
import { costOf } from '../support/rates.ts';
import { cheap, grant, lower, buildPlanned } from './sample-grant.ts';
import { target } from './targets.ts';

describe('a quote', () => {
  it('is the most the call can cost: a token for each byte, and the whole output', () => {
    expect(listQuotes(grant(cheap), buildPlanned({ outputLimit: 50 }), lower)).toEqual([
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
    expect(listQuotes(grant(cheap), buildPlanned(), lower)[0]?.most).toBe(most);
    expect(listQuotes(grant(cheap), buildPlanned({ outputLimit: 5000 }), lower)[0]?.most).toBe(most);
  });

  it("counts each candidate, each image by the catalogue's rule, and media by its bytes", () => {
    const pictured = target('cheap', { input: '1', output: '2' }, { capabilities: { imageTokens: 300 } });
    const [quoted] = listQuotes(
      grant(pictured),
      buildPlanned({ outputLimit: 10, candidates: 3, size: { images: 2, mediaBytes: 50 } }),
      lower,
    );
    expect(quoted?.most).toBe((100n + 600n + 50n) * 1000n + 30n * 2000n);
  });

  it('counts each page of a document as an image, beside its bytes, and what the provider adds', () => {
    const pictured = target('cheap', { input: '1', output: '2' }, { capabilities: { imageTokens: 300 } });
    const planned = buildPlanned({ outputLimit: 10, size: { pages: 4, mediaBytes: 50, added: 500 } });
    expect(listQuotes(grant(pictured), planned, lower)[0]?.most).toBe(
      (100n + 1200n + 50n + 500n) * 1000n + 10n * 2000n,
    );
  });

  it("covers and presumes no more input than the model's context, however many bytes are sent", () => {
    expect(
      listQuotes(grant(cheap), buildPlanned({ outputLimit: 50, size: { mediaBytes: 9_000_000 } }), lower)[0],
    ).toMatchObject({ most: 100_000_000n + 50n * 2000n, input: 100_000, owed: 100_000_000n });
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
    expect(listQuotes(grant(searching), buildPlanned({ outputLimit: 50, searches }), lower)[0]).toMatchObject(
      {
        most,
        owed: 25_000n,
      },
    );
    expect(
      narrowGrant(
        grant(searching),
        buildPlanned({ outputLimit: 50, searches }),
        { status: 'reserved', quote: 0, amount: most - 40n * 2000n },
        lower,
      ).outputLimit,
    ).toBe(16);
  });

  const quoteReadings = (
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
    return listQuotes(grant(reading), buildPlanned({ outputLimit: 1, searches, size: { rounds } }), lower)[0]
      ?.most;
  };

  it('covers all readings of a conversation that grows with each search', () => {
    // 100, 10,100, 20,100 and 30,100 tokens.
    expect(quoteReadings(3, 3)).toBe(60_400n * 1000n + 2000n);
    expect(quoteReadings(Infinity, Infinity)).toBe(
      (100n + 10_100n + 20_100n + 30_100n + 40_100n + 50_100n + 5n * 60_100n) * 1000n + 2000n,
    );
  });

  it('covers those readings at the price of cached tokens if the provider caches the conversation', () => {
    expect(quoteReadings(3, 3, 'automatic')).toBe(30_100n * 1000n + 30_300n * 100n + 2000n);
  });

  it('covers a conversation that is read again after code ran', () => {
    expect(quoteReadings(0, 2)).toBe((100n + 2100n + 4100n) * 1000n + 2000n);
  });

  it('covers a cache that the call names, at the price of cached tokens', () => {
    const quoteMost = (price: { readonly cacheRead?: string }): bigint | undefined =>
      listQuotes(
        grant(target('cheap', { input: '1', output: '2', ...price })),
        buildPlanned({ outputLimit: 1, size: { cached: true } }),
        lower,
      )[0]?.most;
    expect(quoteMost({ cacheRead: '0.1' })).toBe(100n * 1000n + 99_900n * 100n + 2000n);
    expect(quoteMost({})).toBe(100_000n * 1000n + 2000n);
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
    expect(
      listQuotes(grant(tiered), buildPlanned({ outputLimit: 50, size: { textBytes } }), lower)[0]?.most,
    ).toBe(most);
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
    const quoteMost = (to: Target, uncached: boolean): bigint | undefined =>
      listQuotes(grant(to), buildPlanned({ outputLimit: 1, size: { uncached } }), lower)[0]?.most;
    expect([quoteMost(marked, true), quoteMost(marked, false), quoteMost(writing, true)]).toEqual([
      102_000n,
      202_000n,
      202_000n,
    ]);
  });

  it('covers all reasoning of a model whose vendor limits the answer alone, and lowers nothing', () => {
    const reasoning = { style: 'toggle', outsideLimit: true } as const;
    const thinker = target('cheap', { input: '1', output: '2' }, { capabilities: { reasoning } });
    const planned = buildPlanned({ outputLimit: 10, candidates: 2 });
    const whole = 100_000n + 2n * 1000n * 2000n;
    expect(listQuotes(grant(thinker), planned, lower)).toMatchObject([{ least: whole, most: whole }]);
    const quoteWith = (effort: string | number, canDisable = true): bigint | undefined => {
      const on = target(
        'cheap',
        { input: '1', output: '2' },
        { capabilities: { reasoning: { ...reasoning, canDisable } } },
      );
      return listQuotes(grant(on), { ...planned, call: { ...planned.call, effort } }, lower)[0]?.most;
    };
    expect(quoteWith('high')).toBe(whole);
    expect(quoteWith('none')).toBe(100_000n + 2n * 10n * 2000n);
    expect(quoteWith(0)).toBe(100_000n + 2n * 10n * 2000n);
    expect(quoteWith('none', false)).toBe(whole);
  });

  it('keeps a limit that an earlier plugin granted', () => {
    expect(listQuotes({ targets: [cheap], outputLimit: 20 }, buildPlanned(), lower)[0]?.most).toBe(
      100_000n + 20n * 2000n,
    );
  });

  it('asks no more than the client if that is below the minimum', () => {
    expect(listQuotes(grant(cheap), buildPlanned({ outputLimit: 3 }), lower)[0]).toMatchObject({
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
    const asking = buildPlanned({ outputLimit: 50 });
    const [quote] = listQuotes(
      grant(first),
      { ...asking, call: { ...asking.call, modes: [{ name: 'fast', field: 'service_tier' }] } },
      lower,
    );
    if (!quote) throw new Error('nothing was quoted');
    expect(quote.most).toBe(1_000_000n + 50n * 20_000n);
    expect(costOf(JSON.parse(presumeUsage(quote)), first.price)).toBe(quote.owed);
  });

  it('covers what is owed for a call whose end is unknown, even while a cheaper rule applies', () => {
    const sale = target('sale', { input: '1', output: '2', rules: [{ name: 'sale', times: '0.01' }] });
    const schedule = new PriceSchedule(sale.price.rules ?? [], 1000);
    const [quote] = listQuotes(grant({ ...sale, schedule }), buildPlanned({ outputLimit: 50 }), lower);
    if (!quote) throw new Error('nothing was quoted');
    expect([quote.owed, quote.least, quote.most]).toEqual([25_000n, 25_000n, 25_000n]);
    expect(costOf(JSON.parse(presumeUsage(quote)), sale.price)).toBe(quote.owed);
  });

  it('has no lower end if the options refuse short balances', () => {
    expect(listQuotes(grant(cheap), buildPlanned(), { ...lower, whenShort: 'refuse' })[0]).toMatchObject({
      least: 2_100_000n,
      most: 2_100_000n,
    });
  });
});
