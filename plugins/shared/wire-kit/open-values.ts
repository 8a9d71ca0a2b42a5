/**
 * What a wire lists today is not all it will have tomorrow. A value, or a thing of a kind, that is not known here goes on
 * to a vendor of the client's own protocol, which alone can judge it. Another protocol has no words for it: it is told as
 * lost, or the call is refused.
 */
import { z } from 'zod';
import { GatewayError, type Block } from '../../../core/index.ts';
import { bagOf, isObject, type Sides } from './vendor-bag.ts';

/** A thing whose `type` is none of those in `known`. */
export function otherThan(known: ReadonlySet<string>): z.ZodObject<{ type: z.ZodString }, z.core.$loose> {
  return z.looseObject({
    type: z.string().refine((type) => !known.has(type), { abort: true, message: 'another type' }),
  });
}

/** The value, if it is one of `known`. */
export function oneOfKnown<Value extends string>(value: unknown, known: readonly Value[]): Value | undefined {
  return known.find((each) => each === value);
}

/** Fields that decide what an answer is, where all of one is a word that only some vendors know. */
const decisiveWords: ReadonlySet<string> = new Set(['truncation', 'tool_choice', 'function_call']);
const usualWords: ReadonlySet<string> = new Set(['auto', 'disabled', 'none', 'required']);
/** The same for objects, with the member that tells their kind; `format` stands inside them or is the object itself. */
const decisiveKinds = [
  ['response_format', 'type'],
  ['text', 'format', 'type'],
  ['output_config', 'format', 'type'],
  ['toolConfig.functionCallingConfig', 'mode'],
] as const;

/** The place of a word that is left over in a field of a request, and that an answer would be worthless without. */
function decisiveWord(name: string, value: unknown): string | undefined {
  if (decisiveWords.has(name)) return typeof value === 'string' && !usualWords.has(value) ? name : undefined;
  const path = decisiveKinds.find(([field]) => field === name);
  if (!path) return undefined;
  const word = path
    .slice(1)
    .reduce<unknown>((inner, step) => (isObject(inner) ? inner[step] : undefined), value);
  return typeof word === 'string' ? path.join('.') : undefined;
}

/** Throws where a field of a request says what only vendors of its own protocol know, and an answer without it would be another. */
export function refuseUnknownWord(name: string, value: unknown, protocol: string): void {
  const param = decisiveWord(name, value);
  if (param === undefined) return;
  throw new GatewayError(
    'unsupported_parameter',
    `"${param}" has a value that only vendors of ${protocol} may know, and the provider of this model is reached by another protocol: send one that is documented.`,
    { param },
  );
}

const unknownForm = 'unknown';

/** Marks a part of what a user says that has no meaning outside its protocol. */
export function markUnknown(protocol: string): Sides {
  return bagOf(protocol).keep({}, [unknownForm]);
}

/** Throws where a user says something of a kind that only vendors of its own protocol know: an answer without it is worthless. */
export function refuseUnknown(block: Block, protocol: string, path: string): void {
  if (
    block.type !== 'foreign' ||
    block.protocol === protocol ||
    !bagOf(block.protocol).form(block).includes(unknownForm)
  )
    return;
  const type: unknown =
    typeof block.value === 'object' && block.value !== null ? Reflect.get(block.value, 'type') : undefined;
  const named = typeof type === 'string' ? ` of type "${type.slice(0, 60)}"` : '';
  throw new GatewayError(
    'unsupported_parameter',
    `Only ${block.protocol} has content${named}, and the provider of this model is reached by another protocol: leave it out.`,
    { param: block.at ?? path },
  );
}
