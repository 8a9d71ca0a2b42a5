/** The tables of `plugins/canonical.md`, as the zod schemas of the canonical request and events have them. */
import { z } from 'zod';
import { eventSchema, requestSchema } from '../../core/index.ts';
import { isObject } from './json.ts';

/** Its name, and what it may be or hold. */
export type Row = readonly [name: string, holds: string];

function toJsonSchema(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, { io: 'input', reused: 'inline', unrepresentable: 'any' });
}

function getMembers(schema: unknown): [string, unknown][] {
  return isObject(schema) && isObject(schema.properties) ? Object.entries(schema.properties) : [];
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The members of an object, with a question mark behind those that may be missing. */
function listNames(schema: unknown): string {
  const required = isObject(schema) ? listOf(schema.required) : [];
  return getMembers(schema)
    .filter(([name]) => name !== 'type')
    .map(([name]) => `\`${name}${required.includes(name) ? '' : '?'}\``)
    .join(', ');
}

function describeType(schema: unknown): string {
  if (!isObject(schema)) return 'any';
  const options = listOf(schema.anyOf ?? schema.oneOf);
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  if (options.length > 0) return [...new Set(options.map(describeType))].join(' or ');
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.type === 'array') return `list of ${describeType(schema.items)}`;
  const [kind] = getMembers(schema)
    .filter(([name, member]) => name === 'type' && isObject(member) && member.const !== undefined)
    .map(([, member]) => describeType(member));
  const names = listNames(schema);
  if (kind !== undefined) return kind;
  return names === '' ? String(schema.type ?? 'any') : `{ ${names} }`;
}

function findMember(schema: unknown, name: string): unknown {
  return getMembers(schema).find(([each]) => each === name)?.[1];
}

function getItems(schema: unknown): unknown {
  return isObject(schema) ? schema.items : undefined;
}

/** The options of a union by their `type`, with their other members. */
function listOptions(union: unknown): Row[] {
  const options = isObject(union) ? listOf(union.anyOf ?? union.oneOf) : [];
  return options.map((option) => [describeType(findMember(option, 'type')), listNames(option)]);
}

/** The members of an object, each with its type. */
function listFields(schema: unknown): Row[] {
  return getMembers(schema).map(([name, member]) => {
    const required = isObject(schema) && listOf(schema.required).includes(name);
    return [`\`${name}${required ? '' : '?'}\``, describeType(member)];
  });
}

/** The tables by the names that the page gives them. */
export function buildCanonicalTables(): Record<string, Row[]> {
  const request = toJsonSchema(requestSchema);
  const turn = getItems(findMember(request, 'turns'));
  return {
    request: listFields(request),
    turn: listFields(turn),
    blocks: listOptions(getItems(findMember(turn, 'blocks'))),
    tools: listOptions(getItems(findMember(request, 'tools'))),
    events: listOptions(toJsonSchema(eventSchema)),
  };
}
