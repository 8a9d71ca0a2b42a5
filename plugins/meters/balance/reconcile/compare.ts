/**
 * Compares a vendor's bill with the ledger by day and model. What differs by little is taken as equal:
 * vendors round, and book a call at midnight on the other day.
 */
import { formatUsd, type Nano } from '../../../../core/index.ts';

/** A part of either side. */
export interface Part {
  readonly side: 'bill' | 'ledger';
  readonly day: string;
  /** The model's name without its version. */
  readonly name: string;
  /** The model as the ledger names it. */
  readonly id?: string;
  readonly cost?: Nano;
  readonly input?: number;
  readonly output?: number;
}

/** What may differ for a day and a model: a share of the bill, and at least so much. */
export const least = { usd: '0.01', tokens: 100 };

export function sumParts(parts: readonly Part[], side: Part['side']) {
  const own = parts.filter((part) => part.side === side);
  const sumUp = (count: (part: Part) => number | undefined): number =>
    own.reduce((sum, part) => sum + (count(part) ?? 0), 0);
  const nano = own.reduce((sum, { cost = 0n }) => sum + cost, 0n);
  const [input, output] = [sumUp((part) => part.input), sumUp((part) => part.output)];
  return { lines: own.length, cost: formatUsd(nano), input, output };
}

/** A day that one side lacks is compared as a whole. */
function joinLonelyDays(parts: readonly Part[]): Part[] {
  const [bill, ledger] = [new Set<string>(), new Set<string>()];
  for (const { side, day } of parts) (side === 'bill' ? bill : ledger).add(day);
  const isLonely = (day: string): boolean => !bill.has(day) || !ledger.has(day);
  return parts.map((part) => (isLonely(part.day) ? { ...part, name: '', id: 'all models' } : part));
}

/** The differences in the order of days. */
export function compareParts(parts: readonly Part[], percent: number) {
  const bills = parts.filter(({ side }) => side === 'bill');
  const isPriced = bills.some(({ cost }) => cost !== undefined);
  // Vendors count no tokens of some models, such as those that are billed by the picture.
  const counted = new Set(
    bills.filter(({ input = 0, output = 0 }) => input + output > 0).map(({ name }) => name),
  );
  const isClose = (theirs: number, own: number, most: number): boolean =>
    Math.abs(theirs - own) <= Math.max(most, (Math.abs(theirs) * percent) / 100);
  const groups = Map.groupBy(joinLonelyDays(parts), ({ day, name }) => `${day} ${name}`);
  return [...groups.keys()].toSorted().flatMap((key) => {
    const group = groups.get(key) ?? [];
    const { day = '', name = '' } = group[0] ?? {};
    const [bill, ledger] = [sumParts(group, 'bill'), sumParts(group, 'ledger')];
    const isOneSided = bill.lines === 0 || ledger.lines === 0;
    const isCounted = counted.has(name) || (isOneSided && counted.size > 0);
    const isSameUse =
      isClose(bill.input, ledger.input, least.tokens) && isClose(bill.output, ledger.output, least.tokens);
    const isSameCost = !isPriced || isClose(Number(bill.cost), Number(ledger.cost), Number(least.usd));
    if (isSameCost && (isSameUse || !isCounted)) return [];
    const unpriced = isCounted
      ? 'tokens agree and money does not'
      : 'money differs, and the bill has no tokens';
    const both = isCounted && !isSameUse ? 'tokens differ' : unpriced;
    const what = isOneSided ? `only the ${bill.lines === 0 ? 'ledger' : 'bill'} has it` : both;
    return [{ day, model: group.find(({ id }) => id)?.id ?? name, what, bill, ledger }];
  });
}
