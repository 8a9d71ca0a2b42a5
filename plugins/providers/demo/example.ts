/**
 * The simplest value that fits a JSON Schema: the demo model calls tools with it, and answers with it where
 * JSON is asked for. A list or a choice ends a schema that refers to itself. Schemas come from strangers, so
 * one that has no end, or needs millions of values, is given up on.
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
  /** What is being built. A reference to one of these has no end. */
  const open = new Set([root]);

  function follow(pointer: string, depth: number): unknown {
    const target = resolvePointer(root, pointer);
    if (open.has(target)) return undefined;
    open.add(target);
    const value = build(target, depth);
    open.delete(target);
    return value;
  }

  function build(schema: unknown, depth: number): unknown {
    valuesLeft -= 1;
    if (!isObject(schema) || depth > deepest || valuesLeft < 0) return null;
    const buildInner = (part: unknown): unknown => build(part, depth + 1);
    if (typeof schema.$ref === 'string') return follow(schema.$ref, depth + 1);
    for (const name of ['const', 'default']) if (name in schema) return schema[name];
    for (const name of ['enum', 'examples'])
      if (readList(schema[name]).length > 0) return readList(schema[name])[0];
    for (const name of ['anyOf', 'oneOf'])
      if (readList(schema[name]).length > 0) return buildFirst(readList(schema[name]), buildInner);
    if (readList(schema.allOf).length > 0) return buildInner(mergeSchemas(readList(schema.allOf)));
    return buildValue(schema, buildInner);
  }

  return build(root, 0) ?? null;
}

/** Builds the first choice that has an end. */
function buildFirst(choices: readonly unknown[], buildInner: (part: unknown) => unknown): unknown {
  for (const choice of choices) {
    const value = buildInner(choice);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Undefined: the value has no end. */
function buildValue(schema: Fields, buildInner: (part: unknown) => unknown): unknown {
  switch (readType(schema)) {
    case 'object': {
      const fields = readNames(schema.required).map(
        (name) => [name, buildInner(readProperty(schema, name))] as const,
      );
      return fields.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(fields);
    }
    case 'array': {
      const least = readNumber(schema, 'minItems');
      const items = Array.from({ length: Math.min(least ?? 1, longest) }, () =>
        buildInner(schema.items ?? {}),
      );
      if (!items.includes(undefined)) return items;
      return least ? undefined : [];
    }
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
