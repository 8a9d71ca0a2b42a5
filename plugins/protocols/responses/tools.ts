/**
 * Tools and the tool choice, in both directions. Each tool of a namespace carries the namespace's name; the
 * first one also keeps its other fields.
 */
import type { HostedTool, Tool, ToolChoice, CanonicalRequest, OwnTool } from '../../../core/index.ts';
import { decodeDefinition, decodeMode, decodeSubset, encodeChoice } from '../../shared/openai/tools.ts';
import {
  searchName,
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
import { loseChoice, takesTools } from '../../shared/wire-kit/offered-tools.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import {
  isObject,
  pickUnread,
  nestFields,
  type Fields,
  overlay,
  trackReads,
} from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadTool } from './call.ts';
import { bag, protocolName, buildNameKey, qualifyName, nativeVendor, type Encoding } from './encoding.ts';
import type * as Wire from './wire.ts';

/** `names` is filled with the client's names of tools that have others in the canonical form. */
export function decodeTools(
  tools: readonly ReadTool[] | undefined,
  names: Record<string, string>,
): Tool[] | undefined {
  // A tool outside of namespaces keeps its name everywhere.
  const taken: TakenNames = new Map(tools?.flatMap(listPlainName).map((name) => [name, undefined]));
  return tools?.flatMap((read): Tool[] => {
    const { tool, at } = read;
    if (read.kind === 'hosted' || (tool.type === 'namespace' && !hasTools(tool)))
      return [decodeHosted(tool, at)];
    return read.tool.type === 'namespace'
      ? decodeNamespace(read.tool, at, { taken, names })
      : [decodeTool(read.tool, { at }, { taken, names })];
  });
}

function listPlainName({ kind, tool }: ReadTool): string[] {
  return kind === 'own' && tool.type !== 'namespace' ? [tool.name] : [];
}

function hasTools(tool: Fields): boolean {
  return Array.isArray(tool.tools) && tool.tools.length > 0;
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

/** Canonical names, with the namespaces of their tools. A tool of another namespace cannot have one. */
type TakenNames = Map<string, string | undefined>;

interface NamedTools {
  readonly taken: TakenNames;
  readonly names: Record<string, string>;
}

type WireNamespace = Extract<Wire.OwnTool, { type: 'namespace' }>;

function decodeNamespace(namespace: WireNamespace, at: string, named: NamedTools): Tool[] {
  return namespace.tools.map((tool, index) => {
    const place = { at: `${at}.tools[${index}]`, namespace: namespace.name };
    const first = { ...place, about: pickUnread(namespace, ['type', 'name', 'tools']) };
    return decodeTool(tool, index === 0 ? first : place, named);
  });
}

interface ToolPlace {
  readonly at: string;
  readonly namespace?: string;
  /** The namespace's own fields, on its first tool. */
  readonly about?: Fields;
}

function decodeTool(tool: Wire.FlatTool, place: ToolPlace, { taken, names }: NamedTools): Tool {
  const { at, namespace, about = {} } = place;
  const [seen, pickRest] = trackReads(tool);
  const decoded = decodeDefinition(seen, seen.type);
  const { name: wireName } = decoded;
  const isTaken = namespace !== undefined && taken.has(wireName) && taken.get(wireName) !== namespace;
  const name = isTaken ? qualifyName({ name: wireName, namespace }) : wireName;
  taken.set(name, namespace);
  if (name !== wireName) names[buildNameKey(name)] = wireName;
  const sides = bag.keep({ ...pickRest(), ...nestFields('namespace', about) });
  const placed = { ...decoded, name, namespace, at, ...sides };
  return placed.type === 'custom' ? { ...placed, format: nestGrammar(placed.format) } : placed;
}

/** A grammar is flat here. In the canonical form it is inside `grammar`, as in chat-completions. */
function nestGrammar(format: unknown): unknown {
  if (!isObject(format) || format.type !== 'grammar') return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function flattenGrammar(format: unknown): unknown {
  if (!isObject(format) || format.type !== 'grammar' || !isObject(format.grammar)) return format;
  return { type: 'grammar', ...format.grammar };
}

function isPlainReference(value: unknown): value is { type: string; name: string } {
  return (
    isObject(value) &&
    (value.type === 'function' || value.type === 'custom') &&
    typeof value.name === 'string' &&
    Object.keys(value).length === 2
  );
}

/**
 * Returns undefined for a choice of a hosted tool other than a search, or of an unknown type. Such a choice
 * is kept unchanged among the vendor's fields.
 */
export function decodeChoice(choice: Wire.Request['tool_choice']): ToolChoice | undefined {
  if (typeof choice === 'string') return decodeMode(choice);
  if (!choice) return undefined;
  const [seen, pickRest] = trackReads(choice);
  const decoded = readChoice(seen);
  return decoded && { ...decoded, ...bag.keep(pickRest()) };
}

function readChoice(choice: Fields): ToolChoice | undefined {
  const { type } = choice;
  if ((type === 'function' || type === 'custom') && typeof choice.name === 'string')
    return { mode: 'one', names: [choice.name] };
  if (isSearch(choice)) return { mode: 'one', names: [searchName] };
  if (type !== 'allowed_tools' || !Array.isArray(choice.tools)) return undefined;
  const { mode, tools } = choice;
  return tools.every(isPlainReference)
    ? decodeSubset(
        mode,
        tools.map(({ name }) => name),
      )
    : undefined;
}

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

function encodeToolChoice(request: CanonicalRequest, encoding: Encoding): unknown {
  const { toolChoice, tools = [] } = request;
  // Claude Code demands its search by name. A provider's own tool has no name here, but this one is alone.
  if (toolChoice?.mode === 'one' && encoding.searches && tools.length === 1) return 'required';
  const encodeName = (name: string): Fields => encodeReference(name, tools, encoding);
  return encodeChoice(request, encoding.lose, bag, {
    writeOne: encodeName,
    writeSubset: (names, mode) => ({
      type: 'allowed_tools',
      mode,
      tools: [...names.map(encodeName), ...listHostedReferences(tools, encoding)],
    }),
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
