/** What a budget says besides whose it is, as operators write it. */
import { z } from 'zod';
import { formatUsd, usd } from '../../../../core/index.ts';
import { isZone, periodNames } from '../budgets/periods.ts';
import { largestAmount } from './reading.ts';

/** Nothing at all may be spent where it is 0. */
export const limit = usd.refine(
  (nano) => nano >= 0n && nano <= largestAmount,
  `a limit is from 0 to ${formatUsd(largestAmount)} USD`,
);
const perCent = 'it has to be a whole number of per cent, from 1 to 1000';
export const thresholds = z
  .array(z.int(perCent).min(1, perCent).max(1000, perCent))
  .max(10)
  .transform((each) => [...new Set(each)].toSorted((one, other) => one - other));

/** A budget of what is being made: without its scope and subject. */
export const budgetTerms = z.strictObject({
  limit,
  per: z.enum(periodNames, `a budget is per ${periodNames.join(', ')}`).default('month'),
  zone: z.string().refine(isZone, 'a time zone is named as in Europe/Berlin or UTC').default('UTC'),
  /** Whether it refuses calls; a soft one only warns. */
  hard: z.boolean().default(true),
  thresholds: thresholds.default([50, 80, 100]),
});
