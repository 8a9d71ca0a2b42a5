/**
 * Tools and the tool choice, in both directions. Each tool of a namespace carries the namespace's name; the
 * first one also keeps its other fields.
 */
import type { HostedTool, Tool, ToolChoice, CanonicalRequest } from '../../../core/index.ts';
import { callLimit } from '../../shared/openai/foreign.ts';
import * as Shared from '../../shared/openai/tools.ts';
import {
  searchName,
  hostsTool,
  isPriced,
  loseUnpriced,
  placeTools,
  removeRepeatedTools,
  replaceHosted,
  readSearchLimit,
  translateSearchOptions,
  type SearchWriters,
} from '../../shared/wire-kit/hosted-tools.ts';
import { loseChoice, takesTools } from '../../shared/wire-kit/offered-tools.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, nestFields, type Fields, overlay } from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadTool } from './call.ts';
import {
  bag,
  dialect,
  protocolName,
  buildNameKey,
  omitOwnField,
  qualifyName,
  nativeVendor,
  type Encoding,
} from './encoding.ts';
import type * as Wire from './wire.ts';

/** `names` is filled with the client's names of tools that have others in the canonical form. */
export function decodeTools(
  tools: readonly ReadTool[] | undefined,
  names: Record<string, string>,
): Tool[] | undefined {
  // Canonical names, with the namespaces of their tools. A tool outside of namespaces keeps its name.
  const taken = new Map<string, string | undefined>();
  for (const { kind, tool } of tools ?? [])
    if (kind === 'own' && tool.type !== 'namespace') taken.set(tool.name, undefined);
  /** A tool of another namespace cannot have a name that is taken. */
  const chooseName = (name: string, namespace: string): string => {
    const isTaken = taken.has(name) && taken.get(name) !== namespace;
    const chosen = isTaken ? qualifyName({ name, namespace }) : name;
    taken.set(chosen, namespace);
    if (chosen !== name) names[buildNameKey(chosen)] = name;
    return chosen;
  };
  return tools?.flatMap((read): Tool[] => {
    const { kind, tool, at } = read;
    if (kind === 'hosted' || (tool.type === 'namespace' && tool.tools.length === 0))
      return [decodeHosted(tool, at)];
    if (tool.type !== 'namespace') return [{ ...Shared.decodeTool(tool, dialect), at }];
    const { name: namespace } = tool;
    const about = nestFields('namespace', pickUnread(tool, ['type', 'name', 'tools']));
    return tool.tools.map((each, index) => {
      const decoded = Shared.decodeTool(each, dialect);
      const sides = bag.keep({ ...bag.getFields(decoded), ...(index === 0 ? about : {}) });
      const name = chooseName(decoded.name, namespace);
      return { ...decoded, name, namespace, at: `${at}.tools[${index}]`, ...sides };
    });
  });
}

export function isSearch({ type }: { readonly type?: unknown }): boolean {
  return type === 'browser_search' || String(type).startsWith('web_search');
}

/** OpenAI's first search, which has a price of its own on models that do not reason. */
export function isPreviewSearch({ type }: { readonly type?: unknown }): boolean {
  return String(type).startsWith('web_search_preview');
}

function decodeHosted(tool: Fields, at: string): Tool {
  return { type: 'hosted', protocol: protocolName, kind: readHostedKind(tool), value: tool, at };
}

function readHostedKind(tool: Fields): HostedTool['kind'] {
  if (isSearch(tool)) return 'web-search';
  return tool.type === 'code_interpreter' ? 'code-execution' : 'other';
}

/**
 * Returns undefined for a choice of a hosted tool other than a search, or of an unknown type. Such a choice
 * is kept unchanged among the vendor's fields.
 */
export function decodeChoice(choice: Wire.Request['tool_choice']): ToolChoice | undefined {
  return isObject(choice) && isSearch(choice)
    ? { mode: 'one', names: [searchName], ...bag.keep(pickUnread(choice, ['type'])) }
    : Shared.decodeChoice(choice, dialect);
}

export function encodeTools(request: CanonicalRequest, encoding: Encoding): Fields {
  const { model, lose } = encoding;
  if (!takesTools(request, model, lose)) return {};
  const limit = encodeSearchLimit(request, encoding);
  const usual = encoding.isPerplexity ? perplexityFields : searchFields;
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
    tool_choice: encodeToolChoice(request, encoding),
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
      written.push(Shared.encodeTool(tool, path, encoding));
      continue;
    }
    if (space?.name !== tool.namespace) {
      space = { name: tool.namespace, tools: [] };
      const about = bag.getFields(tool).namespace;
      written.push(overlay(readObject(about), { type: 'namespace', ...space }));
    }
    space.tools.push(Shared.encodeTool(omitOwnField(tool, 'namespace'), path, encoding));
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

function encodeToolChoice(request: CanonicalRequest, encoding: Encoding): unknown {
  const { toolChoice, tools = [] } = request;
  // Claude Code demands its search by name. A provider's own tool has no name here, but this one is alone.
  if (toolChoice?.mode === 'one' && encoding.searches && tools.length === 1) return 'required';
  return Shared.encodeChoice(request, encoding, { hosted: listHostedReferences(tools, encoding) });
}

/** Google's choice restricts functions only, so its hosted tools stay allowed. */
function listHostedReferences(tools: readonly Tool[], { model }: Encoding): Fields[] {
  return tools.flatMap((tool) => {
    if (tool.type !== 'hosted' || tool.protocol !== 'generate-content' || !hostsTool(model, tool.kind))
      return [];
    return [{ type: tool.kind === 'web-search' ? 'web_search' : 'code_interpreter' }];
  });
}
