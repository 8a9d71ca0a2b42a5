/** What vendors bill for calls charged at another price: records show it, and the ledger books it. */
import { computeCost, type Charge, type Nano, type Price } from '../../core/index.ts';

const origins = new WeakMap<Price, Price>();

/** Remembers the vendor's price behind a price with a markup. */
export function rememberVendorPrice(price: Price, origin: Price): void {
  origins.set(price, origin);
}

/** What the vendor bills for a charge; undefined if it is what was charged. */
export function computeVendorCost(charge: Charge, price: Price): Nano | undefined {
  const { basis, vendorCost } = charge;
  const isBilled = basis !== 'none' || vendorCost !== undefined;
  const own = isBilled ? origins.get(price) : undefined;
  return own ? computeCost(charge, own) : vendorCost;
}
