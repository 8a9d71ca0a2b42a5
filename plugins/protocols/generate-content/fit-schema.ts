/**
 * Fits a JSON Schema to Gemini, which refuses references with sibling keywords, and references to anything
 * outside `$defs`. The gateway inlines references. A recursive reference stays, and its target becomes a
 * definition, in which references are inlined too.
 */
import { References } from '../../shared/wire-kit/object-schema.ts';
import { isObject, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';

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
