/** Exact amounts: decimal strings in USD with up to nine places, added as integers and never as floats. */
import type { Offer } from '../../../shared/replies/models.ts';
import { html } from './kit.ts';

const places = 9;

/** Whether a text is an amount as the API writes it. */
export function isDecimal(text: string): boolean {
  return /^-?\d+(\.\d+)?$/.test(text);
}

/** Nano-USD of an amount. */
export function parseUsd(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(places, '0').slice(0, places));
  return amount.startsWith('-') ? -value : value;
}

/** An amount of nano-USD, with the places it needs. */
export function formatUsd(value: bigint): string {
  const digits = String(value < 0n ? -value : value).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/(?<!0)0+$/, '');
  const whole = digits.slice(0, -places);
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

export function sumAmounts(amounts: readonly string[]): string {
  return formatUsd(amounts.reduce((total, amount) => total + parseUsd(amount), 0n));
}

/** `$1,234.50`, with all places. */
export function formatDollars(amount: string): string {
  const [whole = '0', fraction = ''] = amount.replace('-', '').split('.');
  const grouped = BigInt(whole).toLocaleString('en-US');
  return `${amount.startsWith('-') ? '−' : ''}$${grouped}.${fraction.padEnd(2, '0')}`;
}

/** An amount with all its places; those after the cents are dimmed. */
export function renderUsd(amount: string | null | undefined) {
  if (amount === null || amount === undefined) return html`<span class="dim">–</span>`;
  const text = formatDollars(amount);
  const cents = text.indexOf('.') + 3;
  const tail = text.length > cents && html`<wbr /><span class="tail">${text.slice(cents)}</span>`;
  return html`<span class="amount">${text.slice(0, cents)}${tail}</span>`;
}

/** What a unit costs in all modalities, as the price states it. */
export function findRate(price: Offer['price'], wanted: string): string | null {
  const found = price?.rates.find(({ unit, modality }) => unit === wanted && modality === undefined);
  return found?.rate ?? null;
}
