/**
 * Money is an integer count of nano-USD (10^-9 USD) in a BigInt. No floating-point number takes part.
 */

export type Nano = bigint;

const nanoDigits = 9;

/** `"0.0375"` → 37500000n. Throws unless it is a plain decimal with at most nine places. */
export function parseUsd(text: string): Nano {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text);
  if (!match) throw new RangeError(`not an amount in USD with at most ${nanoDigits} decimals: "${text}"`);
  const [, sign, whole = '0', fraction = ''] = match;
  const nano = BigInt(whole + fraction.padEnd(nanoDigits, '0'));
  return sign === '-' ? -nano : nano;
}

/** 37500000n → `"0.0375"`: exact, without trailing zeros. */
export function formatUsd(nano: Nano): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(nanoDigits + 1, '0');
  const fraction = digits.slice(-nanoDigits).replace(/(?<!0)0+$/, '');
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -nanoDigits)}${fraction && `.${fraction}`}`;
}

/** The nearest double of an amount in USD. Only the balance reply shows money as a JSON number. */
export function toUsdNumber(nano: Nano): number {
  return Number(formatUsd(nano));
}
