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
export function buildExample(root: unknown): unknown {
  let valuesLeft = mostValues;

  function build(schema: unknown, depth: number): unknown {
    valuesLeft -= 1;
    if (!isObject(schema) || depth > deepest || valuesLeft < 0) return null;
    const buildInner = (part: unknown): unknown => build(part, depth + 1);
    if (typeof schema.$ref === 'string') return buildInner(resolvePointer(root, schema.$ref));
    for (const name of ['const', 'default']) if (name in schema) return schema[name];
    for (const name of ['enum', 'examples'])
      if (readList(schema[name]).length > 0) return readList(schema[name])[0];
    for (const name of ['anyOf', 'oneOf'])
      if (readList(schema[name]).length > 0) return buildInner(readList(schema[name])[0]);
    if (readList(schema.allOf).length > 0) return buildInner(mergeSchemas(readList(schema.allOf)));
    return buildValue(schema, buildInner);
  }

  return build(root, 0);
}

function buildValue(schema: Fields, buildInner: (part: unknown) => unknown): unknown {
  switch (readType(schema)) {
    case 'object':
      return Object.fromEntries(
        readNames(schema.required).map((name) => [name, buildInner(readProperty(schema, name))]),
      );
    case 'array':
      return Array.from({ length: Math.min(readNumber(schema, 'minItems') ?? 1, longest) }, () =>
        buildInner(schema.items ?? {}),
      );
    case 'string':
      return (
        formats.get(schema.format) ??
        'example'.padEnd(Math.min(readNumber(schema, 'minLength') ?? 0, longest), '.')
      );
    case 'integer':
    case 'number':
      return chooseNumber(schema);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, longest) : [];
}

function readNames(value: unknown): string[] {
  return readList(value).filter((name) => typeof name === 'string');
}

function readNumber(schema: Fields, name: string): number | undefined {
  const value = schema[name];
  return typeof value === 'number' ? value : undefined;
}

function readProperty({ properties }: Fields, name: string): unknown {
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : {};
}

function readType({ type, properties }: Fields): string {
  const named = Array.isArray(type) ? readNames(type).find((each) => each !== 'null') : type;
  if (typeof named === 'string') return named;
  return properties ? 'object' : 'string';
}

function chooseNumber(schema: Fields): number {
  const above = readNumber(schema, 'exclusiveMinimum');
  const least = readNumber(schema, 'minimum') ?? (above === undefined ? 1 : above + 1);
  return Math.min(least, readNumber(schema, 'maximum') ?? least);
}

/**
 * A schema that fits all parts: it has the properties and requirements of all, and for every other member the
 * last part counts.
 */
function mergeSchemas(parts: readonly unknown[]): Fields {
  const schemas = parts.filter(isObject);
  return {
    ...Object.assign({}, ...schemas),
    properties: Object.assign({}, ...schemas.map(({ properties }) => properties)),
    required: schemas.flatMap(({ required }) => readNames(required)),
  };
}
