/** What operators send about a provider. */
import { z } from 'zod';

const key = z.int('a key is named by its number').min(1).optional();
const model = z.string().min(1).max(300).optional();

/** A provider, or one of its keys, or one model there. */
export const placeOrder = z.strictObject({ key, model });

/** The longest rest: a week. */
const longest = 7 * 24 * 3600;

export const restOrder = placeOrder.extend({
  seconds: z.number().positive().max(longest, `a rest lasts at most ${longest} seconds`).default(3600),
  reason: z.string().max(200, 'a reason has at most 200 characters').optional(),
});

export const testOrder = z.strictObject({ key });
