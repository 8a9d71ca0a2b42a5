/**
 * Vendors add values and kinds of content to their protocols. An unknown one passes to a provider of the
 * client's own protocol, which alone can judge it. Another protocol cannot express it: it is reported as
 * lost, or the call is refused.
 */
import { z } from 'zod';
import { GatewayError, type Block, type BlockOf } from '../../../core/index.ts';
import { readMember } from './values.ts';
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

/** Fields that decide what an answer is, and whose value is a single word. */
const decisiveWords: ReadonlySet<string> = new Set(['truncation', 'tool_choice', 'function_call']);
const usualWords: ReadonlySet<string> = new Set(['auto', 'disabled', 'none', 'required']);
/** The same for objects: the field, and the path of the member with their kind. */
const decisiveKinds = [
  ['response_format', 'type'],
  ['text', 'format', 'type'],
  ['output_config', 'format', 'type'],
  ['toolConfig.functionCallingConfig', 'mode'],
] as const;

/** The path of an unknown word in a request's field, without which an answer would be worthless. */
function findDecisiveWord(name: string, value: unknown): string | undefined {
  if (decisiveWords.has(name)) return typeof value === 'string' && !usualWords.has(value) ? name : undefined;
  const path = decisiveKinds.find(([field]) => field === name);
  if (!path) return undefined;
  const word = path.slice(1).reduce(readMember, value);
  return typeof word === 'string' ? path.join('.') : undefined;
}

/** Throws if a decisive field has a value that only vendors of its own protocol may know. */
export function refuseUnknownWord(name: string, value: unknown, protocol: string): void {
  const param = findDecisiveWord(name, value);
  if (param === undefined) return;
  throw new GatewayError(
    'unsupported_parameter',
    `"${param}" has a value that only vendors of ${protocol} may know, and the provider of this model is ` +
      'reached by another protocol: send one that is documented.',
    { param },
  );
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

/** Throws if a user's message has content without a meaning here: an answer would be worthless. */
export function refuseUnknown(block: Block, protocol: string, path: string): void {
  if (block.type !== 'foreign' || block.protocol === protocol || !block.needed) return;
  const { type } = block.value;
  const named = typeof type === 'string' ? ` of type "${type.slice(0, 60)}"` : '';
  const param = block.at ?? path;
  throw new GatewayError(
    'unsupported_parameter',
    `"${param}"${named} means nothing outside ${block.protocol}, and the provider of this model is reached ` +
      'by another protocol: change it, or leave it out.',
    { param },
  );
}
