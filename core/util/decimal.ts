/**
 * Decimal numbers as texts, exactly: rates of prices, and factors on them. No floating-point number takes
 * part, and none is rounded.
 */

interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

const plain = /^(\d{1,40})(?:\.(\d{1,60}))?$/;

export function isDecimal(text: string): boolean {
  return plain.test(text);
}

function split(text: string): Decimal {
  const [, whole, fraction = ''] = plain.exec(text) ?? [];
  if (whole === undefined) throw new RangeError(`not a decimal number: "${text}"`);
  return { digits: BigInt(whole + fraction), places: fraction.length };
}

function join({ digits, places }: Decimal): string {
  const text = digits.toString().padStart(places + 1, '0');
  const fraction = text.slice(text.length - places).replace(/(?<!0)0+$/, '');
  return `${text.slice(0, text.length - places)}${fraction && `.${fraction}`}`;
}

/** The shortest text of the same number. */
export function trimDecimal(text: string): string {
  return join(split(text));
}

export function multiplyDecimals(one: string, other: string): string {
  const [first, second] = [split(one), split(other)];
  return join({ digits: first.digits * second.digits, places: first.places + second.places });
}

export function addDecimals(one: string, other: string): string {
  const [first, second] = [split(one), split(other)];
  const places = Math.max(first.places, second.places);
  return join({ digits: scaleDecimal(one, places) + scaleDecimal(other, places), places });
}

/** Moves the point to the right, or to the left if `by` is negative. */
export function shiftDecimal(text: string, by: number): string {
  const { digits, places } = split(text);
  return places >= by
    ? join({ digits, places: places - by })
    : join({ digits: digits * 10n ** BigInt(by - places), places: 0 });
}

/** The number as an integer of the unit 10^-`places`. Throws if it is smaller than that unit. */
export function scaleDecimal(text: string, places: number): bigint {
  const parts = split(text);
  if (parts.places > places) throw new RangeError(`more than ${places} decimals: "${text}"`);
  return parts.digits * 10n ** BigInt(places - parts.places);
}
