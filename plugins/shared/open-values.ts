/**
 * What a wire lists today is not all it will have tomorrow. A value, or a thing of a kind, that is not known here goes on
 * to a vendor of the client's own protocol, which alone can judge it. Another protocol has no words for it: it is told as
 * lost, or the call is refused.
 */
import { z } from 'zod';
import { GatewayError, type Block } from '../../core/index.ts';
import { bagOf, type Sides } from './vendor-bag.ts';

/** A thing whose `type` is none of those in `known`. */
export function otherThan(known: ReadonlySet<string>): z.ZodObject<{ type: z.ZodString }, z.core.$loose> {
  return z.looseObject({ type: z.string().refine((type) => !known.has(type), { abort: true, message: 'another type' }) });
}

/** The value, if it is one of `known`. */
export function oneOfKnown<Value extends string>(value: unknown, known: readonly Value[]): Value | undefined {
  return known.find((each) => each === value);
}

const unknownForm = 'unknown';

/** Marks a part of what a user says that has no meaning outside its protocol. */
export function markUnknown(protocol: string): Sides {
  return bagOf(protocol).keep({}, [unknownForm]);
}

/** Throws where a user says something of a kind that only vendors of its own protocol know: an answer without it is worthless. */
export function refuseUnknown(block: Block, protocol: string, path: string): void {
  if (block.type !== 'foreign' || block.protocol === protocol || !bagOf(block.protocol).form(block).includes(unknownForm)) return;
  const type: unknown = typeof block.value === 'object' && block.value !== null ? Reflect.get(block.value, 'type') : undefined;
  const named = typeof type === 'string' ? ` of type "${type.slice(0, 60)}"` : '';
  throw new GatewayError('unsupported_parameter', `Only ${block.protocol} has content${named}, and the provider of this model is reached by another protocol: leave it out.`, { param: block.at ?? path });
}
