/**
 * What the vendors publish of their replies, as JSON Schema made from the types of their SDKs when a test
 * asks for it. A reply that does not fit them breaks code that was compiled against them.
 */
import { fileURLToPath } from 'node:url';
import { Ajv, type ErrorObject } from 'ajv';
import { createGenerator, type SchemaGenerator } from 'ts-json-schema-generator';
import { isObject } from './json.ts';
import type { Wire } from './replaying-vendor.ts';

interface Published {
  /** The package's files that declare the types, and those they import. */
  readonly files: string;
  readonly reply: string;
  readonly event: string;
}

const openai = 'openai/resources/{shared,completions,chat/completions/completions,responses/responses}.d.ts';

const published: Readonly<Record<Wire, Published>> = {
  'chat-completions': {
    files: openai,
    reply: 'ChatCompletion',
    event: 'ChatCompletionChunk',
  },
  responses: {
    files: openai,
    reply: 'Response',
    event: 'ResponseStreamEvent',
  },
  messages: {
    files: '@anthropic-ai/sdk/resources/messages/messages.d.ts',
    reply: 'Message',
    event: 'RawMessageStreamEvent',
  },
  'generate-content': {
    files: '@google/genai/dist/genai.d.ts',
    reply: 'GenerateContentResponse',
    event: 'GenerateContentResponse',
  },
};

/** Members that an SDK computes: no reply has them. */
const computed: ReadonlySet<string> = new Set([
  'output_text',
  '_request_id',
  'sdkHttpResponse',
  'text',
  'data',
  'functionCalls',
  'executableCode',
  'codeExecutionResult',
]);

/** Members that vendors leave out though their types require them, and that the AI SDK 6 refuses as null. */
const leftOut: ReadonlySet<string> = new Set(['citations']);

/**
 * Members that OpenAI writes as null while a response runs (its recorded streams show it), though its types
 * do not say so.
 */
const nullWhileRunning: ReadonlySet<string> = new Set(['#/definitions/ResponseUsage']);

function omitUnsent(name: string, value: unknown): unknown {
  return name === 'required' && Array.isArray(value)
    ? value.filter((field) => !computed.has(String(field)) && !leftOut.has(String(field)))
    : value;
}

/** Takes a value; returns what is wrong with it. */
type Check = (value: unknown) => readonly string[];

export interface PublishedTypes {
  readonly reply: Check;
  readonly event: Check;
}

const generated = new Map<Wire, PublishedTypes>();

/** Generates them when they are first asked for, which takes seconds. */
export function getPublishedTypes(wire: Wire): PublishedTypes {
  const types = generated.get(wire) ?? generate(wire);
  generated.set(wire, types);
  return types;
}

/** Reads only the files above, which takes a third of the time, and gives the same schemas. */
const settings = fileURLToPath(new URL('published-types.tsconfig.json', import.meta.url));

const generators = new Map<string, SchemaGenerator>();

/** Reading a package's types takes most of the time, so the protocols of one vendor share it. */
function getGenerator(files: string): SchemaGenerator {
  const known = generators.get(files);
  if (known) return known;
  const generator = createGenerator({
    path: fileURLToPath(new URL(`../../node_modules/${files}`, import.meta.url)),
    tsconfig: settings,
    skipTypeCheck: true,
    additionalProperties: true,
    expose: 'all',
    jsDoc: 'none',
  });
  generators.set(files, generator);
  return generator;
}

function generate(wire: Wire): PublishedTypes {
  const { files, reply, event } = published[wire];
  const generator = getGenerator(files);
  const createCheck = (type: string): Check => {
    const schema: unknown = JSON.parse(JSON.stringify(generator.createSchema(type)), omitUnsent);
    const definitions: unknown = isObject(schema) ? schema.definitions : undefined;
    if (!isObject(schema) || !isObject(definitions)) throw new Error(`no schema of ${type}`);
    const narrowed = JSON.parse(JSON.stringify(schema), (_, node: unknown) =>
      chooseByType(node, definitions),
    );
    const validate = new Ajv({ strict: false, allErrors: true }).compile(narrowed);
    return (value) => (validate(value) ? [] : (validate.errors ?? []).map(explain));
  };
  return { reply: createCheck(reply), event: createCheck(event) };
}

/** The `type` that every value of a member of a union has. */
function findType(member: unknown, definitions: Readonly<Record<string, unknown>>): string | undefined {
  const reference = isObject(member) && typeof member.$ref === 'string' ? member.$ref : '';
  const definition = definitions[decodeURIComponent(reference.replace('#/definitions/', ''))];
  const properties = isObject(definition) ? definition.properties : undefined;
  const type = isObject(properties) ? properties.type : undefined;
  return isObject(type) && typeof type.const === 'string' ? type.const : undefined;
}

/** A union of objects distinguished by their `type`, so that an error is about the intended member. */
function chooseByType(node: unknown, definitions: Readonly<Record<string, unknown>>): unknown {
  if (!isObject(node)) return node;
  if (nullWhileRunning.has(String(node.$ref))) return { anyOf: [{ ...node }, { type: 'null' }] };
  if (!Array.isArray(node.anyOf)) return node;
  const members: unknown[] = node.anyOf;
  const types = members.map((member) => findType(member, definitions));
  if (types.includes(undefined) || new Set(types).size < types.length) return node;
  const buildTypeTest = (type: unknown): object => ({ properties: { type: { const: type } } });
  return {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: types } },
    allOf: members.map((member, at) => ({ anyOf: [{ not: buildTypeTest(types[at]) }, member] })),
  };
}

function explain({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath} ${message} ${JSON.stringify(params)}`;
}
