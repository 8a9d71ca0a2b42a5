/**
 * Tools that a provider runs itself. Several providers have a web search and a place to run code, so one tool
 * can replace another. A tool without a counterpart is reported as lost. If the client mainly wanted that
 * tool (grounding, running code, a search alone), an answer without it would be worthless, and the
 * call is refused.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  getRate,
  type CanonicalRequest,
  type Model,
  type Tool,
  type HostedTool,
} from '../../../core/index.ts';
import type { Encoding } from './encoding.ts';
import { getFacts } from './foreign-fields.ts';
import { refusePart, type Lose } from './losses.ts';
import { loseNamespaces, takesTools } from './offered-tools.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** The name of the block with the output of the code in the block before. */
export const codeResult = 'code_result';

/** Whether the tool's fee, which providers charge apart from tokens, is known. */
export function isPriced({ free, price }: Pick<Model, 'free' | 'price'>, kind: HostedTool['kind']): boolean {
  return kind !== 'web-search' || free === true || getRate(price, 'webSearch') !== undefined;
}

/** Whether the model's provider runs such a tool, at a known price. */
export function hostsTool(model: Model, kind: HostedTool['kind']): boolean {
  const { capabilities, supportedParameters } = model;
  if (!isPriced(model, kind)) return false;
  if (kind === 'web-search' && supportedParameters.includes('web_search_options')) return true;
  return capabilities.hosted.some((each) => each === kind);
}

/** The name of a search in a choice. Only messages names the tool itself. */
export const searchName = 'web_search';

/** Whether the request is for a web search: it offers no other tool, or demands this one. */
export function needsSearch({ tools = [], toolChoice }: CanonicalRequest): boolean {
  const searches = tools.filter((tool) => tool.type === 'hosted' && tool.kind === 'web-search');
  if (searches.length === 0 || toolChoice?.mode === 'none') return false;
  if (toolChoice?.mode !== 'one') return searches.length === tools.length;
  const isFunction = tools.some((tool) => tool.type !== 'hosted' && tool.name === searchName);
  return toolChoice.names?.[0] === searchName && !isFunction;
}

/** Whether a tool makes pictures. */
function isPainter(tool: Tool): tool is HostedTool {
  return tool.type === 'hosted' && tool.value.type === (getFacts(tool.protocol).painter?.type ?? null);
}

/** Whether the request is for a picture that a tool makes: it offers no other tool, or demands this one. */
export function needsPicture({ tools = [], toolChoice, vendor }: CanonicalRequest): boolean {
  const [first, ...others] = tools.filter(isPainter);
  if (!first || toolChoice?.mode === 'none') return false;
  const { type, choice = '' } = getFacts(first.protocol).painter ?? {};
  const demanded = vendor?.[first.protocol]?.[choice];
  return others.length + 1 === tools.length || (isObject(demanded) && demanded.type === type);
}

/** Whether an answer without the tool would be worthless. */
export function isIndispensable(tool: HostedTool, encoding: Pick<Encoding, 'searches' | 'paints'>): boolean {
  const { kind, protocol } = tool;
  if (kind === 'code-execution' || (kind === 'web-search' && encoding.searches)) return true;
  if (encoding.paints && isPainter(tool)) return true;
  return getFacts(protocol).isIndispensable?.(tool) ?? false;
}

/** A tool and its path in the request, which names its losses. */
export interface PlacedTool {
  readonly tool: Tool;
  readonly path: string;
}

export function placeTools(tools: readonly Tool[] = []): PlacedTool[] {
  return tools.map((tool, index) => ({ tool, path: `tools[${index}]` }));
}

/** What providers accept once: a name, or a hosted tool that two protocols have. */
function findOnlyKey(tool: Tool): string | undefined {
  if (tool.type !== 'hosted') return `name ${tool.name}`;
  return tool.kind === 'other' ? undefined : tool.kind;
}

/**
 * The tools without a second one of a kind or name, which providers refuse: a client may spell one in two
 * ways, or offer one again with a later turn. The last definition of a name counts.
 */
export function removeRepeatedTools(tools: readonly PlacedTool[], { lose }: Encoding): PlacedTool[] {
  const kept = new Map<unknown, PlacedTool>();
  for (const offered of tools) {
    const { tool } = offered;
    const key = findOnlyKey(tool) ?? offered;
    const first = kept.get(key);
    if (!first || tool.type !== 'hosted') kept.set(key, offered);
    if (!first || isDeepStrictEqual({ ...first.tool, at: undefined }, { ...tool, at: undefined })) continue;
    if (tool.type === 'hosted') lose(offered.path, 'the request already has a tool of its kind');
    else lose(first.path, 'a later tool has its name');
  }
  return [...kept.values()];
}

/** The tools to offer to a model that takes tools. `tools`: those that the wire may offer. */
export function offerTools(
  request: CanonicalRequest,
  protocol: string,
  encoding: Encoding,
  tools: readonly PlacedTool[],
): PlacedTool[] | undefined {
  const { model, lose } = encoding;
  if (!takesTools(request, model, lose)) return undefined;
  loseNamespaces(request.tools ?? [], protocol, lose);
  return removeRepeatedTools(tools, encoding);
}

/** Removes hosted tools if no tool may be called: the wire's tool choice does not cover them. */
export function removeForbiddenTools({ tools, toolChoice }: CanonicalRequest): PlacedTool[] {
  const isForbidden = toolChoice?.mode === 'none';
  return placeTools(tools).filter(({ tool }) => tool.type !== 'hosted' || !isForbidden);
}

/** Reports a tool without a counterpart at a known price. Throws if an answer without it is worthless. */
export function loseHosted(
  tool: HostedTool,
  path: string,
  encoding: Pick<Encoding, 'searches' | 'paints' | 'lose'>,
  reason = `${tool.protocol} has a tool of its own here`,
): void {
  if (isIndispensable(tool, encoding))
    refusePart(tool, path, 'This model is reached by a protocol or vendor that has no such tool.');
  encoding.lose(path, reason, 'vendor');
}

/** Reports a tool whose uses have no price for the model. */
export function loseUnpriced(
  tool: HostedTool,
  path: string,
  encoding: Pick<Encoding, 'searches' | 'paints' | 'lose'>,
): void {
  loseHosted(tool, path, encoding, 'the catalogue has no price for its searches with this model');
}

/** The counterpart of another protocol's tool; undefined if there is none, which it reports. */
export function replaceHosted(
  tool: HostedTool,
  path: string,
  encoding: Encoding,
  { encodeSearch, code }: { readonly encodeSearch: () => Fields | undefined; readonly code: Fields },
): Fields | undefined {
  if (!hostsTool(encoding.model, tool.kind)) {
    loseHosted(tool, path, encoding);
    return undefined;
  }
  if (tool.kind === 'web-search') return encodeSearch();
  checkContainer(tool, path);
  return code;
}

/** Refuses code execution in a container, or on files, that another vendor keeps. */
function checkContainer(tool: HostedTool, path: string): void {
  const { container } = tool.value;
  const files: unknown = isObject(container) ? container.file_ids : undefined;
  const kept = typeof container === 'string' || (Array.isArray(files) && files.length > 0);
  if (kept)
    refusePart(
      tool,
      path,
      'A container or file kept by another vendor cannot be used by the provider of this model.',
    );
}

type SearchOption = 'size' | 'location' | 'allowed' | 'blocked' | 'uses';

/** The names that protocols have for the options of a web search. */
const options: Readonly<Record<string, SearchOption>> = {
  search_context_size: 'size',
  user_location: 'location',
  'filters.allowed_domains': 'allowed',
  allowed_domains: 'allowed',
  'filters.blocked_domains': 'blocked',
  blocked_domains: 'blocked',
  max_uses: 'uses',
};

/** Writes each search option that a protocol has. */
export type SearchWriters = Readonly<Partial<Record<SearchOption, (value: unknown) => Fields>>>;

/** Translates the options of a web search to another protocol, and reports the rest. */
export function translateSearchOptions(
  tool: HostedTool,
  path: string,
  words: SearchWriters,
  lose: Lose,
): Fields {
  const written: Record<string, unknown> = {};
  for (const [name, option] of listOptions(tool)) {
    const kind = options[name];
    const write = kind && words[kind];
    if (write) Object.assign(written, write(kind === 'location' ? readPlace(option) : option));
    else lose(`${path}.${name}`, 'the search of this model has no such option');
  }
  return written;
}

function* listOptions({ protocol, value }: HostedTool): Generator<[name: string, option: unknown]> {
  for (const [name, option] of Object.entries(getFacts(protocol).readOptions?.(value) ?? value)) {
    if (option === null || name === 'type' || name === 'name') continue;
    if (name === 'filters' && isObject(option))
      for (const [inner, each] of Object.entries(option)) yield [`filters.${inner}`, each];
    else if (!isObject(option) || Object.keys(option).length > 0) yield [name, option];
  }
}

/** `{ city, region, country, timezone }`, which some protocols nest in `approximate`. */
function readPlace(location: unknown): Fields {
  if (!isObject(location)) return {};
  const { type: _type, approximate, ...place } = location;
  return isObject(approximate) ? approximate : place;
}

/** Whether web search is the only hosted tool, so that a limit for all of them means the same. */
function hasOnlySearches(tools: readonly Tool[]): boolean {
  return tools.every((tool) => tool.type !== 'hosted' || tool.kind === 'web-search');
}

/** The limit for a search that a request of another protocol sets for all hosted tools, with its field. */
export function findCallLimit({ tools = [], vendor = {} }: CanonicalRequest): {
  readonly field: string;
  readonly limit: number | undefined;
} {
  for (const [owner, fields] of Object.entries(vendor)) {
    const { callLimit: field = '' } = getFacts(owner);
    const limit = fields[field];
    if (typeof limit === 'number' && hasOnlySearches(tools)) return { field, limit };
  }
  return { field: '', limit: undefined };
}

/** The search's limit for all hosted tools; undefined if it has none, or if there are others too. */
export function readSearchLimit(tools: readonly Tool[]): unknown {
  const search = tools.find((tool) => tool.type === 'hosted');
  if (!search || !hasOnlySearches(tools)) return undefined;
  for (const [name, option] of listOptions(search)) if (options[name] === 'uses') return option;
  return undefined;
}
