/**
 * Schemas of what the gateway replies to operators and key holders. The OpenAPI document shows them, and the
 * console takes its types from them, so they import nothing but zod.
 */
import { z } from 'zod';

export const usd = z.string().meta({ description: 'USD, as a decimal string.' });
export const time = z.iso.datetime();

/** A received reply, read-only. */
export type Reply<Sent> = Sent extends readonly (infer Item)[]
  ? readonly Reply<Item>[]
  : Sent extends AsyncIterable<unknown>
    ? Sent
    : Sent extends object
      ? { readonly [Name in keyof Sent]: Reply<Sent[Name]> }
      : Sent;

/** A page of a list by text places; `next` is the `after` of the next page. */
export function describeList<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ data: z.array(item), next: z.string().nullable() });
}

/** A page of a list whose rows have numbers. */
export function describeNumberedList<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ data: z.array(item), next: z.int().nullable() });
}
