/**
 * What a model answers without a script. It calls the tools it is offered, three at most, and at once if
 * allowed; it answers tool results by naming them; it searches, draws and reasons when asked to. Otherwise it
 * says hello.
 */
import { isObject } from '../json.ts';
import type { Said, SaidCall } from './scenario.ts';

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
function buildSample(schema: unknown, root: unknown = schema, depth = 0): unknown {
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

export interface OfferedTool {
  readonly name: string;
  /** The schema of its arguments; a freeform tool has none. */
  readonly schema?: unknown;
  readonly freeform?: boolean;
}

/** What a request asks for, in terms that fit every wire. */
export interface Asked {
  readonly model: string;
  /** The tools it may call: none if the choice forbids it, one if the choice names it. */
  readonly tools: readonly OfferedTool[];
  /** It may not answer without a call. */
  readonly mustCall: boolean;
  readonly parallel: boolean;
  /** The tool results that end the conversation. */
  readonly results: readonly { readonly name: string; readonly text: string }[];
  /** The schema of the answer, or `true` for any JSON. */
  readonly schema?: unknown;
  readonly reasons: boolean;
  readonly searches?: boolean;
  readonly draws?: boolean;
  readonly runsCode?: boolean;
}

/** One pixel, as PNG. */
export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function improviseCall({ name, schema, freeform = false }: OfferedTool): SaidCall {
  return freeform
    ? { name, freeform, arguments: 'anything at all' }
    : { name, arguments: JSON.stringify(buildSample(schema ?? { type: 'object' })) };
}

function answer({ model, results, schema, searches, draws, runsCode }: Asked, candidate: number): Said {
  if (schema !== undefined)
    return { text: JSON.stringify(schema === true ? { answer: model } : buildSample(schema)) };
  if (results.length) return { text: results.map(({ name, text }) => `${name} said: ${text}`).join('; ') };
  if (draws) return { text: 'Here it is.', pictures: [{ mimeType: 'image/png', data: pixel }] };
  if (runsCode)
    return { code: { language: 'PYTHON', source: 'print(6 * 7)', output: '42\n' }, text: 'It is 42.' };
  if (!searches) return { text: `Hello from ${model}, this is answer ${candidate + 1}.` };
  const text = 'High water is at 14:05';
  return {
    search: 'high water',
    text: `${text}, says the harbour.`,
    citations: [{ url: 'https://tides.example/whitby', title: 'Tide tables', text }],
  };
}

export function improvise(asked: Asked, candidate = 0): Said {
  const reasoning = asked.reasons ? { reasoning: 'Let me think about that.' } : {};
  const calls = asked.tools.slice(0, asked.parallel ? 3 : 1).map(improviseCall);
  const calling = calls.length > 0 && (asked.mustCall || asked.results.length === 0);
  return calling ? { ...reasoning, toolCalls: calls } : { ...reasoning, ...answer(asked, candidate) };
}

/** Whether a scenario leaves the text to the model. */
export function saysNothing(said: Said): boolean {
  const { reasoning, text, refusal, toolCalls, search, pictures, sound, code } = said;
  return [reasoning, text, refusal, toolCalls, search, pictures, sound, code].every(
    (part) => part === undefined,
  );
}
