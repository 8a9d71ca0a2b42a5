/**
 * Tools and the tool choice, in both directions. `functions` and `function_call` are the old names of `tools`
 * and `tool_choice`.
 */
import type { Tool, ToolChoice, CanonicalRequest } from '../../../core/index.ts';
import { decodeChoice, decodeTool, encodeChoice, encodeTool } from '../../shared/openai/tools.ts';
import {
  loseHosted,
  offerTools,
  removeForbiddenTools,
  translateSearchOptions,
  type SearchWriters,
} from '../../shared/wire-kit/hosted-tools.ts';
import { askedInWords, askForCall, needsCall, loseChoice } from '../../shared/wire-kit/offered-tools.ts';
import { readMember, readObjects } from '../../shared/wire-kit/values.ts';
import type { Fields, Tracked } from '../../shared/wire-kit/vendor-bag.ts';
import { type Encoding, dialect, protocolName, encodeForeignMark } from './encoding.ts';
import * as Wire from './wire.ts';

export function decodeTools(wire: Wire.Request): Tool[] | undefined {
  const tools = wire.tools
    ? wire.tools.map((tool, index) => ({ ...decodeOffered(tool), at: `tools[${index}]` }))
    : wire.functions?.map((definition, index) => ({
        ...decodeTool({ function: definition }, dialect),
        at: `functions[${index}]`,
      }));
  const at = 'web_search_options';
  const { [at]: value } = wire;
  if (!value) return tools;
  const search = { type: 'hosted', protocol: protocolName, kind: 'web-search', value, at } as const;
  return [...(tools ?? []), search];
}

function decodeOffered(tool: Wire.Tool): Tool {
  if (Wire.isOwnTool(tool)) return decodeTool(tool, dialect);
  const kind = isSearch(tool) ? 'web-search' : 'other';
  return { type: 'hosted', protocol: protocolName, kind, value: tool };
}

/** Mistral writes "any" for "required". */
export function decodeToolChoice(choice: unknown): ToolChoice | undefined {
  return decodeChoice(choice === 'any' ? 'required' : choice, dialect);
}

/** Reads `tool_choice`, or its old name if that is missing. A choice that only its provider knows is kept. */
export function readToolChoice(body: Tracked<Wire.Request>): ToolChoice | undefined {
  const name = body.seen.tool_choice ? 'tool_choice' : 'function_call';
  const wire = body.seen[name];
  const isOld = name === 'function_call' && typeof wire === 'object' && wire !== null;
  const choice = decodeToolChoice(isOld ? { type: 'function', function: wire } : wire);
  if (!choice) body.keep(name);
  return choice;
}

/** Groq's `browser_search` is a web search, too. */
export function isSearch({ type }: Wire.Tool): boolean {
  return type === 'browser_search' || (type?.includes('web_search') ?? false);
}

const searchWords: SearchWriters = {
  size: (size) => ({ search_context_size: size }),
  location: (place) => ({ user_location: { type: 'approximate', approximate: place } }),
};

export function encodeTools(request: CanonicalRequest, encoding: Encoding): Fields {
  const { model, lose } = encoding;
  const offered = offerTools(request, protocolName, encoding, removeForbiddenTools(request));
  if (!offered) return {};
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
  for (const { tool, path } of offered) {
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
    tool_choice: isFree
      ? undefined
      : encodeChoice(request, encoding, { takesNames: !takesNoNames(encoding) }),
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
