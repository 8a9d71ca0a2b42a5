/**
 * The simplest value that fits a JSON Schema: the demo model calls tools with it, and answers with it where
 * JSON is asked for. Schemas come from strangers, so one that refers to itself, or needs millions of values,
 * is given up on.
 */
import { resolvePointer } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

const deepest = 16;
const mostValues = 100;
const longest = 64;

const formats = new Map<unknown, string>([
  ['date', '2026-01-01'],
  ['date-time', '2026-01-01T00:00:00Z'],
  ['time', '00:00:00Z'],
  ['email', 'someone@example.com'],
  ['uri', 'https://example.com/'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
]);

/** `root` is a schema as the client wrote it. One that cannot be read, or goes too far, gives `null`. */
export function exampleOf(root: unknown): unknown {
  let valuesLeft = mostValues;

  function build(schema: unknown, depth: number): unknown {
    valuesLeft -= 1;
    if (!isObject(schema) || depth > deepest || valuesLeft < 0) return null;
    const inner = (part: unknown): unknown => build(part, depth + 1);
    if (typeof schema.$ref === 'string') return inner(resolvePointer(root, schema.$ref));
    for (const name of ['const', 'default']) if (name in schema) return schema[name];
    for (const name of ['enum', 'examples'])
      if (listed(schema[name]).length > 0) return listed(schema[name])[0];
    for (const name of ['anyOf', 'oneOf'])
      if (listed(schema[name]).length > 0) return inner(listed(schema[name])[0]);
    if (listed(schema.allOf).length > 0) return inner(merged(listed(schema.allOf)));
    return valueOf(schema, inner);
  }

  return build(root, 0);
}

function valueOf(schema: Fields, inner: (part: unknown) => unknown): unknown {
  switch (typeOf(schema)) {
    case 'object':
      return Object.fromEntries(
        names(schema.required).map((name) => [name, inner(propertyOf(schema, name))]),
      );
    case 'array':
      return Array.from({ length: Math.min(numberIn(schema, 'minItems') ?? 1, longest) }, () =>
        inner(schema.items ?? {}),
      );
    case 'string':
      return (
        formats.get(schema.format) ??
        'example'.padEnd(Math.min(numberIn(schema, 'minLength') ?? 0, longest), '.')
      );
    case 'integer':
    case 'number':
      return numberFor(schema);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, longest) : [];
}

function names(value: unknown): string[] {
  return listed(value).filter((name) => typeof name === 'string');
}

function numberIn(schema: Fields, name: string): number | undefined {
  const value = schema[name];
  return typeof value === 'number' ? value : undefined;
}

function propertyOf({ properties }: Fields, name: string): unknown {
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : {};
}

function typeOf({ type, properties }: Fields): string {
  const named = Array.isArray(type) ? names(type).find((each) => each !== 'null') : type;
  if (typeof named === 'string') return named;
  return properties ? 'object' : 'string';
}

function numberFor(schema: Fields): number {
  const above = numberIn(schema, 'exclusiveMinimum');
  const least = numberIn(schema, 'minimum') ?? (above === undefined ? 1 : above + 1);
  return Math.min(least, numberIn(schema, 'maximum') ?? least);
}

/**
 * A schema that fits all parts: it has the properties and requirements of all, and for every other member the
 * last part counts.
 */
function merged(parts: readonly unknown[]): Fields {
  const schemas = parts.filter(isObject);
  return {
    ...Object.assign({}, ...schemas),
    properties: Object.assign({}, ...schemas.map(({ properties }) => properties)),
    required: schemas.flatMap(({ required }) => names(required)),
  };
}
