/**
 * Keeps what the canonical form has no field for. Each canonical thing can carry a protocol's own fields
 * (`vendor`), fields that change nothing (`written`), and which of several spellings the client used
 * (`form`), all under the protocol's name. The same protocol restores them, any other reports `vendor` as
 * lost.
 */
import type { VendorBag } from '../../../core/index.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface Sides {
  vendor?: VendorBag | undefined;
  written?: VendorBag | undefined;
  form?: Record<string, string[]> | undefined;
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

/** The members that are not in `known`, and those that are null: unset, but the client wrote them. */
export function pickUnread(wire: object, known: Names): Fields {
  return pick(wire, (name, value) => value === null || !contains(known, name));
}

/** A request's own fields without a canonical name. Its `provider` object is for routing only. */
export function pickOwnFields(
  { provider: _preferences, ...request }: { readonly provider?: unknown },
  known: Names,
): Fields {
  return pickUnread(request, known);
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

/** The members with these names that mean the same as if they were left out. */
export function pickEmpty(wire: object, names: Names): Fields {
  return pick(wire, (name, value) => contains(names, name) && isEmpty(value));
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length === 0
    : value === false || value === 0 || value === '';
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

/** One protocol's access to the three slots. `Form` are its flags, and its notes such as `id:call_1`. */
export interface Bag<Form extends string = string> {
  /** Returns the slots to spread into a canonical thing. */
  keep(fields: Fields, form?: readonly Form[], written?: Fields): Sides;
  /** Returns the same with what a thing already keeps. */
  add(thing: Sides, fields: Fields, form?: readonly Form[], written?: Fields): Sides;
  /** Returns the fields to restore: the protocol's own, and those that change nothing. */
  getFields(thing: Sides | undefined): Fields;
  /** Returns how the client spelled a thing. */
  getForm(thing: Sides | undefined): readonly string[];
  /** Whether a thing has this flag. */
  has(thing: Sides | undefined, flag: Form): boolean;
  /** Returns the values of a thing's notes with this name. */
  listNotes(thing: Sides | undefined, name: string): string[];
  /** Returns the value of a thing's first note with this name. */
  findNote(thing: Sides | undefined, name: string): string | undefined;
}

const noForm: readonly never[] = [];

/** The slots of the protocol with this name. */
export function createBag<Form extends string = string>(protocol: string): Bag<Form> {
  const getForm = (thing: Sides | undefined): readonly string[] => thing?.form?.[protocol] ?? noForm;
  const listNotes = (thing: Sides | undefined, name: string): string[] =>
    getForm(thing).flatMap((each) => (each.startsWith(`${name}:`) ? [each.slice(name.length + 1)] : []));
  const keep = (fields: Fields, form: readonly string[] = noForm, written = nothing): Sides => {
    const sides: Sides = {};
    if (hasFields(fields)) sides.vendor = { [protocol]: { ...fields } };
    if (hasFields(written)) sides.written = { [protocol]: { ...written } };
    if (form.length > 0) sides.form = { [protocol]: [...form] };
    return sides;
  };
  return {
    keep,
    add: (thing, fields, form = [], written = nothing) =>
      keep({ ...thing.vendor?.[protocol], ...fields }, [...getForm(thing), ...form], {
        ...thing.written?.[protocol],
        ...written,
      }),
    getFields(thing) {
      const fields = thing?.vendor?.[protocol] ?? nothing;
      const written = thing?.written?.[protocol];
      return written ? overlay(written, fields) : fields;
    },
    getForm,
    has: (thing, flag) => getForm(thing).includes(flag),
    listNotes,
    findNote: (thing, name) => listNotes(thing, name)[0],
  };
}

function hasFields(fields: Fields): boolean {
  return fields !== nothing && Object.keys(fields).length > 0;
}
