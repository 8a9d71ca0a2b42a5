/**
 * Schemas in both directions: Google's own format, in which clients may write them, and the JSON Schema of
 * all other protocols, fitted to what Gemini accepts.
 */
import { References } from '../../shared/wire-kit/object-schema.ts';
import { isObject, splitNames, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

const countKeywords = splitNames('minItems maxItems minLength maxLength minProperties maxProperties');
/** Keywords without an equivalent. The order of the properties replaces `propertyOrdering`. */
const droppedKeywords = splitNames('nullable propertyOrdering example');

/** Google accepts keywords in snake_case too. */
function toCamelCase(name: string): string {
  return name.replaceAll(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function orderProperties(properties: unknown, order: unknown): unknown {
  if (!isObject(properties) || !Array.isArray(order)) return properties;
  const first = order.filter(
    (name): name is string => typeof name === 'string' && Object.hasOwn(properties, name),
  );
  return { ...Object.fromEntries(first.map((name) => [name, properties[name]])), ...properties };
}

function convertKeyword(name: string, value: unknown): unknown {
  if (countKeywords.has(name)) return typeof value === 'string' ? Number(value) : value;
  switch (name) {
    case 'type':
      return typeof value === 'string' ? value.toLowerCase() : value;
    case 'items':
    case 'additionalProperties':
      return readOpenApi(value);
    case 'anyOf':
    case 'prefixItems':
      return Array.isArray(value) ? value.map(readOpenApi) : value;
    case 'properties':
    case 'defs':
    case '$defs':
      return isObject(value) ? mapValues(value, readOpenApi) : value;
    default:
      return value;
  }
}

function allowNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values, anyOf } = schema;
  return {
    ...schema,
    ...(typeof type === 'string' ? { type: [type, 'null'] } : {}),
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: [...anyOf, { type: 'null' }] } : {}),
  };
}

/**
 * Converts Google's own schema format, a subset of OpenAPI's, to JSON Schema: types in lower case, `nullable`
 * as a type, counts as numbers. Google's format is used in `parameters` and `responseSchema`. Returns any
 * other value unchanged.
 */
export function readOpenApi(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const wire = Object.fromEntries(Object.entries(schema).map(([name, value]) => [toCamelCase(name), value]));
  const converted: [string, unknown][] = [];
  for (const [name, value] of Object.entries(wire)) {
    // Google adds `format: 'enum'` to enumerations, which have `enum` already.
    const isSaid =
      (name === 'type' && value === 'TYPE_UNSPECIFIED') || (name === 'format' && value === 'enum');
    if (droppedKeywords.has(name) || isSaid) continue;
    const ordered = name === 'properties' ? orderProperties(value, wire.propertyOrdering) : value;
    converted.push([name, convertKeyword(name, ordered)]);
  }
  const whole = Object.fromEntries(converted);
  return wire.nullable === true ? allowNull(whole) : whole;
}

/** Keywords whose value maps names to schemas. */
const mapKeywords = splitNames('properties patternProperties dependentSchemas $defs definitions');
/** Keywords whose value holds no schema. */
const valueKeywords = splitNames('enum const default examples example required');
/** Limits of inlining: references, characters, and nesting. Beyond them, references stay. */
const mostReferences = 5000;
const mostText = 256 * 1024;
const deepest = 64;

function mapValues(
  value: Fields,
  convert: (inner: unknown, name: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, convert(inner, name)]));
}

/**
 * Fits a JSON Schema to Gemini, which refuses references with sibling keywords, and references to anything
 * outside `$defs`. The gateway inlines references. A recursive reference stays, and its target becomes a
 * definition, in which references are inlined too.
 */
class Inlining {
  readonly #root: Fields;
  readonly #references: References;
  /** Targets of references that stay, with their names in `$defs`. */
  readonly #names = new Map<Fields, string>();
  readonly #taken = new Set<string>();
  /** True if a reference leads nowhere. */
  dangling = false;

  constructor(root: Fields) {
    this.#root = root;
    this.#references = new References(root, mostReferences, () => mostText);
  }

  /** `open` holds the targets that are being inlined. */
  inlineSchema(value: unknown, open: readonly Fields[]): unknown {
    if (Array.isArray(value)) return value.map((item: unknown) => this.inlineSchema(item, open));
    if (!isObject(value)) return value;
    const { $ref: reference, ...rest } = value;
    if (typeof reference !== 'string') return this.#inlineMembers(value, open);
    const target = this.#references.find(reference);
    if (!isObject(target)) {
      this.dangling = true;
      return this.#inlineMembers(rest, open);
    }
    if (!this.#references.follow(target) || open.includes(target) || open.length > deepest)
      return { $ref: `#/$defs/${this.#nameTarget(target, reference)}` };
    const inlined = this.inlineSchema(target, [...open, target]);
    return isObject(inlined) && !('$ref' in inlined)
      ? { ...inlined, ...this.#inlineMembers(rest, open) }
      : inlined;
  }

  #nameTarget(target: Fields, reference: string): string {
    const known = this.#names.get(target);
    if (known !== undefined) return known;
    const last = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/\W/g, '') || 'self';
    let name = last;
    for (let number = this.#taken.size; this.#taken.has(name); number += 1) name = `${last}_${number}`;
    this.#taken.add(name);
    this.#names.set(target, name);
    return name;
  }

  /** Builds definitions for references that stayed. The loop also visits targets that a definition adds. */
  buildDefinitions(): Fields {
    const definitions: [string, unknown][] = [];
    for (const [target, name] of this.#names)
      definitions.push([name, this.inlineSchema(omitDefinitions(target), [this.#root, target])]);
    return Object.fromEntries(definitions);
  }

  #inlineMembers(value: Fields, open: readonly Fields[]): Record<string, unknown> {
    return mapValues(value, (inner, name) => {
      if (valueKeywords.has(name)) return inner;
      if (!mapKeywords.has(name) || !isObject(inner)) return this.inlineSchema(inner, open);
      return mapValues(inner, (each) => this.inlineSchema(each, open));
    });
  }
}

function omitDefinitions({ $defs: _named, definitions: _older, ...rest }: Fields): Fields {
  return rest;
}

/** Fits any schema. Calls `lose` with the reason if a part of it is lost. */
export function fitSchema(schema: unknown, lose: (reason: string) => void): Record<string, unknown> {
  if (!isObject(schema)) return {};
  const inlining = new Inlining(schema);
  const fitted = inlining.inlineSchema(omitDefinitions(schema), [schema]);
  const $defs = inlining.buildDefinitions();
  if (inlining.dangling) lose('it refers to a schema that it does not contain');
  if (!isObject(fitted)) return {};
  return Object.keys($defs).length > 0 ? { ...fitted, $defs } : fitted;
}

/** Fits the schema of a function's arguments, which always are an object. */
export function fitParameters(schema: unknown, lose: (reason: string) => void): Record<string, unknown> {
  const fitted = fitSchema(schema, lose);
  if (fitted.type !== undefined && fitted.type !== 'object') lose('the arguments of a tool are an object');
  return { properties: {}, ...fitted, type: 'object' };
}
