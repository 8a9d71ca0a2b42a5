/**
 * Checks replies to requests for JSON that the provider got only as an instruction. The client gets the reply
 * unchanged: delivered text cannot be taken back, and half an answer helps no client. A reply that does not
 * match is reported as a loss.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CanonicalEvent } from '../canonical/events.ts';
import type { Tally } from '../tally.ts';
import { resolvePointer } from '../util/json-text.ts';
import type { Batches } from './reply-events.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Characters to check at most; a longer text is reported as unchecked. */
const longest = 1024 * 1024;
const deepest = 64;
/**
 * Schemas that one answer is held against. References can make a short schema ask for any number of checks,
 * and these take some 20 ms.
 */
const mostChecks = 100_000;

/** Passes all events through. Reports a mismatch to the tally when its candidate ends. */
export async function* checkJson(
  batches: Batches,
  { schema }: { readonly schema?: unknown },
  tally: Pick<Tally, 'noteLoss'>,
): Batches {
  const candidates = new Map<number, CandidateText>();
  for await (const events of batches) {
    for (const event of events) {
      if (!('candidate' in event)) continue;
      const candidate = candidates.get(event.candidate) ?? new CandidateText();
      candidates.set(event.candidate, candidate);
      const fault = candidate.read(event, schema);
      if (fault !== undefined) tally.noteLoss('format', fault);
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
  const check: Check = { root: schema, left: mostChecks };
  const isFit = fits(value, schema, check, 0);
  if (check.left < 0) return 'the schema asks for too many checks of the answer';
  return isFit ? undefined : 'the answer is JSON that does not match the schema';
}

interface Check {
  readonly root: unknown;
  /** Schemas that may still be held against a value. Below zero, the result means nothing. */
  left: number;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function getType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function hasType(value: unknown, type: unknown): boolean {
  return type === getType(value) || (type === 'integer' && Number.isInteger(value));
}

/** Checks what most schemas use: types, members, items and choices. Other keywords are not checked. */
function fits(value: unknown, schema: unknown, check: Check, depth: number): boolean {
  if (schema === false) return false;
  check.left -= 1;
  if (!isFields(schema) || depth > deepest || check.left < 0) return true;
  const fitsPart = (part: unknown, partSchema: unknown): boolean => fits(part, partSchema, check, depth + 1);
  const { $ref: reference, type, enum: values, anyOf, oneOf = anyOf, allOf } = schema;
  if (typeof reference === 'string' && !fitsPart(value, resolvePointer(check.root, reference))) return false;
  if (type !== undefined && ![type].flat().some((each) => hasType(value, each))) return false;
  if (Array.isArray(values) && !values.some((each) => isDeepStrictEqual(each, value))) return false;
  if ('const' in schema && !isDeepStrictEqual(schema.const, value)) return false;
  if (Array.isArray(oneOf) && !oneOf.some((each) => fitsPart(value, each))) return false;
  if (Array.isArray(allOf) && !allOf.every((each) => fitsPart(value, each))) return false;
  if (Array.isArray(value)) return value.every((item) => fitsPart(item, schema.items));
  return !isFields(value) || fitsMembers(value, schema, fitsPart);
}

function fitsMembers(
  value: Fields,
  { properties = {}, required, additionalProperties: others }: Fields,
  fitsPart: (part: unknown, schema: unknown) => boolean,
): boolean {
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false;
  const known = isFields(properties) ? properties : {};
  return Object.entries(value).every(([name, member]) =>
    fitsPart(member, Object.hasOwn(known, name) ? known[name] : others),
  );
}
