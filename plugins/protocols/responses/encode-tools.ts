/** Encodes tools and the tool choice. Tools of one namespace are grouped. */
import type { CanonicalRequest, Tool, HostedTool, OwnTool } from '../../../core/index.ts';
import {
  hostsTool,
  isPriced,
  loseUnpriced,
  placeTools,
  removeRepeatedTools,
  replaceHosted,
  callLimit,
  readSearchLimit,
  translateSearchOptions,
  type SearchWriters,
} from '../../shared/wire-kit/hosted-tools.ts';
import { fitStrict, toObjectSchema } from '../../shared/wire-kit/object-schema.ts';
import { loseChoice, selectOfferedNames, takesTools } from '../../shared/wire-kit/offered-tools.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import { flattenGrammar } from './decode-tools.ts';
import type { Encoding } from './encoding.ts';

export function encodeTools(request: CanonicalRequest, encoding: Encoding): Fields {
  const { model, lose } = encoding;
  if (!takesTools(request, model, lose)) return {};
  const limit = encodeSearchLimit(request, encoding);
  const usual = encoding.dialect === 'perplexity' ? perplexityFields : searchFields;
  const words = limit === undefined ? usual : limitedSearchFields;
  const tools = encodeToolList(request.tools ?? [], words, encoding);
  // OpenAI refuses a choice without tools.
  if (tools.length === 0) {
    loseChoice(request, lose);
    return {};
  }
  return {
    tools,
    [callLimit]: limit,
    tool_choice: encodeChoice(request, encoding),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

/** Returns the limit of a search. Only OpenAI is known to accept one here. */
function encodeSearchLimit({ tools = [] }: CanonicalRequest, { owner, model }: Encoding): unknown {
  return owner !== nativeVendor || !hostsTool(model, 'web-search') ? undefined : readSearchLimit(tools);
}

function encodeToolList(tools: readonly Tool[], words: SearchWriters, encoding: Encoding): Fields[] {
  const written: Fields[] = [];
  let space: { readonly name: string; readonly tools: Fields[] } | undefined;
  for (const { tool, path } of removeRepeatedTools(placeTools(tools), encoding)) {
    if (tool.type === 'hosted') {
      space = undefined;
      const hosted = encodeHosted(tool, path, words, encoding);
      if (hosted) written.push(hosted);
      continue;
    }
    if (tool.cache) encoding.lose(`${path}.cache`, 'responses has no cache marks on tools');
    if (tool.namespace === undefined) {
      space = undefined;
      written.push(encodeTool(tool, path, encoding));
      continue;
    }
    if (space?.name !== tool.namespace) {
      space = { name: tool.namespace, tools: [] };
      const about = bag.getFields(tool).namespace;
      written.push(overlay(readObject(about), { type: 'namespace', ...space }));
    }
    space.tools.push(encodeTool(tool, path, encoding));
  }
  return written;
}

const searchFields: SearchWriters = {
  size: (size) => ({ search_context_size: size }),
  location: (place) => ({ user_location: { type: 'approximate', ...(isObject(place) ? place : {}) } }),
  allowed: (domains) => ({ filters: { allowed_domains: domains } }),
};

function writeDomains(domains: unknown, prefix: string): Fields {
  const names = readList(domains).map((domain) => prefix + String(domain));
  return { filters: { search_domain_filter: names } };
}

const perplexityFields: SearchWriters = {
  size: (size) => ({ search_context_size: size }),
  location: (place) => ({ user_location: place }),
  allowed: (domains) => writeDomains(domains, ''),
  blocked: (domains) => writeDomains(domains, '-'),
};

/** This protocol limits all tool calls of a request, so a search limit moves there. */
const limitedSearchFields: SearchWriters = { ...searchFields, uses: () => ({}) };

function encodeHosted(
  tool: HostedTool,
  path: string,
  words: SearchWriters,
  encoding: Encoding,
): Fields | undefined {
  const { model, lose } = encoding;
  const { protocol, kind, value } = tool;
  if (!isPriced(model, kind)) {
    loseUnpriced(tool, path, encoding);
    return undefined;
  }
  if (protocol === protocolName) return value;
  return replaceHosted(tool, path, encoding, {
    encodeSearch: () => ({ type: 'web_search', ...translateSearchOptions(tool, path, words, lose) }),
    code: { type: 'code_interpreter', container: { type: 'auto' } },
  });
}

function encodeTool(tool: OwnTool, path: string, { names, lose }: Encoding): Fields {
  const { namespace: _namespace, ...fields } = bag.getFields(tool);
  const { description } = tool;
  const name = names.toWire(tool.name)?.name ?? tool.name;
  if (tool.type === 'custom')
    return overlay(fields, { type: 'custom', name, description, format: flattenGrammar(tool.format) });
  const parameters = toObjectSchema(tool.schema, path, lose);
  // OpenAI treats a tool without `strict` as strict.
  const strict = fitStrict(tool, parameters, path, lose) ?? false;
  return overlay(fields, { type: 'function', name, description, parameters, strict });
}

function encodeReference(name: string, tools: readonly Tool[], { names }: Encoding): Fields {
  const custom = tools.some((tool) => tool.type === 'custom' && tool.name === name);
  return { type: custom ? 'custom' : 'function', name: names.toWire(name)?.name ?? name };
}

function encodeChoice(request: CanonicalRequest, encoding: Encoding): unknown {
  const { toolChoice, tools = [] } = request;
  if (!toolChoice) return undefined;
  const { mode, names: wanted = [], required } = toolChoice;
  // Claude Code demands its search by name. A provider's own tool has no name here, but this one is alone.
  if (mode === 'one' && encoding.searches && tools.length === 1) return 'required';
  const names = selectOfferedNames(request, encoding.lose);
  if (names.length === 0 && wanted.length > 0) return undefined;
  if (mode === 'one')
    return overlay(bag.getFields(toolChoice), encodeReference(names[0] ?? '', tools, encoding));
  if (mode !== 'subset') return mode;
  const allowed = [
    ...names.map((name) => encodeReference(name, tools, encoding)),
    ...listHostedReferences(tools, encoding),
  ];
  return overlay(bag.getFields(toolChoice), {
    type: 'allowed_tools',
    mode: required ? 'required' : 'auto',
    tools: allowed,
  });
}

/** Google's choice restricts functions only, so its hosted tools stay allowed. */
function listHostedReferences(tools: readonly Tool[], { model }: Encoding): Fields[] {
  return tools.flatMap((tool) => {
    if (tool.type !== 'hosted' || tool.protocol !== 'generate-content' || !hostsTool(model, tool.kind))
      return [];
    return [{ type: tool.kind === 'web-search' ? 'web_search' : 'code_interpreter' }];
  });
}
