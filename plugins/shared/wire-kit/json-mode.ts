/**
 * Asks for JSON in the strictest way that the provider enforces: a schema, JSON mode, or an instruction in
 * the prompt. OpenAI refuses JSON mode unless a message contains the word "json", and enforces only schemas
 * with an object as root, so any other schema goes inside one. If the provider does not enforce what the
 * client asked for, the gateway checks the reply.
 */
import type { CanonicalRequest, EncodedRequest, Model, Format } from '../../../core/index.ts';
import type { Encoding } from './encoding.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** A format that the provider does not enforce. */
export interface FormatInWords {
  readonly instruction?: string | undefined;
  readonly expects?: EncodedRequest['expects'];
}

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

/** Whether the model has JSON mode, together with tools if the request has any. */
export function hasJsonMode({ capabilities }: Model, hasTools: boolean): boolean {
  const { structuredOutput, jsonMode = structuredOutput ? 'always' : 'never' } = capabilities;
  return jsonMode === 'always' || (jsonMode === 'without-tools' && !hasTools);
}

export function describeFormat(format: Format): FormatInWords {
  const schema = format.type === 'schema' ? format.schema : undefined;
  if (schema === undefined)
    return {
      instruction: 'Answer with one valid JSON object and nothing else.',
      expects: { schema: { type: 'object' } },
    };
  return {
    instruction: `Answer with valid JSON alone, which keeps to this schema:\n${JSON.stringify(schema)}`,
    expects: { schema },
  };
}

/** A schema with the name and the description that its format has next to it, unless it has its own. */
export function nameSchema({ name, description }: SchemaFormat, schema: Fields): Fields {
  return {
    ...(name === undefined ? {} : { title: name }),
    ...(description === undefined ? {} : { description }),
    ...schema,
  };
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
