/** Makes a value that fits a JSON Schema (or Google's subset of OpenAPI), as a model would write it. */
import { isObject } from '../json.ts';

type JsonObject = Readonly<Record<string, unknown>>;

function getType(schema: JsonObject): string {
  const { type } = schema;
  const named = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
  if (typeof named === 'string') return named.toLowerCase();
  return isObject(schema.properties) ? 'object' : 'string';
}

function resolveReference(root: JsonObject, reference: string): unknown {
  return reference
    .replace(/^#\/?/, '')
    .split('/')
    .reduce<unknown>((place, step) => (isObject(place) && step ? place[step] : place), root);
}

function buildObject(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const properties = isObject(schema.properties) && depth < 4 ? schema.properties : {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, buildSample(inner, root, depth + 1)]),
  );
}

/**
 * Passed a schema; the answer is a value it accepts, of every property it names as far as four deep: some
 * have no end.
 */
export function buildSample(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isObject(schema) || !isObject(root) || depth > 8) return 'anything';
  const { enum: values, const: only, anyOf, oneOf, $ref: reference } = schema;
  if (typeof reference === 'string') return buildSample(resolveReference(root, reference), root, depth + 1);
  if (only !== undefined) return only;
  if (Array.isArray(values) && values.length) return values[0];
  for (const choices of [anyOf, oneOf])
    if (Array.isArray(choices) && choices.length) return buildSample(choices[0], root, depth + 1);
  const type = getType(schema);
  if (type === 'object') return buildObject(schema, root, depth);
  if (type === 'array')
    return schema.items === undefined || depth > 4 ? [] : [buildSample(schema.items, root, depth + 1)];
  if (type === 'integer' || type === 'number') return typeof schema.minimum === 'number' ? schema.minimum : 7;
  if (type === 'boolean') return true;
  return type === 'null' ? null : 'Whitby';
}
