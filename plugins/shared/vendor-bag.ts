/**
 * What a protocol read and the canonical form has no word for. It is kept beside the canonical thing under the
 * protocol's name (`vendor`), with how the thing was spelt where there are several ways (`form`); the same
 * protocol puts both back, and every other one tells the vendor's fields as lost.
 */
import type { VendorBag } from '../../core/index.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** The slots of every canonical thing that can carry what has no canonical name. */
export interface Sides {
  vendor?: VendorBag | undefined;
  form?: Record<string, string[]> | undefined;
}

/** The fields of what has none: one object for all, known by being it. */
const nothing: Fields = {};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members that are not in `known`, and those that are null: unset, yet written by the client. Mostly there are none, so no list is made to find out. */
export function leftover(wire: object, known: ReadonlySet<string>): Fields {
  const isLeft = (name: string, value: unknown): boolean => value === null || !known.has(name);
  if (!isObject(wire)) return nothing;
  // By entries, since a member may be called `__proto__`.
  for (const name in wire) if (isLeft(name, wire[name])) return Object.fromEntries(Object.entries(wire).filter((member) => isLeft(...member)));
  return nothing;
}

/** `fields` as one member, unless there are none. */
export function nested(name: string, fields: Fields): Fields {
  return Object.keys(fields).length > 0 ? { [name]: fields } : {};
}

/** `wire` laid over `rest`, object by object; what is undefined in `wire` covers nothing. Most things have no rest. */
export function overlay(rest: Fields, wire: Fields): Record<string, unknown> {
  if (rest === nothing) return wire;
  const whole: Record<string, unknown> = { ...rest };
  for (const name of Object.keys(wire)) {
    const value = wire[name];
    if (value === undefined) continue;
    const below = Object.hasOwn(whole, name) ? whole[name] : undefined;
    whole[name] = isObject(below) && isObject(value) ? overlay(below, value) : value;
  }
  return whole;
}

/** The two slots as one protocol uses them. */
export interface Bag {
  /** Passed what is left over and how the thing was spelt; the answer is to be spread into the canonical thing. */
  keep(fields: Fields, form?: readonly string[]): Sides;
  fields(thing: Sides | undefined): Fields;
  form(thing: Sides | undefined): readonly string[];
}

const plainly: readonly string[] = [];

export function bagOf(protocol: string): Bag {
  return {
    keep(fields, form = plainly) {
      const sides: Sides = {};
      if (fields !== nothing && Object.keys(fields).length > 0) sides.vendor = { [protocol]: { ...fields } };
      if (form.length > 0) sides.form = { [protocol]: [...form] };
      return sides;
    },
    fields: (thing) => thing?.vendor?.[protocol] ?? nothing,
    form: (thing) => thing?.form?.[protocol] ?? plainly,
  };
}
