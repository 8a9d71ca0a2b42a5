/**
 * Fits the schema of a tool's arguments to what providers require: its root is an object, neither a reference
 * nor a choice, and a strict schema leaves nothing open.
 */
import { resolvePointer } from '../../../core/index.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** Follows the references of one schema, up to a limit of references and of the text they lead to. */
export class References {
  readonly #root: Fields;
  /** The lengths of objects that were measured. Each is visited once. */
  readonly #lengths = new Map<object, number>();
  #left: number;
  #textLeft: number;

  /** `mostText` returns the limit of text, given the schema's own length. */
  constructor(root: Fields, most: number, mostText: (length: number) => number) {
    this.#root = root;
    this.#left = most;
    this.#textLeft = mostText(this.#measure(root));
  }

  find(reference: string): unknown {
    return resolvePointer(this.#root, reference);
  }

  /** Counts a reference to this target. Returns false once a limit is passed. */
  follow(target: unknown): boolean {
    this.#left -= 1;
    this.#textLeft -= this.#measure(target);
    return this.#left >= 0 && this.#textLeft >= 0;
  }

  /** Estimates the length of a value as JSON. */
  #measure(value: unknown): number {
    if (typeof value === 'string') return value.length + 2;
    if (typeof value !== 'object' || value === null) return 4;
    const known = this.#lengths.get(value);
    if (known !== undefined) return known;
    const length = Object.entries(value).reduce(
      (sum, [name, each]) => sum + name.length + 4 + this.#measure(each),
      2,
    );
    this.#lengths.set(value, length);
    return length;
  }
}

const choices = ['anyOf', 'oneOf', 'allOf'] as const;
const deepestChoice = 16;
/** The limit of references to resolve. Choices that refer back to themselves would multiply at every step. */
const mostReferences = 256;
const mostTimes = 4;

function isPlainObject(schema: Fields): boolean {
  return (
    schema.type === 'object' &&
    schema.$ref === undefined &&
    choices.every((word) => schema[word] === undefined)
  );
}

/** Replaces a schema's own reference by its target. */
function resolveReference(schema: unknown, references: References): Fields {
  if (!isObject(schema)) return {};
  const { $ref: reference, ...rest } = schema;
  if (typeof reference !== 'string') return rest;
  const found = references.find(reference);
  return references.follow(found) ? { ...resolveReference(found, references), ...rest } : rest;
}

function listNames(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}

interface Members {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
}

/**
 * The possible and the required members of an object of this schema, with those of its choices. The first
 * definition of a name counts.
 */
function collectMembers(schema: Fields, references: References, left = deepestChoice): Members {
  const properties = new Map(Object.entries(isObject(schema.properties) ? schema.properties : {}));
  const required = new Set(listNames(schema.required));
  for (const word of choices) {
    const branches: unknown[] = Array.isArray(schema[word]) && left > 0 ? schema[word] : [];
    const members = branches.map((branch) =>
      collectMembers(resolveReference(branch, references), references, left - 1),
    );
    for (const [name, value] of members.flatMap((branch) => [...branch.properties])) {
      if (!properties.has(name)) properties.set(name, value);
    }
    const shared =
      word === 'allOf'
        ? members.flatMap((branch) => [...branch.required])
        : [...(members[0]?.required ?? [])].filter((name) =>
            members.every((branch) => branch.required.has(name)),
          );
    for (const name of shared) required.add(name);
  }
  return { properties, required };
}

/** The schema with an object as its root. `path` is that of its tool. */
export function toObjectSchema(schema: unknown, path: string, lose: Lose): Fields {
  if (!isObject(schema)) return { type: 'object', properties: {} };
  if (isPlainObject(schema)) return schema;
  const references = new References(schema, mostReferences, (length) => mostTimes * length);
  const { anyOf, oneOf, allOf, ...whole } = resolveReference(schema, references);
  const choice = anyOf ?? oneOf ?? allOf;
  if (whole.type !== undefined && whole.type !== 'object')
    lose(`${path}.schema`, 'the arguments of a tool are an object', 'approximated');
  if (choice === undefined) return { properties: {}, ...whole, type: 'object' };
  lose(`${path}.schema`, 'the choices at its root are sent as one object', 'approximated');
  const { properties, required } = collectMembers({ ...whole, anyOf, oneOf, allOf }, references);
  // A closed root would refuse the members of the branches, which are now its own.
  const { additionalProperties: _, ...open } = whole;
  return {
    ...open,
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.size > 0 ? { required: [...required] } : {}),
  };
}
