/**
 * The usage of a call, as protocols report it: a count for each kind of use. An unknown count is absent,
 * never zero. Counts include their parts: `input` and `output` contain cached, audio and reasoning tokens,
 * even if the provider reports them apart. What is charged is computed from the same counts as a list.
 */
import { z } from 'zod';
import { findKind, kinds, listUses, nameKind, type CountName, type Use, type Used } from './units.ts';

const count = z.int().nonnegative();
const amount = z.number().nonnegative();

// TypeScript cannot follow the names of the table through a list.
const counts = Object.fromEntries(
  kinds.map(({ countName, isDivisible }) => [countName, (isDivisible ? amount : count).optional()]),
) as Record<CountName, z.ZodOptional<z.ZodNumber>>;

export const usageSchema = z.strictObject({
  ...counts,
  /** Tokens of the input that Google's own tools added. */
  toolPrompt: count.optional(),
  acceptedPrediction: count.optional(),
  rejectedPrediction: count.optional(),
  /** The service mode, if it has its own rates or was asked for; "usual" if it was not applied. */
  mode: z.string().optional(),
});

export interface Usage extends z.infer<typeof usageSchema> {}

/** Returns a count from a provider. A fraction, a string, or a negative or unsafe number is unknown. */
export function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

export function toUsed(usage: Usage): Used {
  return { uses: listUses(usage), mode: usage.mode };
}

function isCountName(name: string | undefined): name is CountName {
  return name !== undefined && Object.hasOwn(counts, name);
}

/** A list as counts by their names, as protocols report it and ledgers store it. */
export function nameCounts(uses: readonly Use[]): Usage {
  const named: Partial<Record<CountName, number>> = {};
  for (const use of uses) {
    const name = findKind(nameKind(use))?.countName;
    if (isCountName(name)) named[name] ??= use.count;
  }
  return named;
}
