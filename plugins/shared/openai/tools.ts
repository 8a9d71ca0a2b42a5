/** Tools and the tool choice of OpenAI's two protocols, in both directions. */
import type { CanonicalRequest, OwnTool, ToolChoice } from '../../../core/index.ts';
import { toObjectSchema } from '../wire-kit/object-schema.ts';
import { convertToFunction, selectOfferedNames, fitNameByRule, hashText } from '../wire-kit/offered-tools.ts';
import { findKnown } from '../wire-kit/open-values.ts';
import { readList, readObjects, readString, readText } from '../wire-kit/values.ts';
import { isObject, overlay, type Fields, trackReads } from '../wire-kit/vendor-bag.ts';
import { decodeMark } from './cache-breakpoint.ts';
import { openMembers, placeMembers, type Dialect, type OpenaiEncoding } from './dialect.ts';
import { fitStrict } from './formats.ts';

const longest = 64;
const rule = { good: /^[\w-]{1,64}$/, strange: /[^\w-]/g, longest };

/** Returns the name itself if OpenAI accepts it, or else a similar one. */
export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}

/** Returns the id itself if OpenAI accepts it, or else a hash of it: a call and its result stay paired. */
export function fitCallId(id: string): string {
  return id.length > 0 && id.length <= longest ? id : `call_${hashText(id)}`;
}

/** Decodes a function, or a custom tool, which takes free text. */
export function decodeTool(wire: Fields, dialect: Dialect): OwnTool {
  const tool = trackReads(wire);
  const type = tool.seen.type === 'custom' ? 'custom' : 'function';
  const seen = openMembers(tool, type, dialect);
  const named = { name: readText(seen.name), description: readString(seen.description) };
  const facts: OwnTool =
    type === 'custom'
      ? { type, ...named, format: nestGrammar(seen.format ?? undefined, dialect) }
      : { type, ...named, schema: seen.parameters ?? undefined, strict: readFlag(seen.strict) };
  return { ...facts, ...decodeMark(tool, dialect), ...dialect.bag.keep(tool.pickRest()) };
}

function readFlag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** In the canonical form a grammar is inside `grammar`, as in chat-completions. */
function nestGrammar(format: unknown, { nests }: Dialect): unknown {
  if (nests || !isObject(format) || format.type !== 'grammar') return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function flattenGrammar(format: unknown, { nests }: Dialect): unknown {
  if (nests || !isObject(format) || format.type !== 'grammar' || !isObject(format.grammar)) return format;
  return { type: 'grammar', ...format.grammar };
}

export function encodeTool(tool: OwnTool, path: string, encoding: OpenaiEncoding): Fields {
  const { dialect, inPlace, lose } = encoding;
  const fields = dialect.bag.getFields(tool);
  const { type, description } = tool;
  const name = encoding.nameTool(tool.name);
  if (type === 'custom' && encoding.extras) {
    const format = flattenGrammar(tool.format, dialect);
    return overlay(fields, placeMembers({ type, name, description, format }, dialect));
  }
  if (type === 'custom') {
    const wrapped = convertToFunction(tool, path, lose);
    const members = { name, description: wrapped.description, parameters: wrapped.schema };
    return placeMembers({ type: 'function', ...members }, dialect);
  }
  if (!dialect.nests) {
    const parameters = toObjectSchema(tool.schema, path, lose);
    // In responses, OpenAI treats a tool without `strict` as strict.
    const strict = fitStrict(tool, parameters, path, lose) ?? false;
    return overlay(fields, { type, name, description, parameters, strict });
  }
  const parameters = tool.schema === undefined ? undefined : toObjectSchema(tool.schema, path, lose);
  const strict = inPlace ? tool.strict : fitStrict(tool, parameters, path, lose);
  return overlay(fields, placeMembers({ type, name, description, parameters, strict }, dialect));
}

/** The name in a reference to a function or a custom tool; undefined for any other reference. */
export function readReference(reference: unknown, { nests }: Dialect): unknown {
  if (!isObject(reference) || (reference.type !== 'function' && reference.type !== 'custom'))
    return undefined;
  const { name } = nests ? Object(reference[reference.type]) : reference;
  return name;
}

/** Whether a reference says no more than a type and a name. */
function isPlain(reference: Fields): boolean {
  const inner = reference[String(reference.type)];
  return Object.keys(reference).length === 2 && (!isObject(inner) || Object.keys(inner).length === 1);
}

const modes = ['none', 'auto', 'required'] as const;

/** Returns undefined for a choice that only its vendor knows, which the caller keeps among its fields. */
export function decodeChoice(choice: unknown, dialect: Dialect): ToolChoice | undefined {
  if (!isObject(choice)) {
    const mode = findKnown(choice, modes);
    return mode && { mode };
  }
  const tracked = trackReads(choice);
  const { type } = tracked.seen;
  const seen = openMembers(tracked, String(type), dialect);
  const decoded = readChoice(String(type), seen, dialect);
  return decoded && { ...decoded, ...dialect.bag.keep(tracked.pickRest()) };
}

function readChoice(type: string, seen: Fields, dialect: Dialect): ToolChoice | undefined {
  if (type === 'function' || type === 'custom') {
    const { name } = seen;
    return typeof name === 'string' ? { mode: 'one', names: [name] } : undefined;
  }
  if (type !== 'allowed_tools') return undefined;
  const { mode, tools } = seen;
  const names = readList(tools).map((reference) => readReference(reference, dialect));
  const isKnown = names.every((name) => typeof name === 'string') && readObjects(tools).every(isPlain);
  if (!isKnown || !Array.isArray(tools) || (mode !== 'auto' && mode !== 'required')) return undefined;
  return { mode: 'subset', names, required: mode === 'required' };
}

/** Encodes a choice. `takesNames`: the model can be made to call a certain tool. */
export function encodeChoice(
  request: CanonicalRequest,
  encoding: OpenaiEncoding,
  { takesNames = true, hosted = [] }: { readonly takesNames?: boolean; readonly hosted?: readonly Fields[] },
): unknown {
  const { toolChoice, tools = [] } = request;
  if (!toolChoice) return undefined;
  const { dialect, extras, nameTool, lose } = encoding;
  const { mode, names: wanted = [], required } = toolChoice;
  const names = selectOfferedNames(request, lose);
  if (names.length === 0 && wanted.length > 0) return undefined;
  if (mode !== 'one' && mode !== 'subset') return mode;
  const word = mode === 'one' || required ? 'required' : 'auto';
  if (mode === 'one' ? !takesNames : !extras) return word;
  const refer = (name: string): Fields => {
    const custom = extras && tools.some((tool) => tool.type === 'custom' && tool.name === name);
    return placeMembers({ type: custom ? 'custom' : 'function', name: nameTool(name) }, dialect);
  };
  const wire =
    mode === 'one'
      ? refer(names[0] ?? '')
      : placeMembers({ type: 'allowed_tools', mode: word, tools: [...names.map(refer), ...hosted] }, dialect);
  return overlay(dialect.bag.getFields(toolChoice), wire);
}
