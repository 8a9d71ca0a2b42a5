/** What can be done with price updates: apply a feed, confirm what it held back, undo. */
import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { freePrice, GatewayError, type Catalog, type Documents, type Model } from '../../../core/index.ts';
import { readCatalogue } from '../../shared/provider/catalogue-file.ts';
import type { PublicKey } from './load-feed.ts';
import { comparePrices, listFields, type FieldChange, type PricedModel } from './price-changes.ts';
import {
  addUpdate,
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
  readonly publicKey: PublicKey | undefined;
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

export interface FeedResult {
  /** Numbers of the updates that were made. */
  readonly applied: number | null;
  readonly held: number | null;
  /** Models of the catalogue that the feed has a price for. */
  readonly matched: number;
  readonly fields: readonly FieldChange[];
  /** Changes that a person has to look at, each with the reasons. */
  readonly doubtful: readonly {
    readonly provider: string;
    readonly model: string;
    readonly reasons: readonly string[];
  }[];
}

function isSame(one: PriceChange, other: PriceChange): boolean {
  return (
    one.provider === other.provider &&
    one.model === other.model &&
    serializePrice(one) === serializePrice(other)
  );
}

function serializePrice({ price }: PriceChange): string {
  return JSON.stringify(price);
}

/** Whether the last update that had this change is held back or was undone. */
function wasRefused({ updates }: PriceHistory, change: PriceChange): boolean {
  const last = updates.findLast((update) => update.changes.some((each) => isSame(each, change)));
  return last !== undefined && last.state !== 'applied';
}

/** Applies a feed. Changes that a person has to look at become an update that is held back. */
export async function applyFeed(
  documents: Documents,
  catalog: Catalog,
  snapshot: Snapshot,
  order: FeedOrder,
): Promise<FeedResult> {
  const priceModels = await createPricer(catalog, snapshot.vendors.keys());
  return editHistory(documents, (history) => {
    const { changes, matched } = comparePrices(priceModels(new AppliedPrices(history)), snapshot);
    const wanted = order.automatic ? changes.filter((change) => !wasRefused(history, change)) : changes;
    const held = order.confirmed ? [] : wanted.filter(({ reasons }) => reasons.length > 0);
    const known = wanted.filter((change) => !held.includes(change));
    const shown = {
      matched,
      fields: wanted.flatMap(listFields),
      doubtful: wanted
        .filter(({ reasons }) => reasons.length > 0)
        .map(({ provider, model, reasons }) => ({ provider, model, reasons })),
    };
    if (order.dry || wanted.length === 0) return { result: { applied: null, held: null, ...shown } };
    const made: Record<'applied' | 'held', number | null> = { applied: null, held: null };
    let next = history;
    for (const [state, some] of [
      ['applied', known],
      ['held', held],
    ] as const) {
      if (some.length === 0) continue;
      const { id, ...grown } = addUpdate(next, {
        at: new Date().toISOString(),
        from: new Date(order.from).toISOString(),
        source: order.source,
        by: order.by,
        state,
        changes: some,
      });
      [next, made[state]] = [grown, id];
    }
    return { next, result: { ...made, ...shown } };
  });
}

/** The update with this number, or the last one that was applied. */
function requireUpdate({ updates }: PriceHistory, id: number | undefined): PriceUpdate {
  const found = updates.findLast((update) =>
    id === undefined ? update.state === 'applied' : update.id === id,
  );
  if (found) return found;
  const missing =
    id === undefined
      ? 'there is no price update to undo'
      : `there is no price update ${id}; \`prices list\` shows those there are`;
  throw new GatewayError('not_found', missing);
}

/** Replaces one update. `change` throws if its state does not allow that. */
function replaceUpdate(
  documents: Documents,
  id: number | undefined,
  change: (update: PriceUpdate) => PriceUpdate,
): Promise<PriceUpdate> {
  return editHistory(documents, (history) => {
    const found = requireUpdate(history, id);
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

/** Undoes an update, or the last one that was applied. One that is held back is refused for good. */
export function undoUpdate(documents: Documents, id: number | undefined, by: string): Promise<PriceUpdate> {
  return replaceUpdate(documents, id, (update) => {
    if (update.state === 'undone')
      throw new GatewayError('conflict', `the price update ${update.id} was undone already`);
    return { ...update, by, state: 'undone' };
  });
}

/** An update as it is shown. */
export function showUpdate({ changes, ...update }: PriceUpdate) {
  const reasons = [...new Set(changes.flatMap((change) => change.reasons))];
  return { ...update, models: changes.length, reasons, fields: changes.flatMap(listFields) };
}

export type ShownUpdate = ReturnType<typeof showUpdate>;

export async function listUpdates(documents: Documents): Promise<ShownUpdate[]> {
  return (await readHistory(documents)).history.updates.map(showUpdate);
}
