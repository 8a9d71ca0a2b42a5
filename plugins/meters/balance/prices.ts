/**
 * Prices as the ledger stores them: with a member for each rate, which earlier versions read, too. Different
 * rates have different versions.
 */
import { hash } from 'node:crypto';
import { storePrice, type Price } from '../../../core/index.ts';
import type { Store } from './store.ts';

const versionLength = 12;

export interface PriceRecord {
  /** The start of the digest of the rates, so the same rates have the same version in every process. */
  readonly version: string;
  readonly rates: string;
}

/** One record for each price, made once: all calls of a model share it. */
const records = new WeakMap<Price, PriceRecord>();

export function getPriceRecord(price: Price): PriceRecord {
  const known = records.get(price);
  if (known) return known;
  const rates = JSON.stringify(storePrice(price));
  const record = { version: hash('sha256', rates, 'hex').slice(0, versionLength), rates };
  records.set(price, record);
  return record;
}

/**
 * Defines each price in a store before the first quote at it. If that fails, the next call defines it again.
 */
export class PriceBook {
  readonly #defined = new Set<string>();

  /** Call it in the same turn as `reserve`, so that both share a transaction. */
  definePrice(store: Store, price: Price): void {
    const { version, rates } = getPriceRecord(price);
    if (this.#defined.has(version)) return;
    this.#defined.add(version);
    store.definePrice({ version, rates, at: Date.now() }).catch(() => this.#defined.delete(version));
  }
}
