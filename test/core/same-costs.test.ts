/**
 * Calls of the whole catalogue cost what they cost at d2dc27a7, to the nano-USD: in every service mode, at
 * every rule of time, in one region, and around each tier.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { computeCost } from '../../core/billing/cost.ts';
import { listUses, type Price } from '../../core/index.ts';
import { priceSchema, toRegionalPrice } from '../../core/price.ts';
import { computeFirstCost, type FirstPrice, type FirstUsage } from './first-costs.ts';

const folder = new URL('../../plugins/providers/catalogue/', import.meta.url);
const calls = 10_000;

/** Numbers below 1 that are the same in every run (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Table {
  readonly when?: unknown;
  readonly rates?: readonly { readonly unit: string; readonly modality?: string; readonly rate: string }[];
  readonly tiers?: readonly Table[];
  readonly modes?: Readonly<Record<string, Table>>;
  readonly rules?: readonly Table[];
}

/** Calendars are named in the files. They say when a rule applies, and not what it costs. */
function omitDays(rule: Table): FirstPrice {
  return toFirstPrice({ ...rule, when: undefined });
}

/** A price of a file in the form of that version, with a member for each rate. */
function toFirstPrice(table: Table): FirstPrice {
  const { rates = [], tiers, modes, rules, ...others } = table;
  const named = rates.map(({ unit, modality = '', rate }) => [
    unit + modality.slice(0, 1).toUpperCase() + modality.slice(1),
    rate,
  ]);
  const price: Record<string, unknown> = { ...others, ...Object.fromEntries(named) };
  if (tiers) price['tiers'] = tiers.map(toFirstPrice);
  if (modes)
    price['modes'] = Object.fromEntries(
      Object.entries(modes).map(([name, mode]) => [name, toFirstPrice(mode)]),
    );
  if (rules) price['rules'] = rules.map(omitDays);
  return JSON.parse(JSON.stringify(price));
}

interface Listed {
  readonly id: string;
  readonly price: FirstPrice;
}

function readPrices(): Listed[] {
  return readdirSync(folder)
    .flatMap((name): { id: string; price?: Table | Table['rates'] }[] => {
      const { models } = JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
      return models;
    })
    .flatMap(({ id, price }) => {
      if (!price) return [];
      return [{ id, price: toFirstPrice('length' in price ? { rates: price } : price) }];
    });
}

const parts = (
  'cacheRead cacheReadAudio cacheWrite5m cacheWrite30m cacheWrite1h cacheWrite12h ' +
  'inputAudio inputImage reasoning outputAudio outputImage'
).split(' ');
const pieces = ['images', 'webSearches', 'fileSearches', 'containers'];

function inventUsage(price: FirstPrice, random: () => number): FirstUsage {
  const pick = <Value>(values: readonly Value[]): Value | undefined =>
    values[Math.floor(random() * values.length)];
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const tiers = [price, ...Object.values(price.modes ?? {}), ...(price.rules ?? [])].flatMap(
    (table) => table.tiers ?? [],
  );
  const input = (pick([0, 100, 300_000, ...tiers.map(({ above }) => Number(above))]) ?? 0) + upTo(5000);
  const output = upTo(10_000);
  const usage: Record<string, number | string | undefined> = { input, output };
  for (const part of parts)
    if (random() < 0.3)
      usage[part] = upTo(part.startsWith('output') || part === 'reasoning' ? output : input);
  for (const piece of pieces) if (random() < 0.2) usage[piece] = upTo(4);
  const modes = Object.keys(price.modes ?? {});
  usage['mode'] = pick([undefined, undefined, 'usual', 'flex', 'batch', ...modes, ...modes]);
  usage['rule'] = pick([undefined, ...(price.rules ?? []).map(({ name }) => name)]);
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined));
}

function checkPrice(price: FirstPrice): Price {
  return priceSchema.parse({ ...price, input: String(price['input']), output: String(price['output']) });
}

it('charges 10,000 calls of the whole catalogue as before prices were lists of units', () => {
  const models = readPrices();
  const random = createRandom(20_261_127);
  const differing: unknown[] = [];
  for (let call = 0; call < calls; call += 1) {
    const { id, price = {} } = models[call % models.length] ?? {};
    const isRegional = random() < 0.2;
    const usage = inventUsage(price, random);
    const rule = usage['rule'];
    const named =
      isRegional && price.regional !== undefined && rule !== undefined
        ? { ...usage, rule: `${rule}-regional` }
        : usage;
    const parsed = checkPrice(price);
    const { mode, rule: priced } = named;
    const cost = computeCost(
      {
        uses: listUses(named),
        mode: typeof mode === 'string' ? mode : undefined,
        rule: typeof priced === 'string' ? priced : undefined,
      },
      isRegional ? toRegionalPrice(parsed) : parsed,
    );
    const expected = computeFirstCost(usage, price, isRegional);
    if (cost !== expected) differing.push({ id, usage, isRegional, cost, expected });
  }
  expect(models.length).toBeGreaterThan(300);
  expect(differing).toEqual([]);
});
