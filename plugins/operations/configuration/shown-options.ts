/**
 * Options as an operator may see them: what is written, what defaults add, and no secret. A value is hidden
 * if its schema or its name says that it is secret, if it equals a secret of the environment, or if it looks
 * like a key.
 */
import { z } from 'zod';
import { hideSecrets, isReference, listSecrets, type GivenOptions } from '../../../core/index.ts';
import type { Option, OptionChange } from '../../shared/replies/configuration.ts';

interface Leaf extends Option {
  /** The value as JSON, for comparison only. */
  readonly raw: string;
}

type Fields = Readonly<Record<string, unknown>>;

const longestValue = 500;
const mostLeaves = 2000;
const deepest = 12;

const secretNouns = 'keys?|secrets?|token|passw(?:or)?d|passphrase|credentials?|authorization|cookie|private';
const secretName = new RegExp(`(?:^|[._-]|[a-z])(?:${secretNouns})$`, 'i');
const looksSecret = /^(?:sk-|gw-|AIza|AKIA|-----BEGIN )|^(?=.*\d)(?=.*[A-Za-z])[\w+=-]{28,}$/;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSecretText(value: unknown, name: string, schema: Fields): boolean {
  if (typeof value !== 'string' || value === '' || isReference(value)) return false;
  return schema.secret === true || secretName.test(name) || looksSecret.test(value);
}

function toShownValue(value: unknown): Option['value'] {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  const text = typeof value === 'string' ? hideSecrets(value) : describe(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}

/** What is no JSON: a function, a pattern, an object of a library. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return '[]';
  if (isFields(value) && Object.getPrototypeOf(value) === Object.prototype) return '{}';
  if (typeof value === 'bigint' || value instanceof RegExp || value instanceof URL)
    return hideSecrets(String(value));
  return `(${typeof value === 'object' ? (value?.constructor?.name ?? 'object') : typeof value})`;
}

function isContainer(value: unknown): value is Fields | readonly unknown[] {
  if (Array.isArray(value)) return value.length > 0;
  return (
    isFields(value) && Object.getPrototypeOf(value) === Object.prototype && Object.keys(value).length > 0
  );
}

interface Place {
  readonly path: string;
  readonly name: string;
  readonly schema: Fields;
  readonly isDefault: boolean;
  readonly depth: number;
}

/** The JSON schema below a member; of several alternatives the first that has it. */
function findMember(schema: Fields, name: string): Fields {
  const { properties, items, additionalProperties } = schema;
  if (isFields(properties) && isFields(properties[name])) return properties[name];
  if (/^\d+$/.test(name) && isFields(items)) return items;
  const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].flat().filter(isFields);
  for (const each of alternatives) {
    const found = findMember(each, name);
    if (Object.keys(found).length > 0) return found;
  }
  return isFields(additionalProperties) ? additionalProperties : {};
}

function addLeaves(leaves: Leaf[], value: unknown, place: Place): void {
  const { path, name, schema, isDefault, depth } = place;
  if (leaves.length >= mostLeaves) return;
  const defaults = getDefaults(schema, value);
  if (depth < deepest && (isContainer(value) || Object.keys(defaults).length > 0)) {
    const isIndex = Array.isArray(value);
    const members = isFields(value) ? value : { ...(isIndex ? value : []) };
    const dot = path === '' ? '' : '.';
    for (const [member, inner] of Object.entries({ ...defaults, ...members })) {
      if (inner === undefined) continue;
      addLeaves(leaves, inner, {
        path: isIndex ? `${path}[${member}]` : `${path}${dot}${member}`,
        // The members of `apiKey: [...]` are as secret as one alone.
        name: isIndex ? name : member,
        schema: findMember(schema, member),
        isDefault: isDefault || !Object.hasOwn(members, member),
        depth: depth + 1,
      });
    }
    return;
  }
  if (path === '') return;
  const isSecret = isSecretText(value, name, schema) || listSecrets().some((secret) => secret === value);
  const raw = typeof value === 'function' ? 'function' : String(JSON.stringify(value, replaceBigint));
  leaves.push({ path, value: isSecret ? undefined : toShownValue(value), isDefault, isSecret, raw });
}

function replaceBigint(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** What the schema adds to an object that does not say it. */
function getDefaults({ properties }: Fields, value: unknown): Fields {
  if (!isFields(properties) || (value !== undefined && !isFields(value))) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, member]) =>
      isFields(member) && 'default' in member ? [[name, member.default]] : [],
    ),
  );
}

function toJsonSchema(schema: z.ZodType): Fields {
  try {
    return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  } catch {
    // A plugin may have a schema that JSON Schema cannot express: then no default is known.
    return {};
  }
}

function listLeaves({ schema, given }: GivenOptions): Leaf[] {
  const leaves: Leaf[] = [];
  addLeaves(leaves, given ?? {}, {
    path: '',
    name: '',
    schema: toJsonSchema(schema),
    isDefault: false,
    depth: 0,
  });
  return leaves;
}

export function showOptions(options: GivenOptions): Option[] {
  return listLeaves(options).map(({ path, value, isDefault, isSecret }) => ({
    path,
    value,
    isDefault,
    isSecret,
  }));
}

function mapLeaves(options: GivenOptions): Map<string, Leaf> {
  return new Map(listLeaves(options).map((leaf) => [leaf.path, leaf]));
}

export function compareOptions(before: GivenOptions, after: GivenOptions): OptionChange[] {
  const [old, next] = [mapLeaves(before), mapLeaves(after)];
  const paths = new Set([...old.keys(), ...next.keys()]);
  return [...paths].flatMap((path) => {
    const [one, other] = [old.get(path), next.get(path)];
    if (one?.raw === other?.raw) return [];
    const isSecret = Boolean(one?.isSecret || other?.isSecret);
    return [{ path, before: one?.value, after: other?.value, isSecret }];
  });
}
