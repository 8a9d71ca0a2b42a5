/**
 * Prices that change while the gateway runs: feeds of each form, what is held back, rollbacks, the automatic
 * feed, and what a call in between pays.
 */
import { join } from 'node:path';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { formatUsd, parseUsd } from '../../core/index.ts';
import { readRate } from '../../plugins/operations/catalogue/litellm.ts';
import { waitUntil } from '../support/operated.ts';
import {
  catalogueCost,
  writeSource,
  folder,
  harness,
  list,
  buildModelsDev,
  open,
  openPrices,
  payForCall,
  waitForPrice,
  update,
  usage,
} from './price-updates.ts';

openPrices();

describe('a price update', () => {
  beforeEach(() => open());

  it('reaches the next call of a running gateway but no running one, and can be rolled back', async () => {
    expect(await payForCall()).toBe(catalogueCost);
    const go = Promise.withResolvers<void>();
    harness.vendor.script('gpt-4o-mini', { text: ['Yes.'], usage, hold: go.promise });
    const running = payForCall();
    await waitUntil(() => harness.vendor.requests.length === 2);
    const made = await update(writeSource('plain.json', buildModelsDev(0.2, 0.8)));
    expect(made).toMatchObject({ applied: 1, held: null, matched: 1, doubtful: [] });
    expect(made.fields.map(({ field, old, new: next }) => [field, old, next])).toEqual([
      ['input', '0.15', '0.2'],
      ['output', '0.6', '0.8'],
      ['cacheRead', '0.075', '0.08'],
    ]);
    await waitForPrice('0.0000002');
    go.resolve();
    expect(await running).toBe(catalogueCost);
    expect(await payForCall()).toBe(
      formatUsd((1000n * parseUsd('0.2') + 100n * parseUsd('0.8')) / 1_000_000n),
    );
    expect(await harness.gateway.verb('prices undo')).toMatchObject({ id: 1, state: 'undone' });
    await waitForPrice('0.00000015');
    expect(await payForCall()).toBe(catalogueCost);
    expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true });
  });

  it('takes effect at its time, and shows nothing to do once it is known', async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const source = writeSource('later.json', buildModelsDev(0.2, 0.8));
    await update(source, { from: later });
    expect((await update(source)).fields).toEqual([]);
    expect(await list()).toMatchObject([{ state: 'applied', from: later }]);
    await update(writeSource('sooner.json', buildModelsDev(0.3, 0.9)), { from: '2026-01-01' });
    await waitForPrice('0.0000003');
  });

  it.each([
    ['drops by more than half', 0.07, 0.6, 0.075],
    ['becomes free', 0, 0.6, 0.075],
    ['drops by more than half', 0.15, 0.6, 0.03],
  ])('that %s waits until an operator confirms it', async (reason, input, output, cacheRead) => {
    const source = writeSource('drop.json', buildModelsDev(input, output, cacheRead));
    const made = await update(source);
    expect(made).toMatchObject({ applied: null, held: 1, doubtful: [{ reasons: [reason] }] });
    expect(await payForCall()).toBe(catalogueCost);
    expect(await harness.gateway.verb('prices confirm', ['1'])).toMatchObject({ state: 'applied' });
    await expect(harness.gateway.verb('prices confirm', ['1'])).rejects.toThrow('is applied');
    await harness.gateway.verb('prices undo', ['1']);
    expect(await update(source, { yes: true } as never)).toMatchObject({ applied: 2, held: null });
  });

  it('that leaves rates of a price unstated names them', async () => {
    const source = writeSource(
      'part.json',
      JSON.stringify({ models: { a: { id: 'gpt-4o-mini', cost: { input: 0.2, output: 0.8 } } } }),
    );
    expect(await update(source, { vendor: 'openai' })).toMatchObject({
      held: 1,
      doubtful: [{ reasons: ['does not state cacheRead'] }],
    });
  });

  it('shows what would change, and applies nothing, as a dry run', async () => {
    const made = await update(writeSource('dry.json', buildModelsDev(0.2, 0.8)), { dryRun: true } as never);
    expect([made.applied, made.fields.length, await list()]).toEqual([null, 3, []]);
  });

  it('reads LiteLLM’s form and our own, with rules and tiers', async () => {
    const litellm = {
      sample_spec: { litellm_provider: 'one of', input_cost_per_token: 0 },
      'gpt-4o-mini': {
        litellm_provider: 'openai',
        input_cost_per_token: 1.6e-7,
        output_cost_per_token: 6.4e-7,
        cache_read_input_token_cost: 8e-8,
        input_cost_per_token_above_100k_tokens: 3.2e-7,
        output_cost_per_token_flex: 5e-7,
      },
    };
    const made = await update(writeSource('litellm.json', JSON.stringify(litellm)));
    expect(made.fields.map(({ field, new: next }) => [field, next])).toEqual(
      [
        ['input', '0.16'],
        ['output', '0.64'],
        ['cacheRead', '0.08'],
        ['input served flex', '0.15'],
        ['output served flex', '0.5'],
        ['input above 100000', '0.32'],
        ['output above 100000', '0.6'],
      ].toSorted(() => 0),
    );
    const own = {
      format: 'tollgate-prices-1',
      asOf: '2026-11-22',
      prices: [
        {
          provider: 'openai',
          model: 'gpt-4o-mini',
          price: {
            input: '0.2',
            output: '0.8',
            cacheRead: '0.1',
            rules: [{ name: 'from-2090', from: '2090-01-01', times: '2' }],
          },
        },
      ],
    };
    expect((await update(writeSource('own.json', JSON.stringify(own)), { yes: true } as never)).applied).toBe(
      2,
    );
    await waitForPrice('0.0000002');
    const wrong = { ...own, prices: [{ provider: 'openai', model: 'gpt-4o-mini', price: { input: 0.2 } }] };
    await expect(update(writeSource('wrong.json', JSON.stringify(wrong)))).rejects.toThrow('prices[0].price');
  });

  it('is refused if the source is no feed, has none of our models, or does not exist', async () => {
    await expect(update(writeSource('text.json', 'no JSON'))).rejects.toThrow(/text\.json is not JSON: /);
    await expect(update(writeSource('list.json', '[1]'))).rejects.toThrow('no price list');
    await expect(update(writeSource('other.json', '{"elsewhere":{"models":{}}}'))).rejects.toThrow(
      'no price of a model',
    );
    await expect(update(join(folder, 'missing.json'))).rejects.toThrow('missing.json cannot be read');
  });
});

describe('LiteLLM’s numbers', () => {
  const toPerMillion = (value: unknown) => readRate('input_cost_per_token', value);

  it('become decimal strings without a rounding error', () => {
    expect([2.5e-6, 1.5e-7, 0, 1e-12, 0.00003, 1].map(toPerMillion)).toEqual([
      '2.5',
      '0.15',
      '0',
      '0.000001',
      '30',
      '1000000',
    ]);
    expect([-1, NaN, Infinity].map(toPerMillion)).toEqual([undefined, undefined, undefined]);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 9 }), (micros) => {
        // Each is a number of millionths of a USD for a million tokens.
        expect(toPerMillion(Number(`${micros}e-12`))).toBe(formatUsd(BigInt(micros) * 1000n));
      }),
    );
  });
});
