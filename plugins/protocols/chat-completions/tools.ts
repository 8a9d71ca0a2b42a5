/**
 * Tools and the tool choice, in both directions. `functions` and `function_call` are the old names of `tools`
 * and `tool_choice`.
 */
import type { Tool, ToolChoice, CanonicalRequest, OwnTool } from '../../../core/index.ts';
import {
  loseHosted,
  removeForbiddenTools,
  removeRepeatedTools,
  translateSearchOptions,
  type SearchWriters,
} from '../../shared/wire-kit/hosted-tools.ts';
import { fitStrict, toObjectSchema } from '../../shared/wire-kit/object-schema.ts';
import {
  askedInWords,
  askForCall,
  convertToFunction,
  needsCall,
  loseNamespaces,
  loseChoice,
  selectOfferedNames,
  takesTools,
} from '../../shared/wire-kit/offered-tools.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import { readMember, readObjects } from '../../shared/wire-kit/values.ts';
import {
  pickUnread,
  nestFields,
  type Fields,
  overlay,
  trackReads,
} from '../../shared/wire-kit/vendor-bag.ts';
import { type Encoding, bag, protocolName, liftToolMark, encodeForeignMark, fitName } from './encoding.ts';
import * as Wire from './wire.ts';

export function decodeTools(wire: Wire.Request): Tool[] | undefined {
  const tools = wire.tools
    ? wire.tools.map((tool, index) => liftToolMark({ ...decodeTool(tool), at: `tools[${index}]` }))
    : wire.functions?.map((definition, index) => ({
        ...decodeTool({ type: 'function', function: definition }),
        at: `functions[${index}]`,
      }));
  const at = 'web_search_options';
  const { [at]: value } = wire;
  if (!value) return tools;
  const search = { type: 'hosted', protocol: protocolName, kind: 'web-search', value, at } as const;
  return [...(tools ?? []), search];
}

/** A choice that only its provider knows is kept in `rest`. */
export function decodeToolChoice(wire: Wire.Request): {
  readonly choice?: ToolChoice;
  readonly rest: Fields;
} {
  if (wire.tool_choice) {
    const choice = decodeChoice(wire.tool_choice);
    return choice ? { choice, rest: {} } : { rest: { tool_choice: wire.tool_choice } };
  }
  const call = wire.function_call;
  if (!call) return { rest: {} };
  if (typeof call === 'string') {
    const mode = decodeMode(call);
    return mode ? { choice: { mode }, rest: {} } : { rest: { function_call: call } };
  }
  const [{ name }, pickRest] = trackReads(call);
  return {
    choice: { mode: 'one', names: [name], ...bag.keep(nestFields('function', pickRest())) },
    rest: {},
  };
}

const functionFields = new Set(['name', 'description', 'parameters', 'strict']);
const customFields = new Set(['name', 'description', 'format']);

/** Returns the unread fields of an object, and of the object inside it that is named after its type. */
function readInnerLeftover(outer: object, name: string, inner: object, known: ReadonlySet<string>): Fields {
  return { ...pickUnread(outer, ['type', name]), ...nestFields(name, pickUnread(inner, known)) };
}

/** Groq's `browser_search` is a web search, too. */
export function isSearch({ type }: Wire.Tool): boolean {
  return type === 'browser_search' || (type?.includes('web_search') ?? false);
}

function decodeTool(tool: Wire.Tool): Tool {
  if (!Wire.isOwnTool(tool)) {
    const kind = isSearch(tool) ? 'web-search' : 'other';
    return { type: 'hosted', protocol: protocolName, kind, value: tool };
  }
  if (tool.type === 'custom') {
    const { name, description, format } = tool.custom;
    return {
      type: 'custom',
      name,
      description: description ?? undefined,
      format: format ?? undefined,
      ...bag.keep(readInnerLeftover(tool, 'custom', tool.custom, customFields)),
    };
  }
  const { name, description, parameters, strict } = tool.function;
  return {
    type: 'function',
    name,
    description: description ?? undefined,
    schema: parameters ?? undefined,
    strict: strict ?? undefined,
    ...bag.keep(readInnerLeftover(tool, 'function', tool.function, functionFields)),
  };
}

const nameField = new Set(['name']);
const allowedFields = new Set(['mode', 'tools']);

const modes = ['none', 'auto', 'required'] as const;

/** Mistral writes "any" for "required". */
function decodeMode(mode: string): (typeof modes)[number] | undefined {
  return mode === 'any' ? 'required' : findKnown(mode, modes);
}

function decodeChoice(choice: NonNullable<Wire.Request['tool_choice']>): ToolChoice | undefined {
  if (typeof choice !== 'string') return Wire.isNamedChoice(choice) ? decodeNamed(choice) : undefined;
  const mode = decodeMode(choice);
  return mode && { mode };
}

function decodeNamed(choice: Wire.NamedChoice): ToolChoice {
  if (choice.type !== 'allowed_tools') {
    const inner = choice.type === 'function' ? choice.function : choice.custom;
    const rest = readInnerLeftover(choice, choice.type, inner, nameField);
    return { mode: 'one', names: [inner.name], ...bag.keep(rest) };
  }
  const { mode, tools } = choice.allowed_tools;
  const rest = readInnerLeftover(choice, 'allowed_tools', choice.allowed_tools, allowedFields);
  return {
    mode: 'subset',
    names: tools.flatMap(readReferredName),
    required: mode === 'required',
    ...bag.keep(rest),
  };
}

export function readReferredName(reference: Wire.Reference): string[] {
  if (!Wire.isReference(reference)) return [];
  return [reference.type === 'function' ? reference.function.name : reference.custom.name];
}

const searchWords: SearchWriters = {
  size: (size) => ({ search_context_size: size }),
  location: (place) => ({ user_location: { type: 'approximate', approximate: place } }),
};

export function encodeTools(request: CanonicalRequest, encoding: Encoding): Fields {
  const { model, lose } = encoding;
  if (!takesTools(request, model, lose)) return {};
  loseNamespaces(request.tools ?? [], protocolName, lose);
  const tools: Fields[] = [];
  let search: unknown;
  const { mode, names } = request.toolChoice ?? {};
  // Z.AI refuses "none", too.
  if (mode === 'none' && encoding.flags.forcedTools === 'never') return {};
  const isFree = refusesForce(request, encoding);
  if (isFree) lose('toolChoice', askedInWords, 'approximated');
  // If the choice cannot name tools, only the allowed ones are sent.
  const cannotName = mode === 'one' ? takesNoNames(encoding) : mode === 'subset' && !encoding.extras;
  const allowed = names && (isFree || cannotName) ? new Set(names) : undefined;
  const isMarked = request.names?.['tools.cache'] !== undefined;
  for (const { tool, path } of removeRepeatedTools(removeForbiddenTools(request), encoding)) {
    if (tool.type !== 'hosted') {
      if (allowed?.has(tool.name) === false) continue;
      const mark = isMarked ? encodeForeignMark(tool) : undefined;
      if (tool.cache && !mark) lose(`${path}.cache`, 'chat-completions has no cache marks on tools');
      tools.push({ ...encodeTool(tool, path, encoding), ...mark });
    } else if (tool.protocol === protocolName && tool.at === 'web_search_options') search = tool.value;
    else if (tool.protocol === protocolName) tools.push(tool.value);
    else if (tool.kind === 'web-search' && model.supportedParameters.includes('web_search_options'))
      search = translateSearchOptions(tool, path, searchWords, lose);
    else loseHosted(tool, path, encoding);
  }
  // Providers refuse a choice without tools.
  if (tools.length === 0) {
    loseChoice(request, lose);
    return { web_search_options: search };
  }
  return {
    tools,
    web_search_options: search,
    tool_choice: isFree ? undefined : encodeChoice(request, encoding),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

/** The instruction that asks for a call of one of the encoded tools, if the model refuses to be made to. */
export function buildCallInstruction(
  request: CanonicalRequest,
  { tools }: Fields,
  encoding: Encoding,
): string | undefined {
  const offered = readObjects(tools).map((tool) => readMember(tool.function, 'name'));
  return refusesForce(request, encoding) && offered.length > 0 ? askForCall(offered) : undefined;
}

/** Whether the choice demands a call, which the model refuses. */
function refusesForce(request: CanonicalRequest, { flags }: Encoding): boolean {
  return flags.forcedTools === 'never' && needsCall(request);
}

/** Whether the model can be made to call some tool, but not one by its name. */
function takesNoNames({ flags }: Encoding): boolean {
  return flags.forcedTools === 'unnamed';
}

function encodeTool(tool: OwnTool, path: string, { inPlace, extras, lose }: Encoding): Fields {
  const fields = bag.getFields(tool);
  const { description } = tool;
  const name = inPlace ? tool.name : fitName(tool.name);
  if (tool.type === 'function') {
    const parameters = tool.schema === undefined ? undefined : toObjectSchema(tool.schema, path, lose);
    const strict = inPlace ? tool.strict : fitStrict(tool, parameters, path, lose);
    return overlay(fields, { type: 'function', function: { name, description, parameters, strict } });
  }
  if (extras) return overlay(fields, { type: 'custom', custom: { name, description, format: tool.format } });
  const wrapped = convertToFunction(tool, path, lose);
  const definition = { name, description: wrapped.description, parameters: wrapped.schema };
  return { type: 'function', function: definition };
}

function encodeReference(
  canonicalName: string,
  tools: readonly Tool[],
  { inPlace, extras }: Encoding,
): Fields {
  const custom = extras && tools.some((tool) => tool.type === 'custom' && tool.name === canonicalName);
  const name = inPlace ? canonicalName : fitName(canonicalName);
  return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}

function encodeChoice(request: CanonicalRequest, encoding: Encoding): unknown {
  const { toolChoice, tools = [] } = request;
  if (!toolChoice) return undefined;
  const { mode, names: wanted = [], required } = toolChoice;
  const names = selectOfferedNames(request, encoding.lose);
  if (names.length === 0 && wanted.length > 0) return undefined;
  if (mode === 'one' && takesNoNames(encoding)) return 'required';
  if (mode === 'one')
    return overlay(bag.getFields(toolChoice), encodeReference(names[0] ?? '', tools, encoding));
  if (mode !== 'subset') return mode;
  if (!encoding.extras) return required ? 'required' : 'auto';
  const allowed = {
    mode: required ? 'required' : 'auto',
    tools: names.map((name) => encodeReference(name, tools, encoding)),
  };
  return overlay(bag.getFields(toolChoice), { type: 'allowed_tools', allowed_tools: allowed });
}
