/** An example of what a JSON Schema (or Google's part of OpenAPI's) asks for: what a model that keeps to it would write. */
type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeOf(schema: JsonObject): string {
  const { type } = schema;
  const named = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
  if (typeof named === 'string') return named.toLowerCase();
  return isObject(schema['properties']) ? 'object' : 'string';
}

function pointed(root: JsonObject, reference: string): unknown {
  return reference
    .replace(/^#\/?/, '')
    .split('/')
    .reduce<unknown>((place, step) => (isObject(place) && step ? place[step] : place), root);
}

function objectOf(schema: JsonObject, root: JsonObject): JsonObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, sampleOf(inner, root)]));
}

/** Passed a schema; the answer is a value it accepts, of every property it names. */
export function sampleOf(schema: unknown, root: unknown = schema): unknown {
  if (!isObject(schema) || !isObject(root)) return 'anything';
  const { enum: values, const: only, anyOf, oneOf, $ref: reference } = schema;
  if (typeof reference === 'string') return sampleOf(pointed(root, reference), root);
  if (only !== undefined) return only;
  if (Array.isArray(values) && values.length) return values[0];
  for (const choices of [anyOf, oneOf]) if (Array.isArray(choices) && choices.length) return sampleOf(choices[0], root);
  const type = typeOf(schema);
  if (type === 'object') return objectOf(schema, root);
  if (type === 'array') return schema['items'] === undefined ? [] : [sampleOf(schema['items'], root)];
  if (type === 'integer' || type === 'number') return typeof schema['minimum'] === 'number' ? schema['minimum'] : 7;
  if (type === 'boolean') return true;
  return type === 'null' ? null : 'Whitby';
}
