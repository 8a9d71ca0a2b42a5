/**
 * Asks for JSON in the strictest way that the provider enforces: a schema, JSON mode, or an instruction in
 * the prompt. OpenAI refuses JSON mode unless a message contains the word "json", and enforces only schemas
 * with an object as root, so any other schema goes inside one. It takes a schema as strict only if every
 * object in it is closed.
 */
import type { CanonicalRequest, Format } from '../../../core/index.ts';
import type { Encoding } from '../wire-kit/encoding.ts';
import { describeFormat, hasJsonMode, type FormatInWords } from '../wire-kit/json-mode.ts';
import type { Lose } from '../wire-kit/losses.ts';
import { readList } from '../wire-kit/values.ts';
import { isObject, type Fields } from '../wire-kit/vendor-bag.ts';

export interface FormatPlan extends FormatInWords {
  /** The field to send. With `words` there is none, only the instruction. */
  readonly mode: 'schema' | 'json' | 'words' | undefined;
  /** The schema to send with the mode `schema`: the client's, or an object with the client's in it. */
  readonly schema?: unknown;
  /** The member of that object, which is the answer. */
  readonly unwraps?: string;
}

type SchemaFormat = Extract<Format, { type: 'schema' }>;

const answer = 'answer';
const shared: ReadonlySet<string> = new Set(['$defs', 'definitions', '$schema']);
const otherRoots = ['anyOf', 'oneOf', 'enum', 'const', '$ref'] as const;

/** An object with the schema's value as its only member, unless the schema describes an object itself. */
function wrapSchema({ schema }: SchemaFormat): Fields | undefined {
  if (!isObject(schema) || schema.type === 'object') return undefined;
  if (schema.type === undefined && otherRoots.every((word) => schema[word] === undefined)) return undefined;
  const entries = Object.entries(moveReferences(schema));
  return {
    type: 'object',
    properties: { [answer]: Object.fromEntries(entries.filter(([name]) => !shared.has(name))) },
    required: [answer],
    additionalProperties: false,
    ...Object.fromEntries(entries.filter(([name]) => shared.has(name))),
  };
}

/** References to the root, or to a place in it, find it where it moves to. Definitions stay at the root. */
function moveReferences(schema: Fields): Fields {
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [
      name,
      name === '$ref' && typeof value === 'string' ? moveReference(value) : moveInside(value),
    ]),
  );
}

function moveInside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moveInside);
  return isObject(value) ? moveReferences(value) : value;
}

function moveReference(reference: string): string {
  const isMoved =
    reference === '#' || (reference.startsWith('#/') && !shared.has(reference.split('/')[1] ?? ''));
  return isMoved ? `#/properties/${answer}${reference.slice(1)}` : reference;
}

/** Plans how one of OpenAI's wires asks for the request's format. */
export function planFormat(request: CanonicalRequest, { model, lose }: Encoding): FormatPlan {
  const { format } = request;
  if (!format || format.type === 'text') return { mode: undefined };
  const wrapped = format.type === 'schema' ? wrapSchema(format) : undefined;
  const unwrapping = wrapped ? { unwraps: answer } : {};
  if (format.type === 'schema' && model.capabilities.structuredOutput)
    return { mode: 'schema', schema: wrapped ?? format.schema, ...unwrapping };
  if (!hasJsonMode(model, Boolean(request.tools?.length))) {
    lose(
      'format',
      'the vendor does not enforce it for this model and request; an instruction asks for it',
      'approximated',
    );
    return { mode: 'words', ...describeFormat(format) };
  }
  if (format.type === 'json') return { mode: 'json', instruction: addJsonWord(request, lose) };
  lose(
    'format.schema',
    'the model has JSON mode without schemas; an instruction asks for it',
    'approximated',
  );
  const { instruction } = describeFormat(wrapped ? { ...format, schema: wrapped } : format);
  return { mode: 'json', instruction, expects: describeFormat(format).expects, ...unwrapping };
}

/** The instruction that JSON mode needs if no message contains the word. */
function addJsonWord({ turns }: CanonicalRequest, lose: Lose): string | undefined {
  if (turns.some(({ blocks }) => blocks.some((block) => block.type === 'text' && /json/i.test(block.text))))
    return undefined;
  lose('format', 'an instruction asks for it as well', 'approximated');
  return 'Answer with one valid JSON object.';
}

/** The instruction as a message that comes before all others. */
export function buildInstructionMessage({ instruction }: FormatInWords): Fields[] {
  return instruction === undefined ? [] : [{ role: 'system', content: instruction }];
}

/** Whether to offer a tool as strict: OpenAI refuses optional members, which other vendors allow. */
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

/** Whether OpenAI accepts a schema as strict: every object in it is closed, and every member required. */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isObject(schema)) return true;
  if (schema.type === 'object') {
    const required = new Set(readList(schema.required));
    const names = isObject(schema.properties) ? Object.keys(schema.properties) : [];
    if (schema.additionalProperties !== false || names.some((name) => !required.has(name))) return false;
  }
  return Object.values(schema).every(isStrict);
}
