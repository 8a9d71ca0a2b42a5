/**
 * Keeps what the canonical form has no field for. Each canonical thing can carry a protocol's own fields
 * under the protocol's name. The same protocol writes them again, any other reports them as lost.
 */
import type { VendorBag } from '../../../core/index.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface Sides {
  vendor?: VendorBag | undefined;
}

/** The fields of a thing without any: one shared object, which `overlay` recognises by identity. */
const nothing: Fields = {};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The names in a text, which white space separates. */
export function splitNames(names: string): ReadonlySet<string> {
  return new Set(names.trim().split(/\s+/));
}

type Names = ReadonlySet<string> | readonly string[];

function contains(names: Names, name: string): boolean {
  return 'has' in names ? names.has(name) : names.includes(name);
}

/** The members that are not in `known`, and those that are null: published types may require them. */
export function pickUnread(wire: object, known: Names): Fields {
  return pick(wire, (name, value) => value === null || !contains(known, name));
}

/** A wire object whose reader notes which members it reads. The others are the vendor's own. */
export interface Tracked<Wire extends object> {
  readonly seen: Wire;
  /** An object in this one, of which only some members are read; undefined if the member is no object. */
  readonly open: <Name extends keyof Wire & string>(name: Name) => Tracked<Wire[Name] & object> | undefined;
  /** Leaves a member to the rest although it was read, because its value has no canonical form. */
  readonly keep: (name: string) => void;
  /** The members that were not read, those of opened objects too, but for those that are null. */
  readonly pickRest: () => Fields;
}

/** Notes what is read of an object: a decoder then needs no list of the fields that it knows. */
export function trackReads<Wire extends object>(wire: Wire): Tracked<Wire> {
  const read = new Set<PropertyKey>();
  /** Created with the first, as most objects have no inner ones. */
  let opened: Map<string, Tracked<object>> | undefined;
  const seen = new Proxy(wire, {
    get(target, name) {
      read.add(name);
      return Reflect.get(target, name);
    },
  });
  return {
    seen,
    open(name) {
      const member = seen[name];
      if (typeof member !== 'object' || member === null) return undefined;
      const inner = trackReads(member);
      (opened ??= new Map<string, Tracked<object>>()).set(name, inner);
      return inner;
    },
    keep(name) {
      read.delete(name);
      opened?.delete(name);
    },
    pickRest() {
      let rest = pick(wire, (name, value) => value !== null && !read.has(name));
      for (const [name, inner] of opened ?? []) rest = { ...rest, ...nestFields(name, inner.pickRest()) };
      return rest;
    },
  };
}

/** The members that are neither in `known` nor null. */
export function pickStated(wire: object, known: ReadonlySet<string>): Fields {
  return pick(wire, (name, value) => value !== null && !known.has(name));
}

const ordinary = { writable: true, enumerable: true, configurable: true };

function pick(wire: object, isPicked: (name: string, value: unknown) => boolean): Fields {
  if (!isObject(wire)) return nothing;
  let picked: Record<string, unknown> | undefined;
  for (const name in wire) {
    if (!isPicked(name, wire[name])) continue;
    picked ??= {};
    // Assigned, a member called `__proto__` would become the prototype.
    if (name === '__proto__') Object.defineProperty(picked, name, { ...ordinary, value: wire[name] });
    else picked[name] = wire[name];
  }
  return picked ?? nothing;
}

/** The fields as one member with this name; nothing if there are no fields. */
export function nestFields(name: string, fields: Fields): Fields {
  return Object.keys(fields).length > 0 ? { [name]: fields } : {};
}

/** Merges `wire` into `rest`, object by object. Members that are undefined in `wire` replace nothing. */
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

/** One protocol's access to the vendor's fields. */
export interface Bag {
  /** Returns the fields to spread into a canonical thing. */
  keep(fields: Fields): Sides;
  getFields(thing: Sides | undefined): Fields;
}

export function createBag(protocol: string): Bag {
  return {
    keep: (fields) => (hasFields(fields) ? { vendor: { [protocol]: { ...fields } } } : {}),
    getFields: (thing) => thing?.vendor?.[protocol] ?? nothing,
  };
}

function hasFields(fields: Fields): boolean {
  return fields !== nothing && Object.keys(fields).length > 0;
}
