/** Prices as the ledger keeps them: the rates as the catalogue writes them, each under a version of its own. */
import { hash } from 'node:crypto';
import { formatUsd, type Price } from '../../../core/index.ts';
import type { Store } from './store.ts';

const versionLength = 12;

export interface PriceRecord {
  /** The start of the digest of the rates: the same rates have the same version, whoever reads them. */
  readonly version: string;
  readonly rates: string;
}

/** One record for each price: every call of a model has the same, and a catalogue lives long. */
const records = new WeakMap<Price, PriceRecord>();

export function priceRecord(price: Price): PriceRecord {
  const known = records.get(price);
  if (known) return known;
  const rates = JSON.stringify(price, (_, value: unknown) => (typeof value === 'bigint' ? formatUsd(value) : value));
  const record = { version: hash('sha256', rates, 'hex').slice(0, versionLength), rates };
  records.set(price, record);
  return record;
}

/** Tells a store of each price before it is first quoted from; where that failed it is told again with the next call. */
export class PriceBook {
  readonly #told = new Set<string>();

  /** In the same turn as the reservation, so that both share a transaction. */
  tell(store: Store, price: Price): void {
    const { version, rates } = priceRecord(price);
    if (this.#told.has(version)) return;
    this.#told.add(version);
    store.definePrice({ version, rates, at: Date.now() }).catch(() => this.#told.delete(version));
  }
}
