/**
 * How the gateway computed costs while prices had a member for each kind of token: commit d2dc27a7, kept as
 * an oracle. It shares no code with the gateway. Its form of prices is that of `prices.rates` in ledgers.
 */

/** A price as that version read it from JSON, with texts for rates. */
export interface FirstPrice {
  readonly [kind: string]: unknown;
  readonly tiers?: readonly FirstTable[];
  readonly modes?: Readonly<Record<string, FirstTable & { readonly times?: string }>>;
  readonly rules?: readonly (FirstPrice & { readonly name: string; readonly times?: string })[];
  readonly regional?: string;
}
interface FirstTable {
  readonly [kind: string]: unknown;
  readonly tiers?: readonly FirstTable[];
}
/** Counts by their names, the service mode and the rule of the time. */
export type FirstUsage = Readonly<Record<string, number | string | undefined>>;

type Rates = Readonly<Record<string, bigint | undefined>>;
interface Table {
  readonly rates: Rates;
  readonly tiers: readonly { readonly above: number; readonly rates: Rates }[];
}
interface Terms extends Table {
  readonly modes: Readonly<Record<string, Table>>;
}

const kinds = (
  'input output cacheRead cacheReadAudio cacheWrite5m cacheWrite30m cacheWrite1h cacheWrite12h ' +
  'reasoning inputAudio outputAudio inputImage outputImage'
).split(' ');
const fees = ['request', 'image', 'webSearch', 'fileSearch', 'container'];
const unit = 1_000_000_000n;
const million = 1_000_000n;

function toNano(text: unknown): bigint {
  const [whole = '0', fraction = ''] = String(text).split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

function pick(from: FirstTable, names: readonly string[]): Rates {
  return Object.fromEntries(
    names.flatMap((name) => (from[name] === undefined ? [] : [[name, toNano(from[name])]])),
  );
}

function scaleRates(rates: Rates, times: bigint): Rates {
  return Object.fromEntries(
    Object.entries(rates).map(([name, rate = 0n]) => [
      name,
      fees.includes(name) ? rate : (rate * times + unit - 1n) / unit,
    ]),
  );
}

function scaleTable({ rates, tiers }: Table, times: bigint): Table {
  return {
    rates: scaleRates(rates, times),
    tiers: tiers.map(({ above, rates: own }) => ({ above, rates: scaleRates(own, times) })),
  };
}

function readTable(stated: FirstTable): Table {
  const tiers = stated.tiers ?? [];
  return {
    rates: pick(stated, [...kinds, ...fees]),
    tiers: tiers.map((tier) => ({ above: Number(tier['above']), rates: pick(tier, kinds) })),
  };
}

function readTerms(stated: FirstPrice): Terms {
  const table = readTable(stated);
  const modes = Object.entries(stated.modes ?? {}).map(([name, mode]) => [
    name,
    mode.times === undefined ? readTable(mode) : scaleTable(table, toNano(mode.times)),
  ]);
  return { ...table, modes: Object.fromEntries(modes) };
}

function scaleTerms(terms: Terms, times: bigint): Terms {
  const modes = Object.entries(terms.modes).map(([name, mode]) => [name, scaleTable(mode, times)]);
  return { ...scaleTable(terms, times), modes: Object.fromEntries(modes) };
}

function findTerms(price: FirstPrice, rule: unknown): Terms {
  const base = readTerms(price);
  const found = price.rules?.find(({ name }) => name === rule);
  if (!found) return base;
  if (found.times !== undefined) return scaleTerms(base, toNano(found.times));
  const own = readTerms(found);
  return { ...own, rates: { ...pick(price, fees), ...own.rates } };
}

function findMode(terms: Terms, mode: unknown): Table | undefined {
  if (typeof mode !== 'string') return undefined;
  if (Object.hasOwn(terms.modes, mode)) return terms.modes[mode];
  const words = mode.split(' ');
  const dearer = words.filter((word) => word !== 'flex' && word !== 'batch');
  if (dearer.length === words.length) return undefined;
  return dearer.length === 0 ? terms : findMode(terms, dearer.join(' '));
}

/** What a usage costs in nano-USD; `isRegional`: at an address that keeps calls in one region. */
export function computeFirstCost(usage: FirstUsage, price: FirstPrice, isRegional = false): bigint {
  const found = findTerms(price, usage['rule']);
  const terms =
    isRegional && price.regional !== undefined ? scaleTerms(found, toNano(price.regional)) : found;
  const table = findMode(terms, usage['mode']) ?? terms;
  const count = (name: string): number => Math.max(0, Math.trunc(Number(usage[name] ?? 0)));
  const [tier] = table.tiers
    .filter(({ above }) => count('input') > above)
    .toSorted((one, other) => other.above - one.above);
  const { rates } = tier ?? table;
  let millionths = 0n;
  const add = (name: string, left: number, rate = rates[name], asked = count(name)): number => {
    if (!asked || rate === undefined) return 0;
    const units = Math.min(asked, left);
    millionths += BigInt(units) * rate;
    return units;
  };
  const { cacheRead, cacheReadAudio = cacheRead, cacheWrite5m, cacheWrite30m, cacheWrite12h } = rates;
  let input = count('input');
  const cached = Math.min(count('cacheRead'), input);
  const cachedAudio = add('cacheReadAudio', cached, rates['cacheReadAudio']);
  input -= cachedAudio + add('cacheRead', cached - cachedAudio);
  input -= add('cacheWrite5m', input, cacheWrite5m ?? cacheWrite30m);
  input -= add('cacheWrite30m', input, cacheWrite30m ?? cacheWrite5m);
  input -= add('cacheWrite1h', input);
  input -= add('cacheWrite12h', input, cacheWrite12h ?? cacheWrite30m ?? cacheWrite5m);
  const fresh =
    cacheReadAudio === undefined
      ? count('inputAudio')
      : Math.max(0, count('inputAudio') - count('cacheReadAudio'));
  input -= add('inputAudio', input, rates['inputAudio'], fresh);
  input -= add('inputImage', input);
  let output = count('output');
  for (const part of ['reasoning', 'outputAudio', 'outputImage']) output -= add(part, output);
  add('input', input, rates['input'], input);
  add('output', output, rates['output'], output);
  const pieces = [
    ['request', 1],
    ['image', count('images')],
    ['webSearch', count('webSearches')],
    ['fileSearch', count('fileSearches')],
    ['container', count('containers')],
  ] as const;
  for (const [name, uses] of pieces) millionths += BigInt(uses) * (terms.rates[name] ?? 0n) * million;
  const quotient = millionths / million;
  const twice = 2n * (millionths % million);
  return twice > million || (twice === million && quotient % 2n === 1n) ? quotient + 1n : quotient;
}
