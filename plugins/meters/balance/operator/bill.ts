/**
 * What an entry was charged for, line by line, from the lines that were booked with it. A line is not
 * rounded, so its amount has up to 15 decimal places; the ledger rounds the sum once.
 */
import { z } from 'zod';
import { parseUsd, getRateUnits } from '../../../../core/index.ts';

const million = 1_000_000n;
const bookedSchema = z.array(z.tuple([z.string(), z.union([z.int(), z.string()]), z.string()]));

/** USD of a millionth of a nano-USD. */
function formatExactUsd(value: bigint): string {
  const digits = String(value).padStart(16, '0');
  const fraction = digits.slice(-15).replace(/(?<!0)0+$/, '');
  return `${digits.slice(0, -15)}${fraction && `.${fraction}`}`;
}

export function computeBill(costs: unknown) {
  const booked = bookedSchema.safeParse(costs).data ?? [];
  const amounts = booked.map(
    ([kind, units, price]) => BigInt(units) * parseUsd(price) * (million / getRateUnits(kind)),
  );
  return {
    lines: booked.map(([kind, units, price], index) => ({
      kind,
      units: Number(units),
      price,
      per: Number(getRateUnits(kind)),
      amount: formatExactUsd(amounts[index] ?? 0n),
    })),
    total: formatExactUsd(amounts.reduce((sum, amount) => sum + amount, 0n)),
  };
}
