/**
 * The simplest value that fits a JSON Schema: the demo model calls tools with it, and answers with it where
 * JSON is asked for. Schemas come from strangers, so one that has no end, or needs millions of values, is
 * given up on.
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

const readList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, longest) : [];
const readNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** A schema that fits all parts. Of members other than properties and requirements the last one counts. */
function mergeSchemas(parts: readonly unknown[]): Fields {
  const schemas = parts.filter(isObject);
  return {
    ...Object.assign({}, ...schemas),
    properties: Object.assign({}, ...schemas.map(({ properties }) => properties)),
    required: schemas.flatMap(({ required }) => readList(required)),
  };
}

type Build = (part: unknown) => unknown;

/** Undefined: the value has no end, because what it requires has none. */
function buildValue({ type, properties, required, items, ...rest }: Fields, build: Build): unknown {
  const least = readNumber(rest.minItems);
  const above = readNumber(rest.exclusiveMinimum);
  const number = readNumber(rest.minimum) ?? (above === undefined ? 1 : above + 1);
  const usual = properties ? 'object' : 'string';
  switch (type === undefined ? usual : ([type].flat().find((each) => each !== 'null') ?? 'null')) {
    case 'object': {
      const known = isObject(properties) ? properties : {};
      const names = readList(required).filter((name) => typeof name === 'string');
      const fields = names.map(
        (name) => [name, build(Object.hasOwn(known, name) ? known[name] : {})] as const,
      );
      return fields.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(fields);
    }
    case 'array': {
      const made = Array.from({ length: Math.min(least ?? 1, longest) }, () => build(items ?? {}));
      if (!made.includes(undefined)) return made;
      return least ? undefined : [];
    }
    case 'string':
      return (
        formats.get(rest.format) ?? 'example'.padEnd(Math.min(readNumber(rest.minLength) ?? 0, longest), '.')
      );
    case 'integer':
    case 'number':
      return Math.min(number, readNumber(rest.maximum) ?? number);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

/** `root` is a schema as the client wrote it. One that cannot be read, or goes too far, gives `null`. */
export function buildExample(root: unknown): unknown {
  let valuesLeft = mostValues;
  /** `open` are the schemas that this one is in: a schema in itself has no end. */
  function build(schema: unknown, open: readonly unknown[]): unknown {
    valuesLeft -= 1;
    if (!isObject(schema) || open.length > deepest || valuesLeft < 0) return null;
    if (open.includes(schema)) return undefined;
    const buildInner: Build = (part) => build(part, [...open, schema]);
    if (typeof schema.$ref === 'string') return buildInner(resolvePointer(root, schema.$ref));
    for (const name of ['const', 'default']) if (name in schema) return schema[name];
    const [listed] = [...readList(schema.enum), ...readList(schema.examples)];
    if (listed !== undefined) return listed;
    const choices = [...readList(schema.anyOf), ...readList(schema.oneOf)];
    if (choices.length > 0)
      return choices
        .values()
        .map(buildInner)
        .find((value) => value !== undefined);
    const parts = readList(schema.allOf);
    return parts.length > 0 ? buildInner(mergeSchemas(parts)) : buildValue(schema, buildInner);
  }
  return build(root, []) ?? null;
}
