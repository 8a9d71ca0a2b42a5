/**
 * JSON Schema as Gemini takes it: references within the schema are written out where they stand, since the vendor
 * refuses one with siblings and one to anywhere but `$defs`. Where a schema refers to itself, what it refers to is named
 * there, and written out likewise.
 */
import { Lengths, schemaAt } from '../../shared/wire-kit/object-schema.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

/** Keywords whose members are names, and those whose values are no schemas. */
const maps: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);
const values: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example', 'required']);
/** A schema written out is not larger than this many objects, nor is more text than this written for its references; beyond it they stay. */
const mostObjects = 5000;
const mostText = 256 * 1024;
/** Nor does it follow more references than this one out of another. */
const deepest = 64;

class Inlining {
  readonly #root: Fields;
  readonly #lengths = new Lengths();
  #objects = 0;
  #text = 0;
  /** What the schemas are called in `$defs` that references led to which stayed. */
  readonly #named = new Map<Fields, string>();
  readonly #names = new Set<string>();
  /** Whether a reference led nowhere. */
  dangling = false;

  constructor(root: Fields) {
    this.#root = root;
  }

  schema(value: unknown, open: readonly Fields[]): unknown {
    if (Array.isArray(value)) return value.map((item: unknown) => this.schema(item, open));
    if (!isObject(value)) return value;
    this.#objects += 1;
    const { $ref: reference, ...rest } = value;
    if (typeof reference !== 'string') return this.#members(value, open);
    const found = schemaAt(this.#root, reference);
    if (!isObject(found)) {
      this.dangling = true;
      return this.#members(rest, open);
    }
    this.#text += this.#lengths.of(found);
    if (open.includes(found) || open.length > deepest || this.#objects > mostObjects || this.#text > mostText)
      return { $ref: `#/$defs/${this.#nameOf(found, reference)}` };
    const inlined = this.schema(found, [...open, found]);
    return isObject(inlined) && !('$ref' in inlined) ? { ...inlined, ...this.#members(rest, open) } : inlined;
  }

  #nameOf(schema: Fields, reference: string): string {
    const known = this.#named.get(schema);
    if (known !== undefined) return known;
    const last = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/\W/g, '') || 'self';
    let name = last;
    for (let number = this.#names.size; this.#names.has(name); number += 1) name = `${last}_${number}`;
    this.#names.add(name);
    this.#named.set(schema, name);
    return name;
  }

  /** What the references lead to that stayed; a definition may be the first to keep another one. */
  definitions(): Fields {
    const written: [string, unknown][] = [];
    for (const [schema, name] of this.#named)
      written.push([name, this.schema(withoutDefinitions(schema), [this.#root, schema])]);
    return Object.fromEntries(written);
  }

  #members(value: Fields, open: readonly Fields[]): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]): [string, unknown] => {
        if (values.has(name)) return [name, inner];
        if (!maps.has(name) || !isObject(inner)) return [name, this.schema(inner, open)];
        return [
          name,
          Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, this.schema(each, open)])),
        ];
      }),
    );
  }
}

function withoutDefinitions({ $defs: _named, definitions: _formerly, ...rest }: Fields): Fields {
  return rest;
}

/** Passed any schema, and what to do with a reason why some of it is lost. */
export function fitSchema(schema: unknown, lose: (reason: string) => void): Record<string, unknown> {
  if (!isObject(schema)) return {};
  const inlining = new Inlining(schema);
  const fitted = inlining.schema(withoutDefinitions(schema), [schema]);
  const $defs = inlining.definitions();
  if (inlining.dangling) lose('it refers to a schema that is not part of it');
  if (!isObject(fitted)) return {};
  return Object.keys($defs).length > 0 ? { ...fitted, $defs } : fitted;
}

/** The schema of a function's arguments: always an object's. */
export function fitParameters(schema: unknown, lose: (reason: string) => void): Record<string, unknown> {
  return { properties: {}, ...fitSchema(schema, lose), type: 'object' };
}
