/**
 * Which schemas Google accepts: its own subset of OpenAPI in `parameters`, a subset of JSON Schema in
 * `parametersJsonSchema`.
 */
import { isObject } from '../../json.ts';

type Found = { readonly at: string; readonly fault: string } | undefined;

const formats: Readonly<Record<string, readonly string[]>> = {
  STRING: ['enum', 'date-time'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
};

function findFirst<Value>(values: Iterable<Value>, look: (value: Value) => Found): Found {
  for (const value of values) {
    const found = look(value);
    if (found) return found;
  }
  return undefined;
}

/** What is wrong with a schema of Google's own kind, whose fields are known to exist. */
export function checkOpenApiSchema(schema: unknown, at: string): Found {
  if (!isObject(schema)) return undefined;
  const type = typeof schema.type === 'string' ? schema.type : undefined;
  const { format, properties, required, items, enum: values, anyOf } = schema;
  const named = isObject(properties) ? properties : {};
  if (!type && !anyOf) return { at, fault: 'schema must specify a type' };
  if (typeof format === 'string' && type && !(formats[type] ?? []).includes(format))
    return {
      at: `${at}.format`,
      fault:
        `only ${(formats[type] ?? []).map((one) => `'${one}'`).join(' and ') || 'no format'} ` +
        `is supported for ${type} type`,
    };
  if (type === 'ARRAY' && items === undefined) return { at: `${at}.items`, fault: 'missing field.' };
  if (Array.isArray(values) && type !== 'STRING')
    return { at: `${at}.enum`, fault: 'only allowed for STRING type' };
  if (Array.isArray(values) && values.includes(''))
    return { at: `${at}.enum[${values.indexOf('')}]`, fault: 'cannot be empty' };
  const missing = Array.isArray(required)
    ? required.findIndex((name) => typeof name === 'string' && !Object.hasOwn(named, name))
    : -1;
  if (missing >= 0) return { at: `${at}.required[${missing}]`, fault: 'property is not defined' };
  return (
    findFirst(Object.entries(named), ([name, inner]) =>
      checkOpenApiSchema(inner, `${at}.properties[${name}]`),
    ) ??
    checkOpenApiSchema(items, `${at}.items`) ??
    findFirst((Array.isArray(anyOf) ? anyOf : []).entries(), ([place, inner]) =>
      checkOpenApiSchema(inner, `${at}.any_of[${place}]`),
    )
  );
}

/** What is wrong with a JSON Schema: a reference that leads out, or one with anything beside it. */
export function checkJsonSchema(schema: unknown, at: string): Found {
  if (Array.isArray(schema))
    return findFirst(schema.entries(), ([place, inner]) => checkJsonSchema(inner, `${at}[${place}]`));
  if (!isObject(schema)) return undefined;
  const { $ref: reference } = schema;
  if (typeof reference === 'string') {
    if (!/^#\/(\$defs|definitions)\//.test(reference))
      return { at, fault: `reference to undefined schema "${reference}"` };
    const beside = Object.keys(schema).find((name) => !name.startsWith('$'));
    if (beside) return { at, fault: `"$ref" cannot be combined with "${beside}"` };
  }
  return findFirst(Object.entries(schema), ([name, inner]) =>
    typeof inner === 'object' ? checkJsonSchema(inner, `${at}.${name}`) : undefined,
  );
}
