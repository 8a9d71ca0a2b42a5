/**
 * What a price feed changes: for each model of the catalogue that the feed has another price for, the whole
 * new price, and why a person has to look at it first. Models that the catalogue does not have are left out.
 */
import {
  findKind,
  nameKind,
  parseRate,
  priceSchema,
  storePrice,
  type Kind,
  type Price,
  type Rate,
} from '../../../core/index.ts';
import { formatTable } from '../../shared/table.ts';
import { computeVersion, type PriceChange } from './price-history.ts';
import { flattenPrice } from './price-list.ts';
import type { Figures, Snapshot } from './snapshot.ts';

/** A model of the catalogue, with the price of its file and the price that it has now. */
export interface PricedModel {
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly model: string;
  readonly id: string;
  /** Whether the provider has the id once, so that it names this price under every name of the provider. */
  readonly alone: boolean;
  readonly own: Price;
  readonly now: Price;
}

export interface FieldChange {
  readonly provider: string;
  readonly model: string;
  readonly field: string;
  readonly old?: string | undefined;
  readonly new?: string | undefined;
}

const limits = new Set(['contextLength', 'outputLimit']);

/** A figure's kind, which is undefined for limits, and where it holds. */
function parseFigure(figure: string) {
  const [, name = '', above, mode, rule] =
    /^(\w+)(?: above (\d+)| served (.+)| by (.+))?$/s.exec(figure) ?? [];
  return { name, kind: findKind(name), above: above === undefined ? undefined : Number(above), mode, rule };
}

/** What a figure costs in a price: its own rate, else that of the kind it is part of, else the usual one. */
function findFigure(figures: Figures, figure: string): string | undefined {
  const { name, kind } = parseFigure(figure);
  if (!kind || kind.isFee) return figures[figure];
  const suffix = figure.slice(name.length);
  const known = [figure, kind.whole + suffix, name, kind.whole];
  return known.map((each) => figures[each]).find((rate) => rate !== undefined);
}

/** Rates with one of them replaced or added. */
function setRate(rates: readonly Rate[], { name, unit, modality }: Kind, rate: string): Rate[] {
  const named = new Map(rates.map((each) => [nameKind(each), each]));
  return [...named.set(name, { unit, ...(modality && { modality }), rate }).values()];
}

/** A copy of the price with these figures. New tiers and modes inherit the rates that they do not state. */
function applyFigures(price: Price, figures: Figures): Price {
  const usual = price.rates.filter(
    ({ unit, modality }) => !modality && (unit === 'input' || unit === 'output'),
  );
  const tiers = new Map(price.tiers.map(({ above, rates }) => [above, rates]));
  const modes = { ...price.modes };
  let { rates } = price;
  for (const [figure, rate] of Object.entries(figures)) {
    const { kind, above, mode, rule } = parseFigure(figure);
    if (!kind || rule !== undefined) continue;
    if (above !== undefined) tiers.set(above, setRate(tiers.get(above) ?? usual, kind, rate));
    else if (mode !== undefined)
      modes[mode] = { ...modes[mode], rates: setRate(modes[mode]?.rates ?? usual, kind, rate) };
    else rates = setRate(rates, kind, rate);
  }
  return {
    ...price,
    rates,
    tiers: [...tiers].map(([above, long]) => ({ above, rates: long })),
    ...(Object.keys(modes).length > 0 ? { modes } : {}),
  };
}

/** What either has. */
export function listNames(before: Figures, after: Figures): string[] {
  return Object.keys({ ...before, ...after });
}

function findDrops(before: Figures, after: Figures): string[] {
  const reasons = new Set<string>();
  for (const figure of listNames(before, after)) {
    const [old, rate] = [findFigure(before, figure), findFigure(after, figure)];
    if (old === undefined || rate === undefined || limits.has(figure)) continue;
    const [was, is] = [parseRate(old), parseRate(rate)];
    if (was > 0n && is === 0n) reasons.add('becomes free');
    else if (is * 2n < was) reasons.add('drops by more than half');
  }
  return [...reasons];
}

/** Rates that a feed leaves as they are although it changes others of the price. */
function findUnstated(before: Figures, stated: Figures): string[] {
  const left = Object.keys(before).filter((figure) => {
    const { kind } = parseFigure(figure);
    return stated[figure] === undefined && !kind?.isFee && before[figure] !== '0';
  });
  return left.length > 0 ? [`does not state ${left.join(', ')}`] : [];
}

function compareModel(
  model: PricedModel,
  stated: Figures,
  whole: Price | undefined,
  byHand: boolean,
): PriceChange | undefined {
  const before = flattenPrice(model.now);
  const price = priceSchema.parse(storePrice(whole ?? applyFigures(model.now, stated)));
  if (computeVersion(price) === computeVersion(model.now)) return undefined;
  const { provider, id, alone } = model;
  return {
    provider,
    model: model.model,
    id,
    alone,
    base: computeVersion(model.own),
    was: storePrice(model.now),
    price: storePrice(price),
    reasons: [
      ...findDrops(before, flattenPrice(price)),
      ...(whole || byHand ? [] : findUnstated(before, stated)),
    ],
  };
}

/** The figures that differ between the old and the new price of a change. */
export function listFields({ provider, model, was, price }: PriceChange): FieldChange[] {
  const [before, after] = [flattenPrice(priceSchema.parse(was)), flattenPrice(priceSchema.parse(price))];
  return listNames(before, after)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ provider, model, field, old: before[field], new: after[field] }));
}

/** What a feed changes at these models, and how many of them it has a price for. */
export function comparePrices(models: readonly PricedModel[], { vendors, prices, byHand = false }: Snapshot) {
  let matched = 0;
  const changes = models.flatMap((model) => {
    const stated = vendors.get(model.provider)?.get(model.model);
    if (!stated) return [];
    matched += 1;
    return compareModel(model, stated, prices?.get(model.provider)?.get(model.model), byHand) ?? [];
  });
  return { changes, matched };
}

export function formatFields(fields: readonly FieldChange[]): string {
  return formatTable(
    ['MODEL', 'FIELD', 'OLD', 'NEW'],
    fields.map((each) => [`${each.provider} ${each.model}`, each.field, each.old ?? '–', each.new ?? '–']),
  );
}
