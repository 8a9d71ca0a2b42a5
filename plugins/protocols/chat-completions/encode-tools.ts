/** Tools, and the choice among them, as this wire names them; in the former names where a client used those. */
import type { CanonicalRequest, Model, Tool } from '../../../core/index.ts';
import {
  loseHosted,
  withoutForbidden,
  searchOptions,
  type SearchWords,
} from '../../shared/wire-kit/hosted-tools.ts';
import { fitStrict, objectSchema } from '../../shared/wire-kit/object-schema.ts';
import { asFunction, loseNamespaces, loseChoice, offeredNames } from '../../shared/wire-kit/offered-tools.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { Encoding } from './encode-parts.ts';
import { isForeign, ownMark } from './foreign-marks.ts';
import { fitName } from './tool-names.ts';

const searchWords: SearchWords = {
  size: (size) => ({ search_context_size: size }),
  location: (place) => ({ user_location: { type: 'approximate', approximate: place } }),
};

export function encodeTools(request: CanonicalRequest, model: Model, encoding: Encoding): Fields {
  const { capabilities, supportedParameters } = model;
  const { lose } = encoding;
  if (!capabilities.tools) {
    if (request.tools?.length) lose('tools', 'the model takes no tools', 'model');
    return {};
  }
  loseNamespaces(request.tools ?? [], protocolName, lose);
  const form = bag.form(request);
  const tools: Fields[] = [];
  let search: unknown;
  // Where a choice cannot name a subset of tools, those that are not allowed are left out.
  const allowed =
    request.toolChoice?.mode === 'subset' && !encoding.extras ? new Set(request.toolChoice.names) : undefined;
  for (const [index, tool] of (encoding.own ? (request.tools ?? []) : withoutForbidden(request)).entries()) {
    const path = `tools[${index}]`;
    if (!tool || (tool.type !== 'hosted' && allowed?.has(tool.name) === false)) continue;
    if (tool.type !== 'hosted') tools.push(encodeTool(tool, path, encoding));
    else if (tool.protocol === protocolName && bag.form(tool).includes('options')) search = tool.value;
    else if (tool.protocol === protocolName && isObject(tool.value)) tools.push(tool.value);
    else if (tool.kind === 'web-search' && supportedParameters.includes('web_search_options'))
      search = searchOptions(tool, path, searchWords, lose);
    else loseHosted(tool, path, lose);
  }
  // A choice among no tools is refused by vendors; a client of this protocol is left to hear that itself.
  if (!encoding.own && tools.length === 0) {
    loseChoice(request, lose);
    return { web_search_options: search };
  }
  const former = form.includes('functions');
  const formerCall = form.includes('function-call');
  return {
    tools: request.tools === undefined || form.includes('no-tools') || former ? undefined : tools,
    functions: former ? tools.map((tool) => tool.function) : undefined,
    web_search_options: search,
    tool_choice: formerCall ? undefined : encodeChoice(request, encoding),
    function_call: formerCall ? formerChoice(request) : undefined,
    parallel_tool_calls: request.parallelToolCalls,
  };
}

function encodeTool(
  tool: Exclude<Tool, { type: 'hosted' }>,
  path: string,
  { own, extras, lose }: Encoding,
): Fields {
  if (tool.cache && !isForeign(tool)) lose(`${path}.cache`, 'chat-completions has no cache marks on tools');
  const fields = { ...bag.fields(tool), ...ownMark(tool) };
  const { description } = tool;
  const name = own ? tool.name : fitName(tool.name);
  if (tool.type === 'function') {
    if (own)
      return overlay(fields, {
        type: 'function',
        function: { name, description, parameters: tool.schema, strict: tool.strict },
      });
    const parameters =
      tool.schema === undefined
        ? undefined
        : objectSchema(tool.schema, (reason) => lose(`${path}.schema`, reason, 'approximated'));
    return overlay(fields, {
      type: 'function',
      function: { name, description, parameters, strict: fitStrict(tool, parameters, path, lose) },
    });
  }
  if (extras) return overlay(fields, { type: 'custom', custom: { name, description, format: tool.format } });
  const { description: told, schema: parameters } = asFunction(tool, path, lose);
  return { type: 'function', function: { name, description: told, parameters } };
}

/** A tool's name as a choice refers to it. */
function reference(asked: string, tools: readonly Tool[], { own, extras }: Encoding): Fields {
  const custom = extras && tools.some((tool) => tool.type === 'custom' && tool.name === asked);
  const name = own ? asked : fitName(asked);
  return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } };
}

function encodeChoice(request: CanonicalRequest, encoding: Encoding): unknown {
  const { toolChoice, tools = [] } = request;
  if (!toolChoice) return undefined;
  const { mode, names: asked = [], required } = toolChoice;
  const names = encoding.own ? asked : offeredNames(request, encoding.lose);
  if (names.length === 0 && asked.length > 0) return undefined;
  if (mode === 'one') return overlay(bag.fields(toolChoice), reference(names[0] ?? '', tools, encoding));
  if (mode !== 'subset') return mode;
  if (!encoding.extras) return required ? 'required' : 'auto';
  const allowed = {
    mode: required ? 'required' : 'auto',
    tools: names.map((name) => reference(name, tools, encoding)),
  };
  return overlay(bag.fields(toolChoice), { type: 'allowed_tools', allowed_tools: allowed });
}

function formerChoice({ toolChoice }: CanonicalRequest): unknown {
  if (toolChoice?.mode !== 'one') return toolChoice?.mode;
  const inside = bag.fields(toolChoice).function;
  return overlay(isObject(inside) ? inside : {}, { name: toolChoice.names?.[0] });
}
