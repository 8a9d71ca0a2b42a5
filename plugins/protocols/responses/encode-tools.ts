/** Tools, and the choice among them, as this wire names them: flat, and those of one namespace together. */
import type { CanonicalRequest, Tool } from '../../../core/index.ts';
import { isObject, overlay, type Fields } from '../../shared/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { flattenGrammar } from './decode-tools.ts';
import type { Encoding } from './encode-items.ts';

type OwnTool = Exclude<Tool, { type: 'hosted' }>;

export function encodeTools(request: CanonicalRequest, encoding: Encoding): Fields {
  const { own, model, lose } = encoding;
  if (!model.capabilities.tools) {
    if (request.tools?.length) lose('tools', 'the model takes no tools', 'model');
    return {};
  }
  const tools = writeTools(request.tools ?? [], encoding);
  // A choice among no tools is refused by the vendor; a client of this protocol is left to hear that itself.
  if (!own && tools.length === 0) return {};
  return {
    tools: request.tools === undefined ? undefined : tools,
    tool_choice: encodeChoice(request, encoding),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

function writeTools(tools: readonly Tool[], encoding: Encoding): Fields[] {
  const written: Fields[] = [];
  let space: { readonly name: string; readonly tools: Fields[] } | undefined;
  for (const [index, tool] of tools.entries()) {
    const path = `tools[${index}]`;
    if (tool.type === 'hosted') {
      space = undefined;
      const hosted = encodeHosted(tool, path, encoding);
      if (hosted) written.push(hosted);
      continue;
    }
    if (tool.cache) encoding.lose(`${path}.cache`, 'responses has no cache marks on tools');
    if (tool.namespace === undefined) {
      space = undefined;
      written.push(encodeTool(tool, encoding));
      continue;
    }
    if (space?.name !== tool.namespace || bag.form(tool).includes('namespace')) {
      space = { name: tool.namespace, tools: [] };
      const about = bag.fields(tool)['namespace'];
      written.push(overlay(isObject(about) ? about : {}, { type: 'namespace', name: tool.namespace, tools: space.tools }));
    }
    space.tools.push(encodeTool(tool, encoding));
  }
  return written;
}

function encodeHosted(tool: Extract<Tool, { type: 'hosted' }>, path: string, { lose }: Encoding): Fields | undefined {
  if (tool.protocol === protocolName && isObject(tool.value)) return tool.value;
  if (tool.kind === 'web-search') return encodeSearch(tool.value, path, lose);
  lose(path, `${tool.protocol} has a tool of its own here`, 'vendor');
  return undefined;
}

const likeOurs = new Set(['type', 'name', 'search_context_size']);

/** Another protocol's search, with such options as are alike. */
function encodeSearch(value: unknown, path: string, lose: Encoding['lose']): Fields {
  const options: Fields = isObject(value) ? value : {};
  for (const [name, option] of Object.entries(options)) {
    const empty = isObject(option) && Object.keys(option).length === 0;
    if (!empty && !likeOurs.has(name)) lose(`${path}.${name}`, 'the search of responses has no such option');
  }
  const size = options['search_context_size'];
  return { type: 'web_search', ...(typeof size === 'string' ? { search_context_size: size } : {}) };
}

function encodeTool(tool: OwnTool, { own, names }: Encoding): Fields {
  const { namespace: _namespace, ...fields } = bag.fields(tool);
  const { description } = tool;
  const name = names.wireOf(tool.name)?.name ?? tool.name;
  if (tool.type === 'custom') return overlay(fields, { type: 'custom', name, description, format: flattenGrammar(tool.format) });
  // The vendor takes a tool that says nothing for a strict one.
  if (own) return overlay(fields, { type: 'function', name, description, parameters: tool.schema, strict: tool.strict });
  return { type: 'function', name, description, parameters: tool.schema ?? { type: 'object', properties: {} }, strict: tool.strict ?? false };
}

/** A tool's name as a choice refers to it. */
function reference(name: string, tools: readonly Tool[], { names }: Encoding): Fields {
  const custom = tools.some((tool) => tool.type === 'custom' && tool.name === name);
  return { type: custom ? 'custom' : 'function', name: names.wireOf(name)?.name ?? name };
}

function encodeChoice({ toolChoice, tools = [] }: CanonicalRequest, encoding: Encoding): unknown {
  if (!toolChoice) return undefined;
  const { mode, names = [], required } = toolChoice;
  if (mode === 'one') return overlay(bag.fields(toolChoice), reference(names[0] ?? '', tools, encoding));
  if (mode !== 'subset') return mode;
  return overlay(bag.fields(toolChoice), { type: 'allowed_tools', mode: required ? 'required' : 'auto', tools: names.map((name) => reference(name, tools, encoding)) });
}
