/**
 * Checks a reply that was asked for as JSON in words alone. The client gets it as it is: what is delivered cannot be taken
 * back, and half an answer helps nobody. A reply that does not fit is reported as a loss of its call.
 */
import type { Tally } from '../billing/reply-progress.ts';
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Batches } from './reply-events.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Characters of a text that is checked; a longer one is reported as unchecked. */
const longest = 1024 * 1024;
const deepest = 64;

/** The same events; what does not fit is told to the tally when its candidate ends. */
export async function* checkedJson(
  batches: Batches,
  { schema }: { readonly schema?: unknown },
  tally: Pick<Tally, 'lost'>,
): Batches {
  const watches = new Map<number, Watch>();
  for await (const events of batches) {
    for (const event of events) {
      if (!('candidate' in event)) continue;
      const watch = watches.get(event.candidate) ?? new Watch();
      watches.set(event.candidate, watch);
      const fault = watch.read(event, schema);
      if (fault !== undefined) tally.lost('format', fault);
    }
    yield events;
  }
}

type Placed = Extract<CanonicalEvent, { candidate: number }>;

class Watch {
  readonly #blocks = new Set<number>();
  #text = '';
  /** Whether it calls a tool: then what it says beside that is no answer yet. */
  #isCall = false;

  /** What is wrong with the text, once the candidate has ended. */
  read(event: Placed, schema: unknown): string | undefined {
    if (event.type === 'block-start' && event.kind === 'text') this.#blocks.add(event.block);
    else if (event.type === 'block-start' && event.kind === 'tool-call') this.#isCall = true;
    else if (event.type === 'block-delta' && this.#blocks.has(event.block) && this.#text.length <= longest)
      this.#text += event.text;
    else if (event.type === 'finish') return this.#isCall ? undefined : faultOf(this.#text, schema);
    return undefined;
  }
}

function faultOf(text: string, schema: unknown): string | undefined {
  if (text.length > longest) return 'the answer is too long to be checked for JSON';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'the answer is not valid JSON';
  }
  return fits(value, schema, { root: schema, depth: 0 })
    ? undefined
    : 'the answer is JSON that does not keep to the schema';
}

interface Place {
  readonly root: unknown;
  readonly depth: number;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function hasType(value: unknown, type: unknown): boolean {
  return type === typeOf(value) || (type === 'integer' && Number.isInteger(value));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What a local reference stands for. */
function resolve(reference: string, root: unknown): unknown {
  let found: unknown = root;
  for (const name of reference.split('/').slice(1))
    found = isFields(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found;
}

/** Whether a value keeps to what schemas mostly say: types, members, items and choices. What else they say is not checked. */
function fits(value: unknown, schema: unknown, { root, depth }: Place): boolean {
  if (schema === false) return false;
  if (!isFields(schema) || depth > deepest) return true;
  const inner = { root, depth: depth + 1 };
  const { $ref: reference, type, enum: values, anyOf, oneOf = anyOf, allOf } = schema;
  if (typeof reference === 'string' && !fits(value, resolve(reference, root), inner)) return false;
  if (type !== undefined && ![type].flat().some((each) => hasType(value, each))) return false;
  if (Array.isArray(values) && !values.some((each) => isSame(each, value))) return false;
  if ('const' in schema && !isSame(schema.const, value)) return false;
  if (Array.isArray(oneOf) && !oneOf.some((each) => fits(value, each, inner))) return false;
  if (Array.isArray(allOf) && !allOf.every((each) => fits(value, each, inner))) return false;
  if (Array.isArray(value)) return value.every((item) => fits(item, schema.items, inner));
  return !isFields(value) || membersFit(value, schema, inner);
}

function membersFit(
  value: Fields,
  { properties = {}, required, additionalProperties: others }: Fields,
  place: Place,
): boolean {
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false;
  const known = isFields(properties) ? properties : {};
  return Object.entries(value).every(([name, member]) =>
    fits(member, Object.hasOwn(known, name) ? known[name] : others, place),
  );
}
