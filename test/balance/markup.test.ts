/**
 * What the gateway charges above and below the provider's price: by rule, exactly, and recorded beside the
 * provider's bill.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  formatUsd,
  parseUsd,
  priceSchema,
  computeWorstCost,
  type Charge,
  type Principal,
} from '../../core/index.ts';
import {
  findMarkup,
  markPrice,
  markupSchema,
  type MarkupInput,
} from '../../plugins/meters/balance/markups.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { computeVendorCost } from '../../plugins/shared/vendor-price.ts';
import { askAdmin } from '../support/admin-listener.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { makeFolder } from '../support/folder.ts';
import { openHarness, type Harness } from '../support/harness.ts';
import { waitUntil } from '../support/operated.ts';
import { costOf, nameRates, used } from '../support/rates.ts';

const principal: Principal = { kind: 'user', account: 'acme', key: 'k1' };
const parseRule = (input: MarkupInput) => markupSchema.parse(input);

/** Rounds half to even in another way than the gateway does: by the remainder of decimal digits. */
function divideHalfEven(numerator: bigint, by: bigint): bigint {
  const below = numerator / by;
  const rest = (numerator % by) * 2n;
  if (rest === by) return below + (below % 2n);
  return rest > by ? below + 1n : below;
}

describe('a marked price', () => {
  const rate = fc.bigInt({ min: 0n, max: 200_000_000_000n });
  const tokens = fc.integer({ min: 0, max: 2_000_000 });
  const percents = fc.integer({ min: -1_000_000, max: 3_000_000 });

  it('charges what an independent calculation does, and never more than is reserved', () => {
    fc.assert(
      fc.property(
        fc.record({ input: rate, output: rate, cacheRead: rate, request: rate }),
        fc.record({ input: tokens, output: tokens, cacheRead: tokens }),
        percents,
        rate,
        (rates, usage, millionths, fixed) => {
          const written = Object.fromEntries(
            Object.entries(rates).map(([kind, value]) => [kind, formatUsd(value)]),
          );
          const price = priceSchema.parse(written);
          const sign = millionths < 0 ? '-' : '';
          const size = Math.abs(millionths);
          const percent = `${sign}${Math.floor(size / 10_000)}.${String(size % 10_000).padStart(4, '0')}`;
          const marked = markPrice(price, parseRule({ percent, fixed: formatUsd(fixed) }));
          const addMarkup = (value: bigint): bigint => value * BigInt(1_000_000 + millionths);
          const cached = BigInt(Math.min(usage.cacheRead, usage.input));
          const sum =
            (BigInt(usage.input) - cached) * addMarkup(rates.input) +
            cached * addMarkup(rates.cacheRead) +
            BigInt(usage.output) * addMarkup(rates.output);
          const fee = addMarkup(rates.request) + fixed * 1_000_000n;
          const charge = costOf(usage, marked);
          expect(charge).toBe(divideHalfEven(sum + fee * 1_000_000n, 10n ** 12n));
          expect(
            computeWorstCost({ input: usage.input, output: usage.output, candidates: 1 }, marked),
          ).toBeGreaterThanOrEqual(charge);
          const charged: Charge = {
            cost: charge,
            lines: [],
            ...used(usage),
            rule: '',
            basis: 'usage',
            suspect: false,
          };
          expect(computeVendorCost(charged, marked)).toBe(costOf(usage, price));
          // A plugin stopped the reply: the caller pays nothing, and the vendor bills the same.
          const stopped = { ...charged, cost: 0n, basis: 'none', vendorCost: charge } as const;
          expect(computeVendorCost(stopped, marked)).toBe(costOf(usage, price));
        },
      ),
    );
  });

  it('applies its markup to tiers, modes, rules and fees', () => {
    const price = priceSchema.parse({
      input: '1',
      output: '2',
      webSearch: '0.01',
      tiers: [{ above: 1000, input: '2', output: '4' }],
      modes: { flex: { input: '0.5', output: '1' } },
      rules: [{ name: 'night', times: '0.5' }],
    });
    const marked = markPrice(price, parseRule({ percent: '50', fixed: '0.001' }));
    expect(nameRates(marked)).toMatchObject({
      input: parseUsd('1.5'),
      request: parseUsd('0.001'),
      webSearch: parseUsd('0.015'),
      tiers: [{ above: 1000, output: parseUsd('6') }],
      modes: { flex: { input: parseUsd('0.75') } },
      rules: [{ name: 'night', output: parseUsd('1.5'), request: parseUsd('0.001') }],
    });
  });
});

describe('rules', () => {
  it('apply by key before account before model, and by the longest pattern of models', () => {
    const rules = [
      parseRule({ percent: '1' }),
      parseRule({ model: 'openai/*', percent: '2' }),
      parseRule({ model: 'openai/gpt-5*', percent: '3' }),
      parseRule({ model: 'openai/gpt-5', percent: '4' }),
      parseRule({ account: 'acme', percent: '5' }),
      parseRule({ account: 'acme', model: 'openai/o3', percent: '6' }),
      parseRule({ key: 'k1', model: 'openai/o4', percent: '7' }),
    ];
    const findPercent = (id: string, who = principal): bigint | undefined =>
      findMarkup(rules, who, id)?.percent;
    const other: Principal = { ...principal, account: 'other', key: 'k2' };
    expect(findPercent('openai/o4', { ...other, root: 'k1' })).toBe(70_000n);
    expect([findPercent('a/b'), findPercent('openai/o3'), findPercent('openai/o4')]).toEqual([
      50_000n,
      60_000n,
      70_000n,
    ]);
    expect(
      ['a/b', 'openai/o1', 'openai/gpt-5-mini', 'openai/gpt-5'].map((id) => findPercent(id, other)),
    ).toEqual([10_000n, 20_000n, 30_000n, 40_000n]);
  });

  it('that are stored may name a model without its owner: the gateway must still start', () => {
    expect(parseRule({ model: 'gpt-5', percent: '1' })).toMatchObject({ model: 'gpt-5' });
  });

  it.each<MarkupInput>([
    {},
    { percent: '-100.1' },
    { percent: '1.23456' },
    { fixed: '-1' },
    { percent: 10 as never },
    { model: 'a*b*', percent: '1' },
  ])('with a mistake are refused: %o', (input) => {
    expect(() => markupSchema.parse(input)).toThrow();
  });
});

let harness: Harness;
let opened: Harness | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
const vendorCost = '0.00021';

async function call(client = harness.client): Promise<string> {
  harness.vendor.script('gpt-4o-mini', { text: ['Yes.'], usage });
  const before = parseUsd((await harness.balance()).used.toFixed(9));
  await client.chat.completions.create({
    model: 'openai/gpt-4o-mini',
    messages: [{ role: 'user', content: 'Hi' }],
  });
  return formatUsd(parseUsd((await harness.balance()).used.toFixed(9)) - before);
}

describe('a gateway with markups', () => {
  it("charges them, keeps the provider's bill, and shows the margin", async () => {
    harness = opened = await openHarness({
      ledger: { markup: [{ account: 'tester', percent: '10', fixed: '0.001' }] },
      plugins: [admin({ port: 0 })],
    });
    const adminUrl = findAdminUrl(harness.gateway.printed);
    const operator = readFileSync(join(harness.gateway.dataFolder, 'operator-secret'), 'utf8').trim();
    const read = async (path: string) => (await askAdmin(adminUrl, operator, ['GET', path])).body;
    expect(await call()).toBe('0.001231');
    expect(await harness.gateway.verb('usage', [], { by: 'account' })).toMatchObject([
      { account: 'tester', calls: 1, cost: '0.001231', vendorCost, margin: '0.001021' },
    ]);
    const money = { cost: '0.001231', vendor_cost: vendorCost, margin: '0.001021' };
    const { data } = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(await read('/calls'));
    expect(await read('/calls')).toMatchObject({ data: [money] });
    // A target with another price is the same target.
    expect(await read(`/calls/${data[0]?.id}`)).toMatchObject({ routing: [] });
    expect(await read('/overview?by=account')).toMatchObject({
      totals: money,
      series: [{ name: 'tester', totals: money, margin: expect.arrayContaining([money.margin]) }],
    });
    const own = await fetch(`${harness.gateway.url}/v1/key`, {
      headers: { authorization: `Bearer ${harness.key}` },
    });
    expect(await own.text()).not.toContain('margin');
    expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true });
  });

  it('reserves the price with markup, and refuses or shortens calls that only lack the markup', async () => {
    harness = opened = await openHarness({
      credit: '0.0005',
      ledger: { whenShort: 'refuse', markup: [{ percent: '0', fixed: '0.0006' }] },
    });
    const refused = await harness.post({
      model: 'openai/gpt-4o-mini',
      max_tokens: 20,
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect(refused.status).toBe(402);
    expect(harness.vendor.requests).toHaveLength(0);
  });

  it('prefers the rules that operators set at run time over its configuration', async () => {
    harness = opened = await openHarness({ ledger: { markup: [{ account: 'tester', percent: '100' }] } });
    expect(await call()).toBe('0.00042');
    await harness.gateway.verb('markups set', [], { account: 'tester', percent: '-50' });
    await waitUntil(async () => (await call()) === '0.000105');
    await harness.gateway.verb('markups set', [], { account: 'tester', model: 'openai/*', percent: '0' });
    await waitUntil(async () => (await call()) === vendorCost);
    expect(await harness.gateway.verb('markups list')).toHaveLength(2);
    await harness.gateway.verb('markups remove', [], { account: 'tester', model: 'openai/*' });
    await expect(harness.gateway.verb('markups remove', [], { account: 'unknown' })).rejects.toThrow(
      'no such markup',
    );
    await expect(harness.gateway.verb('markups set', [], { account: 'tester' })).rejects.toThrow(
      '"percent" or "fixed"',
    );
    // What failed is no action.
    expect(await harness.gateway.verb('actions list', [], { limit: '4' })).toMatchObject([
      { action: 'markups remove', detail: expect.stringContaining('openai/*') },
      { action: 'markups set' },
      { action: 'markups set' },
      { action: expect.stringContaining('keys create') },
    ]);
    const [row] = z
      .array(z.object({ cost: z.string(), vendorCost: z.string(), margin: z.string() }))
      .parse(await harness.gateway.verb('usage', [], { by: 'account' }));
    expect(parseUsd(row?.cost ?? '') - parseUsd(row?.vendorCost ?? '')).toBe(parseUsd(row?.margin ?? ''));
    expect(await harness.gateway.verb('audit')).toMatchObject({ ok: true });
  });

  const rotated = z.object({ key: z.string(), id: z.string() });
  const rotate = async (key: string) =>
    rotated.parse(await harness.gateway.verb('keys rotate', [key], { overlap: '60' }));
  const callWith = (apiKey: string) =>
    call(new OpenAI({ apiKey, baseURL: `${harness.gateway.url}/v1`, maxRetries: 0 }));

  it('charges a rule of a key to the keys that replace it, too', async () => {
    harness = opened = await openHarness();
    const { verb } = harness.gateway;
    await verb('markups set', [], { key: harness.key.slice(-4), percent: '100' });
    await waitUntil(async () => (await call()) === '0.00042');
    const second = await rotate(harness.key.slice(-4));
    const third = await rotate(second.id);
    expect([await callWith(second.key), await callWith(third.key)]).toEqual(['0.00042', '0.00042']);
    await verb('markups set', [], { key: second.id, percent: '-100' });
    await waitUntil(async () => (await callWith(third.key)) === '0');
    expect(await verb('markups list')).toHaveLength(1);
    await verb('markups remove', [], { key: third.id });
    expect(await verb('markups list')).toEqual([]);
  });

  it('charges a rule of the configuration to the keys that replace its key, too', async () => {
    const settings = { dataFolder: makeFolder() };
    harness = opened = await openHarness({ settings });
    const second = await rotate(harness.key.slice(-4));
    await harness.close();
    harness = opened = await openHarness({
      settings,
      ledger: { markup: [{ key: second.id, percent: '100' }] },
    });
    const third = await rotate(second.id);
    expect([await call(), await callWith(third.key)]).toEqual([vendorCost, '0.00042']);
  });

  it('refuses rules that could never apply', async () => {
    harness = opened = await openHarness();
    const set = (options: Record<string, string>) =>
      harness.gateway.verb('markups set', [], { percent: '5', ...options });
    await expect(set({ account: 'acmee' })).rejects.toThrow('there is no account "acmee"');
    await expect(set({ key: 'zzzz' })).rejects.toThrow('there is no key "zzzz"');
    await expect(set({ model: 'gpt-5' })).rejects.toThrow('a model is named <owner>/<name>');
    expect(await harness.gateway.verb('markups list')).toEqual([]);
  });
});
