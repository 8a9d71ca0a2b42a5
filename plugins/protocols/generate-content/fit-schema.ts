/**
 * JSON Schema as Gemini takes it: references within the schema are written out where they stand, since the vendor
 * refuses one with siblings and one to anywhere but `$defs`. A schema that refers to itself keeps its references.
 */
import { schemaAt } from '../../shared/object-schema.ts';
import { isObject, type Fields } from '../../shared/vendor-bag.ts';

/** Keywords whose members are names, and those whose values are no schemas. */
const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']);
const values: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example', 'required']);
/** A schema written out is not larger than this many objects; beyond it references stay. */
const mostObjects = 5000;

class Inlining {
  readonly #root: Fields;
  #objects = 0;
  /** Whether a reference stayed, and its definitions have to. */
  kept = false;
  /** Whether a reference led nowhere. */
  dangling = false;

  constructor(root: Fields) {
    this.#root = root;
  }

  schema(value: unknown, open: readonly string[]): unknown {
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
    if (open.includes(reference) || this.#objects > mostObjects) {
      this.kept = true;
      return { $ref: reference };
    }
    const inlined = this.schema(found, [...open, reference]);
    return isObject(inlined) && !('$ref' in inlined) ? { ...inlined, ...this.#members(rest, open) } : inlined;
  }

  #members(value: Fields, open: readonly string[]): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]): [string, unknown] => {
        if (values.has(name)) return [name, inner];
        if (!maps.has(name) || !isObject(inner)) return [name, this.schema(inner, open)];
        return [name, Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, this.schema(each, open)]))];
      }),
    );
  }
}

/** Passed any schema, and what to do with a reason why some of it is lost. */
export function fitSchema(schema: unknown, lose: (reason: string) => void): Record<string, unknown> {
  if (!isObject(schema)) return {};
  const { $defs, definitions, ...rest } = schema;
  const inlining = new Inlining(schema);
  const fitted = inlining.schema(rest, ['#']);
  if (inlining.dangling) lose('it refers to a schema that is not part of it');
  const kept = inlining.kept ? { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) } : {};
  return isObject(fitted) ? { ...fitted, ...kept } : {};
}

/** The schema of a function's arguments: always an object's. */
export function fitParameters(schema: unknown, lose: (reason: string) => void): Record<string, unknown> {
  return { properties: {}, ...fitSchema(schema, lose), type: 'object' };
}
