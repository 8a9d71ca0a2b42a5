/**
 * Tools and the tool choice, in both directions. `functions` and `function_call` are the old names of `tools`
 * and `tool_choice`.
 */
import type { Tool, ToolChoice, CanonicalRequest, OwnTool } from '../../../core/index.ts';
import {
  decodeDefinition,
  decodeMode,
  decodeSubset,
  encodeChoice,
  fitName,
} from '../../shared/openai/tools.ts';
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
  takesTools,
} from '../../shared/wire-kit/offered-tools.ts';
import { readMember, readObjects } from '../../shared/wire-kit/values.ts';
import {
  pickUnread,
  nestFields,
  type Fields,
  overlay,
  trackReads,
  type Sides,
} from '../../shared/wire-kit/vendor-bag.ts';
import { type Encoding, bag, protocolName, liftToolMark, encodeForeignMark } from './encoding.ts';
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
  readonly choice?: ToolChoice | undefined;
  readonly rest: Fields;
} {
  const { tool_choice: named } = wire;
  if (named) {
    const choice = decodeChoice(named);
    return { choice, rest: choice ? {} : { tool_choice: named } };
  }
  const { function_call: call } = wire;
  if (!call) return { rest: {} };
  const choice = decodeChoice(typeof call === 'string' ? call : { type: 'function', function: call });
  return { choice, rest: choice ? {} : { function_call: call } };
}

function decodeChoice(choice: NonNullable<Wire.Request['tool_choice']>): ToolChoice | undefined {
  // Mistral writes "any" for "required".
  if (typeof choice === 'string') return decodeMode(choice === 'any' ? 'required' : choice);
  if (!Wire.isNamedChoice(choice)) return undefined;
  if (choice.type === 'allowed_tools') {
    const [{ mode, tools }, keepSides] = openNested(choice, choice.allowed_tools);
    const subset = decodeSubset(mode, tools.flatMap(readReferredName));
    return subset && { ...subset, ...keepSides() };
  }
  const [{ name }, keepSides] = openNested(
    choice,
    choice.type === 'function' ? choice.function : choice.custom,
  );
  return { mode: 'one', names: [name], ...keepSides() };
}

/** The object inside another, named after its type, and a function that returns what was not read of both. */
function openNested<Inner extends object>(
  outer: { readonly type?: string | undefined },
  inner: Inner,
): readonly [seen: Inner, keepSides: () => Sides] {
  const { type = 'function' } = outer;
  const [seen, pickInner] = trackReads(inner);
  return [seen, () => bag.keep({ ...pickUnread(outer, ['type', type]), ...nestFields(type, pickInner()) })];
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
  const { type = 'function' } = tool;
  const [definition, keepSides] = openNested(tool, tool.type === 'custom' ? tool.custom : tool.function);
  return { ...decodeDefinition(definition, type), ...keepSides() };
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
    tool_choice: isFree ? undefined : encodeToolChoice(request, encoding),
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

function encodeToolChoice(request: CanonicalRequest, encoding: Encoding): unknown {
  const { tools = [] } = request;
  return encodeChoice(request, encoding.lose, bag, {
    writeOne: (name) => (takesNoNames(encoding) ? undefined : encodeReference(name, tools, encoding)),
    writeSubset(names, mode) {
      if (!encoding.extras) return undefined;
      const allowed = { mode, tools: names.map((name) => encodeReference(name, tools, encoding)) };
      return { type: 'allowed_tools', allowed_tools: allowed };
    },
  });
}
