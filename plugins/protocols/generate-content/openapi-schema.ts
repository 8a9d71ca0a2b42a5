/**
 * Converts Google's own schema format, a subset of OpenAPI's, to JSON Schema: types in lower case, `nullable`
 * as a type, counts as numbers. Google's format is used in `parameters` and `responseSchema`. Every other
 * protocol uses JSON Schema.
 */
import { isObject, splitNames } from '../../shared/wire-kit/vendor-bag.ts';

const countKeywords = splitNames('minItems maxItems minLength maxLength minProperties maxProperties');
const schemaKeywords: ReadonlySet<string> = new Set(['items', 'additionalProperties']);
const listKeywords: ReadonlySet<string> = new Set(['anyOf', 'prefixItems']);
const mapKeywords: ReadonlySet<string> = new Set(['properties', 'defs', '$defs']);
/** Keywords without an equivalent. The order of the properties replaces `propertyOrdering`. */
const droppedKeywords: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'example']);

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
  if (name === 'type' && typeof value === 'string') return value.toLowerCase();
  if (countKeywords.has(name) && typeof value === 'string') return Number(value);
  if (schemaKeywords.has(name)) return readOpenApi(value);
  if (listKeywords.has(name) && Array.isArray(value)) return value.map(readOpenApi);
  if (mapKeywords.has(name) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, readOpenApi(inner)]));
  return value;
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

/** Converts a schema to JSON Schema. Returns any other value unchanged. */
export function readOpenApi(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const wire = Object.fromEntries(Object.entries(schema).map(([name, value]) => [toCamelCase(name), value]));
  const kept = Object.entries(wire).filter(([name, value]) => {
    if (name === 'type' && value === 'TYPE_UNSPECIFIED') return false;
    // Google adds `format: 'enum'` to enumerations, which have `enum` already.
    return !droppedKeywords.has(name) && !(name === 'format' && value === 'enum');
  });
  const converted = Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      convertKeyword(name, name === 'properties' ? orderProperties(value, wire.propertyOrdering) : value),
    ]),
  );
  return wire.nullable === true ? allowNull(converted) : converted;
}
