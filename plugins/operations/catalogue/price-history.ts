/**
 * The prices that feeds have changed, as one document that all gateways of a ledger share: each update with
 * its time of effect, and whether it was applied, is held back, or was undone. The price of a model is that
 * of its last applied update that is in effect. It holds only while the catalogue's own price is the one that
 * the update replaced: a newer catalogue, or an operator's option, wins.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { priceSchema, storePrice, type Documents, type Model, type Price } from '../../../core/index.ts';

const changeSchema = z.object({
  provider: z.string(),
  /** The provider's own name of the model. */
  model: z.string(),
  id: z.string(),
  /** Whether the id alone names the price too: some providers have one id several times. */
  alone: z.boolean(),
  /** The version of the catalogue's price at that time. */
  base: z.string(),
  was: z.unknown(),
  price: z.unknown(),
  /** Why a person has to look at it. */
  reasons: z.array(z.string()),
});

export type PriceChange = z.output<typeof changeSchema>;

const updateSchema = z.object({
  id: z.int(),
  at: z.iso.datetime(),
  /** When it takes effect. */
  from: z.iso.datetime(),
  source: z.string(),
  by: z.string(),
  state: z.enum(['applied', 'held', 'undone']),
  changes: z.array(changeSchema),
});

export type PriceUpdate = z.output<typeof updateSchema>;

const historySchema = z.object({
  updates: z.array(updateSchema).default([]),
  /** The automatic feed: when it was read last, and the fault of the last time. */
  feed: z
    .object({ attempted: z.number(), succeeded: z.number().optional(), fault: z.string().optional() })
    .optional(),
});

export type PriceHistory = z.output<typeof historySchema>;

const documentName = 'prices';
/** Updates beyond this number are forgotten once nothing depends on them. */
const mostUpdates = 200;

/** JSON with sorted keys, so that equal prices have equal versions. */
function toSortedJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
}

const versions = new WeakMap<Price, string>();

export function computeVersion(price: Price): string {
  const known = versions.get(price);
  if (known) return known;
  const version = hash('sha256', toSortedJson(storePrice(price)), 'hex').slice(0, 16);
  versions.set(price, version);
  return version;
}

export async function readHistory(documents: Documents) {
  const found = await documents.read(documentName);
  return { version: found?.version ?? 0, history: historySchema.parse(found ? JSON.parse(found.text) : {}) };
}

const mostTries = 20;

/** Edits the history, unless the edit has no `next`. It runs again if another process wrote meanwhile. */
export async function editHistory<Result>(
  documents: Documents,
  edit: (history: PriceHistory) => { readonly next?: PriceHistory; readonly result: Result },
): Promise<Result> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { version, history } = await readHistory(documents);
    const { next, result } = edit(history);
    if (!next || (await documents.write(documentName, JSON.stringify(prune(next)), version))) return result;
  }
  throw new Error('the prices are being changed by others: try again');
}

function toKey({ provider, model }: Pick<PriceChange, 'provider' | 'model'>): string {
  return JSON.stringify([provider, model]);
}

/** Forgets the oldest updates that no price depends on: undone ones, and those that later ones replaced. */
function prune(history: PriceHistory): PriceHistory {
  let excess = history.updates.length - mostUpdates;
  const now = Date.now();
  const isReplaced = (update: PriceUpdate): boolean =>
    update.changes.every((change) =>
      history.updates.some(
        (later) =>
          later.state === 'applied' &&
          isLater(later, update) &&
          Date.parse(later.from) <= now &&
          later.changes.some((each) => toKey(each) === toKey(change)),
      ),
    );
  const updates = history.updates.filter((update) => {
    const isNeeded =
      excess <= 0 || update.state === 'held' || (update.state === 'applied' && !isReplaced(update));
    if (!isNeeded) excess -= 1;
    return isNeeded;
  });
  return { ...history, updates };
}

function isLater(one: PriceUpdate, other: PriceUpdate): boolean {
  const [first, second] = [Date.parse(one.from), Date.parse(other.from)];
  return first > second || (first === second && one.id > other.id);
}

/** The prices of a history, for the catalogue. */
export class AppliedPrices {
  /** Prices by provider and model, the last in effect first. */
  readonly #prices = new Map<string, { from: number; base: string; price: Price }[]>();
  readonly #starts: readonly number[];

  constructor({ updates }: PriceHistory) {
    const applied = updates
      .filter(({ state }) => state === 'applied')
      .toSorted((one, other) => (isLater(one, other) ? -1 : 1));
    this.#starts = applied.map(({ from }) => Date.parse(from));
    for (const update of applied) {
      for (const { provider, model, id, alone, base, price } of update.changes) {
        const inEffect = { from: Date.parse(update.from), base, price: priceSchema.parse(price) };
        for (const name of alone && id !== model ? [model, id] : [model]) {
          const key = toKey({ provider, model: name });
          const known = this.#prices.get(key);
          if (known) known.push(inEffect);
          else this.#prices.set(key, [inEffect]);
        }
      }
    }
  }

  /** The price of a model at a time. Undefined: the catalogue's own. */
  find(
    provider: string,
    { upstream, id }: Pick<Model, 'upstream' | 'id'>,
    own: Price,
    at: number,
  ): Price | undefined {
    const known =
      this.#prices.get(toKey({ provider, model: upstream })) ??
      this.#prices.get(toKey({ provider, model: id }));
    const found = known?.find(({ from }) => from <= at);
    return found?.base === computeVersion(own) ? found.price : undefined;
  }

  /** When another price takes effect. */
  findNextChange(at: number): number {
    return this.#starts.reduce((next, from) => (from > at && from < next ? from : next), Infinity);
  }
}
