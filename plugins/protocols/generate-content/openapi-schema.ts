/**
 * Google's own schema, a part of OpenAPI's, as JSON Schema: types in lower case, `nullable` as a type, counts as
 * numbers. `parameters` and `responseSchema` are written in it; every other protocol speaks JSON Schema.
 */
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';

const counts: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);
const single: ReadonlySet<string> = new Set(['items', 'additionalProperties']);
const listed: ReadonlySet<string> = new Set(['anyOf', 'prefixItems']);
const named: ReadonlySet<string> = new Set(['properties', 'defs', '$defs']);
/** Words that say nothing a schema of another protocol could: how to order properties is told by their order. */
const dropped: ReadonlySet<string> = new Set(['nullable', 'propertyOrdering', 'example']);

/** JSON takes both spellings of Google's fields here as well. */
function keyword(name: string): string {
  return name.replaceAll(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function entriesOf(schema: Record<string, unknown>): [string, unknown][] {
  return Object.entries(schema).map(([name, value]) => [keyword(name), value]);
}

function ordered(properties: unknown, order: unknown): unknown {
  if (!isObject(properties) || !Array.isArray(order)) return properties;
  const first = order.filter(
    (name): name is string => typeof name === 'string' && Object.hasOwn(properties, name),
  );
  return { ...Object.fromEntries(first.map((name) => [name, properties[name]])), ...properties };
}

function convert(name: string, value: unknown): unknown {
  if (name === 'type' && typeof value === 'string') return value.toLowerCase();
  if (counts.has(name) && typeof value === 'string') return Number(value);
  if (single.has(name)) return fromOpenApi(value);
  if (listed.has(name) && Array.isArray(value)) return value.map(fromOpenApi);
  if (named.has(name) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fromOpenApi(inner)]));
  return value;
}

function withNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values, anyOf } = schema;
  return {
    ...schema,
    ...(typeof type === 'string' ? { type: [type, 'null'] } : {}),
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: [...anyOf, { type: 'null' }] } : {}),
  };
}

/** The same schema as JSON Schema; what is no schema stays as it is. */
export function fromOpenApi(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const wire = Object.fromEntries(entriesOf(schema));
  const kept = Object.entries(wire).filter(([name, value]) => {
    if (name === 'type' && value === 'TYPE_UNSPECIFIED') return false;
    // Google marks an enumeration twice.
    return !dropped.has(name) && !(name === 'format' && value === 'enum');
  });
  const converted = Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      convert(name, name === 'properties' ? ordered(value, wire.propertyOrdering) : value),
    ]),
  );
  return wire.nullable === true ? withNull(converted) : converted;
}
