/**
 * What a protocol read and the canonical form has no field for. It is kept beside the canonical thing under the
 * protocol's name (`vendor`), together with how the thing was written, where there are several ways (`form`). The same
 * protocol puts both back; every other one tells the vendor's fields as lost.
 */
import type { VendorBag } from '../../../core/index.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** The two slots that every canonical thing has for this. */
export interface Sides {
  vendor?: VendorBag | undefined;
  form?: Record<string, string[]> | undefined;
}

/** The fields of a thing that has none. All share this one object, by which the case is recognised. */
const nothing: Fields = {};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members that are not in `known`, and those that are null: unset, but the client wrote them. Mostly there are none, so no list is made to find out. */
export function leftover(wire: object, known: ReadonlySet<string>): Fields {
  const isLeft = (name: string, value: unknown): boolean => value === null || !known.has(name);
  if (!isObject(wire)) return nothing;
  // Made from entries, since a member may be called `__proto__`.
  for (const name in wire)
    if (isLeft(name, wire[name]))
      return Object.fromEntries(Object.entries(wire).filter((member) => isLeft(...member)));
  return nothing;
}

/** The fields as one member with this name, or nothing where there are no fields. */
export function nested(name: string, fields: Fields): Fields {
  return Object.keys(fields).length > 0 ? { [name]: fields } : {};
}

/** Lays `wire` over `rest`, object by object. What is undefined in `wire` covers nothing. Most things have no rest. */
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
  /** The two slots to spread into the canonical thing: the fields that are left over, and how the thing was written. */
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
