/** What can be done with price updates: apply a feed, confirm what it held back, undo. */
import type { KeyObject } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { freePrice, GatewayError, type Catalog, type Documents, type Model } from '../../../core/index.ts';
import { readCatalogue } from '../../shared/provider/catalogue-file.ts';
import { comparePrices, listFields, type PricedModel } from './price-changes.ts';
import {
  AppliedPrices,
  editHistory,
  readHistory,
  type PriceChange,
  type PriceHistory,
  type PriceUpdate,
} from './price-history.ts';
import type { Snapshot } from './snapshot.ts';

export interface PriceWork {
  readonly catalog: Catalog;
  readonly publicKey: KeyObject | undefined;
  /** Throws if no plugin stores documents. */
  use<Result>(work: (documents: Documents) => Promise<Result>): Promise<Result>;
}

const folder = new URL('../../providers/catalogue/', import.meta.url);

/**
 * The models of a vendor: of its catalogue file, even if the provider is off, or else those that a provider
 * of that name offers.
 */
export function findModels(catalog: Catalog, vendor: string): Model[] {
  if (readdirSync(folder).includes(`${vendor}.json`)) return readCatalogue(new URL(`${vendor}.json`, folder));
  return catalog
    .listModels()
    .flatMap(({ id }) => catalog.find(id))
    .flatMap(({ provider, model }) => (provider.name === vendor ? [model] : []));
}

/** The models of these vendors, with the prices that they have once all updates are in effect. */
async function createPricer(
  catalog: Catalog,
  vendors: Iterable<string>,
): Promise<(applied: AppliedPrices) => PricedModel[]> {
  const found: (readonly [vendor: string, model: Model, alone: boolean])[] = [];
  for (const vendor of vendors) {
    const models = findModels(catalog, vendor);
    const byId = Map.groupBy(models, ({ id }) => id);
    for (const model of models) found.push([vendor, model, byId.get(model.id)?.length === 1]);
    // A feed has dozens of vendors, and calls wait meanwhile.
    await nextTurn();
  }
  return (applied) =>
    found.map(([provider, model, alone]) => {
      const own = model.price ?? freePrice;
      const now = applied.find(provider, model, own, Infinity) ?? own;
      return { provider, model: model.upstream, id: model.id, alone, own, now };
    });
}

export interface FeedOrder {
  readonly source: string;
  /** Milliseconds since the epoch. */
  readonly from: number;
  /** Who applies it: `command line`, `feed`, or an operator's key. */
  readonly by: string;
  /** Whether changes that a person has to look at are applied at once. */
  readonly confirmed: boolean;
  /** An automatic feed does not repeat what is held back or was undone. */
  readonly automatic?: boolean;
  /** Only shows what would change. */
  readonly dry?: boolean;
}

function toText({ provider, model, price }: PriceChange): string {
  return JSON.stringify([provider, model, price]);
}

/** Whether the last update that had this change is held back or was undone. */
function wasRefused({ updates }: PriceHistory, change: PriceChange): boolean {
  const same = toText(change);
  const last = updates.findLast((update) => update.changes.some((each) => toText(each) === same));
  return last !== undefined && last.state !== 'applied';
}

/**
 * Applies a feed. Changes that a person has to look at become an update that is held back. Returns the
 * numbers of the updates that were made, and what they change.
 */
export async function applyFeed(
  documents: Documents,
  catalog: Catalog,
  snapshot: Snapshot,
  order: FeedOrder,
) {
  const priceModels = await createPricer(catalog, snapshot.vendors.keys());
  return editHistory(documents, (history) => {
    const { changes, matched } = comparePrices(priceModels(new AppliedPrices(history)), snapshot);
    const wanted = order.automatic ? changes.filter((change) => !wasRefused(history, change)) : changes;
    const doubtful = wanted.filter(({ reasons }) => reasons.length > 0);
    const held = order.confirmed ? [] : doubtful;
    const updates = [...history.updates];
    const addUpdate = (state: 'applied' | 'held', some: readonly PriceChange[]): number | null => {
      if (order.dry || some.length === 0) return null;
      const id = 1 + updates.reduce((last, each) => Math.max(last, each.id), 0);
      const { source, by } = order;
      const [at, from] = [new Date().toISOString(), new Date(order.from).toISOString()];
      updates.push({ id, at, from, source, by, state, changes: [...some] });
      return id;
    };
    const result = {
      applied: addUpdate(
        'applied',
        wanted.filter((change) => !held.includes(change)),
      ),
      held: addUpdate('held', held),
      matched,
      fields: wanted.flatMap(listFields),
      doubtful: doubtful.map(({ provider, model, reasons }) => ({ provider, model, reasons })),
    };
    return updates.length > history.updates.length ? { next: { ...history, updates }, result } : { result };
  });
}

export type FeedResult = Awaited<ReturnType<typeof applyFeed>>;

/** Replaces one update. `change` throws if its state does not allow that. */
function replaceUpdate(
  documents: Documents,
  id: number,
  change: (update: PriceUpdate) => PriceUpdate,
): Promise<PriceUpdate> {
  return editHistory(documents, (history) => {
    const found = history.updates.find((update) => update.id === id);
    if (!found)
      throw new GatewayError(
        'not_found',
        `there is no price update ${id}; \`prices list\` shows those there are`,
      );
    const changed = change(found);
    const updates = history.updates.map((update) => (update === found ? changed : update));
    return { next: { ...history, updates }, result: changed };
  });
}

/** Applies an update that was held back: from its time on, or from now on if that time has passed. */
export function confirmUpdate(documents: Documents, id: number, by: string): Promise<PriceUpdate> {
  return replaceUpdate(documents, id, (update) => {
    if (update.state !== 'held')
      throw new GatewayError('conflict', `the price update ${id} is ${update.state}, and not held back`);
    const from = new Date(Math.max(Date.parse(update.from), Date.now())).toISOString();
    return { ...update, from, by, state: 'applied' };
  });
}

/** Undoes an update. One that is held back is refused for good. */
export function undoUpdate(documents: Documents, id: number, by: string): Promise<PriceUpdate> {
  return replaceUpdate(documents, id, (update) => {
    if (update.state === 'undone')
      throw new GatewayError('conflict', `the price update ${id} was undone already`);
    return { ...update, by, state: 'undone' };
  });
}

/** An update as it is shown. */
export function showUpdate({ changes, ...update }: PriceUpdate) {
  const reasons = [...new Set(changes.flatMap((change) => change.reasons))];
  return { ...update, models: changes.length, reasons, fields: changes.flatMap(listFields) };
}

export async function listUpdates(documents: Documents) {
  return (await readHistory(documents)).history.updates.map(showUpdate);
}
