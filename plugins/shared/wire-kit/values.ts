/** Values of JSON whose type a provider does not guarantee: one of the wrong type counts as empty. */
import { toCount } from '../../../core/index.ts';
import { isObject, type Fields } from './vendor-bag.ts';

export function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function readString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function readObject(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function readObjects(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A member of an object or an array; undefined for any other value. */
export function readMember(value: unknown, name: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The number in this member of a provider's reply to a count. Throws if there is none. */
export function readTokens(body: unknown, name: string): number {
  const tokens = toCount(readMember(body, name));
  if (tokens === undefined) throw new Error(`The provider sent a token count without "${name}".`);
  return tokens;
}

/** Counts without the unknown ones; undefined if none is known: a client would believe a zero. */
export function keepKnown(
  counts: Readonly<Record<string, number | undefined>>,
): Record<string, number | undefined> | undefined {
  let found: Record<string, number | undefined> | undefined;
  for (const name in counts) {
    const count = counts[name];
    if (count !== undefined) (found ??= {})[name] = count;
  }
  return found;
}
