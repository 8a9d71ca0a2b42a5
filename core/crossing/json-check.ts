/**
 * Checks replies to requests for JSON that the provider got only as an instruction. The client gets the reply
 * unchanged: delivered text cannot be taken back, and half an answer helps no client. A reply that does not
 * match is reported as a loss.
 */
import type { Tally } from '../billing/reply-progress.ts';
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Batches } from './reply-events.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Characters to check at most; a longer text is reported as unchecked. */
const longest = 1024 * 1024;
const deepest = 64;

/** Passes all events through. Reports a mismatch to the tally when its candidate ends. */
export async function* checkJson(
  batches: Batches,
  { schema }: { readonly schema?: unknown },
  tally: Pick<Tally, 'lost'>,
): Batches {
  const candidates = new Map<number, CandidateText>();
  for await (const events of batches) {
    for (const event of events) {
      if (!('candidate' in event)) continue;
      const candidate = candidates.get(event.candidate) ?? new CandidateText();
      candidates.set(event.candidate, candidate);
      const fault = candidate.read(event, schema);
      if (fault !== undefined) tally.lost('format', fault);
    }
    yield events;
  }
}

type Placed = Extract<CanonicalEvent, { candidate: number }>;

class CandidateText {
  readonly #blocks = new Set<number>();
  #text = '';
  /** Whether it calls a tool: then its text is not the answer yet. */
  #isCall = false;

  /** Returns what is wrong with the text when the candidate ends. */
  read(event: Placed, schema: unknown): string | undefined {
    if (event.type === 'block-start' && event.kind === 'text') this.#blocks.add(event.block);
    else if (event.type === 'block-start' && event.kind === 'tool-call') this.#isCall = true;
    else if (event.type === 'block-delta' && this.#blocks.has(event.block) && this.#text.length <= longest)
      this.#text += event.text;
    else if (event.type === 'finish') return this.#isCall ? undefined : findFault(this.#text, schema);
    return undefined;
  }
}

function findFault(text: string, schema: unknown): string | undefined {
  if (text.length > longest) return 'the answer is too long to check for JSON';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'the answer is not valid JSON';
  }
  return fits(value, schema, { root: schema, depth: 0 })
    ? undefined
    : 'the answer is JSON that does not match the schema';
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

/** Resolves a local `$ref`. */
function resolve(reference: string, root: unknown): unknown {
  let found: unknown = root;
  for (const name of reference.split('/').slice(1))
    found = isFields(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found;
}

/** Checks what most schemas use: types, members, items and choices. Other keywords are not checked. */
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
