/**
 * What vendors want from the schema of a tool's arguments: its root has to be an object's, neither a reference nor a
 * choice, and a strict schema must leave nothing open.
 */
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** A step of a JSON pointer, decoded. One that is not validly encoded stays as it is. */
function nameOf(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/** What a reference within a schema points to; undefined where it points nowhere, or out of the schema. */
export function schemaAt(root: Fields, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  const steps = reference.slice(2).split('/').filter(Boolean);
  return steps.reduce<unknown>((value, step) => {
    const name = nameOf(step);
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }, root);
}

/** How long schemas are as JSON, about; each object is gone through once. */
export class Lengths {
  readonly #known = new Map<object, number>();

  of(value: unknown): number {
    if (typeof value === 'string') return value.length + 2;
    if (typeof value !== 'object' || value === null) return 4;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const length = Object.entries(value).reduce(
      (sum, [name, each]) => sum + name.length + 4 + this.of(each),
      2,
    );
    this.#known.set(value, length);
    return length;
  }
}

const choices = ['anyOf', 'oneOf', 'allOf'] as const;
const deepestChoice = 16;
/** How many references of a schema are followed. Choices that refer back to themselves would multiply at every step. */
const mostReferences = 256;
/** What references are followed to is no more text than this many times the schema's own. */
const mostTimes = 4;

/** The whole schema, into which references point; how many more of them may be followed, and to how much more text. */
interface Root {
  readonly schema: Fields;
  readonly lengths: Lengths;
  references: number;
  text: number;
}

function isPlainObject(schema: Fields): boolean {
  return (
    schema.type === 'object' &&
    schema.$ref === undefined &&
    choices.every((word) => schema[word] === undefined)
  );
}

/** A schema, with its own reference replaced by what that points to. */
function resolved(schema: unknown, root: Root): Fields {
  if (!isObject(schema)) return {};
  const { $ref: reference, ...rest } = schema;
  if (typeof reference !== 'string' || root.references === 0) return rest;
  const found = schemaAt(root.schema, reference);
  root.references -= 1;
  root.text -= root.lengths.of(found);
  return root.text < 0 ? rest : { ...resolved(found, root), ...rest };
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}

interface Members {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
}

function isInAll(name: string, members: readonly Members[]): boolean {
  return members.every(({ required }) => required.has(name));
}

/** The members that an object of this schema can have, and those it must have, with those of its choices. Where a name comes twice the first counts. */
function membersOf(schema: Fields, root: Root, left = deepestChoice): Members {
  const properties = new Map(Object.entries(isObject(schema.properties) ? schema.properties : {}));
  const required = new Set(namesIn(schema.required));
  for (const word of choices) {
    const branches: unknown[] = Array.isArray(schema[word]) && left > 0 ? schema[word] : [];
    const members = branches.map((branch) => membersOf(resolved(branch, root), root, left - 1));
    for (const [name, value] of members.flatMap((branch) => [...branch.properties])) {
      if (!properties.has(name)) properties.set(name, value);
    }
    const shared =
      word === 'allOf'
        ? members.flatMap((branch) => [...branch.required])
        : [...(members[0]?.required ?? [])].filter((name) => isInAll(name, members));
    for (const name of shared) required.add(name);
  }
  return { properties, required };
}

/** The schema, with a root that is plainly an object's. `lose` is called with the reason where something is lost. */
export function objectSchema(schema: unknown, lose: (reason: string) => void): Fields {
  if (!isObject(schema)) return { type: 'object', properties: {} };
  if (isPlainObject(schema)) return schema;
  const lengths = new Lengths();
  const root = { schema, lengths, references: mostReferences, text: mostTimes * lengths.of(schema) };
  const { anyOf, oneOf, allOf, ...whole } = resolved(schema, root);
  const choice = anyOf ?? oneOf ?? allOf;
  if (whole.type !== undefined && whole.type !== 'object') lose('the arguments of a tool are an object');
  if (choice === undefined) return { properties: {}, ...whole, type: 'object' };
  lose('the choices at its root are sent as one object');
  const { properties, required } = membersOf({ ...whole, anyOf, oneOf, allOf }, root);
  // If the root was closed, it refused the members of every branch. Those stand beside its own now, so it is left open.
  const { additionalProperties: _, ...open } = whole;
  return {
    ...open,
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.size > 0 ? { required: [...required] } : {}),
  };
}

/** Whether a tool is offered as strict. Strict tools of other vendors may have optional members, which OpenAI refuses. */
export function fitStrict(
  { strict }: { readonly strict?: boolean | null | undefined },
  parameters: unknown,
  path: string,
  lose: Lose,
): boolean | undefined {
  if (!strict || isStrict(parameters)) return strict ?? undefined;
  lose(
    `${path}.strict`,
    'only goes with a schema that is closed and in which every member is required',
    'model',
  );
  return undefined;
}

/** Whether OpenAI would take a schema as strict: every object in it closed, and every member of it required. */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isObject(schema)) return true;
  if (schema.type === 'object') {
    const required = new Set(namesIn(schema.required));
    const names = isObject(schema.properties) ? Object.keys(schema.properties) : [];
    if (schema.additionalProperties !== false || names.some((name) => !required.has(name))) return false;
  }
  return Object.values(schema).every(isStrict);
}
