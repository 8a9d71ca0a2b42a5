/**
 * Vendors add values and kinds of content to their protocols. An unknown one passes to a provider of the
 * client's own protocol, which alone can judge it. Another protocol cannot express it: it is reported as
 * lost, or the call is refused.
 */
import { z } from 'zod';
import type { BlockOf } from '../../../core/index.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** A schema for objects whose `type` is not in `known`. */
export function excludeTypes(known: ReadonlySet<unknown>): z.ZodObject<{ type: z.ZodString }, z.core.$loose> {
  return z.looseObject({
    type: z.string().refine((type) => !known.has(type), { abort: true, message: 'another type' }),
  });
}

/**
 * Objects that `type` tells apart: the known ones, those of any other type, and both. An option whose type is
 * no literal may leave it out.
 */
export function buildOpenUnion<const Options extends readonly [z.ZodObject, ...z.ZodObject[]]>(
  ...options: Options
) {
  const known = z.discriminatedUnion('type', options);
  const types = new Set<unknown>(
    options.map(({ shape: { type } }) => (type instanceof z.ZodLiteral ? type.value : undefined)),
  );
  const other = excludeTypes(types);
  const isKnown = (value: unknown): value is z.output<typeof known> =>
    isObject(value) && types.has(value.type);
  return { known, other, any: z.union([known, other]), isKnown };
}

export function findKnown<Value extends string>(value: unknown, known: readonly Value[]): Value | undefined {
  return known.find((each) => each === value);
}

/** Content that only its protocol has. */
export function buildForeignBlock(
  protocol: string,
  value: Fields,
  at: string,
  mark?: 'needed' | 'repeated',
): BlockOf<'foreign'> {
  return { type: 'foreign', protocol, value, at, ...(mark && { [mark]: true }) };
}
