/**
 * Tools that a provider runs itself. Several providers have a web search and a place to run code, so one tool can replace
 * another. A tool without a counterpart is reported as lost. If the client mainly wanted that tool (Google's grounding,
 * running code), an answer without it would be worthless, and the call is refused.
 */
import type { CanonicalRequest, Model, Tool } from '../../../core/index.ts';
import { refusePart, type Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

/** The name of a block with the output of code that a vendor ran; it follows the code. */
export const codeResult = 'code_result';

export type HostedTool = Extract<Tool, { type: 'hosted' }>;

/** Whether the fee of a tool, which is charged apart from tokens, is known. */
export function isPriced({ free, price }: Pick<Model, 'free' | 'price'>, kind: HostedTool['kind']): boolean {
  return kind !== 'web-search' || free === true || price?.webSearch !== undefined;
}

/** Whether a model's vendor runs such a tool, at a price that is known. */
export function hosts(model: Model, kind: HostedTool['kind']): boolean {
  const { capabilities, supportedParameters } = model;
  if (!isPriced(model, kind)) return false;
  if (kind === 'web-search' && supportedParameters.includes('web_search_options')) return true;
  return capabilities.hosted.some((each) => each === kind);
}

/** What an answer may be grounded in, by Google's names. OpenAI's counterpart is its search of files that it keeps. */
const groundings = ['urlContext', 'googleMaps', 'fileSearch', 'retrieval'] as const;

/** Whether an answer without the tool would be worthless. */
export function isIndispensable({ kind, protocol, value }: HostedTool): boolean {
  if (kind === 'code-execution') return true;
  if (!isObject(value)) return false;
  if (protocol === 'generate-content')
    return kind === 'web-search' || groundings.some((name) => name in value);
  return value.type === 'file_search';
}

/** The tools, with each kind that a vendor runs once: a client of another protocol may name it in two spellings, and vendors refuse to be asked twice. */
export function withoutRepeats(
  tools: readonly (Tool | undefined)[],
  protocol: string,
  lose: Lose,
): (Tool | undefined)[] {
  const seen = new Set<string>();
  return tools.map((tool, index) => {
    if (tool?.type !== 'hosted' || tool.kind === 'other' || tool.protocol === protocol) return tool;
    if (!seen.has(tool.kind)) {
      seen.add(tool.kind);
      return tool;
    }
    lose(`tools[${index}]`, 'one of its kind is there already');
    return undefined;
  });
}

/** The tools for a wire on which a choice does not reach the tools that its vendor runs: where no tool is to be called, those are left out. */
export function withoutForbidden({ tools = [], toolChoice }: CanonicalRequest): (Tool | undefined)[] {
  return tools.map((tool) => (tool.type === 'hosted' && toolChoice?.mode === 'none' ? undefined : tool));
}

/** Tells as lost a tool that the model has no counterpart of, or none at a known price. Throws where an answer without it is worthless. */
export function loseHosted(
  tool: HostedTool,
  path: string,
  lose: Lose,
  reason = `${tool.protocol} has a tool of its own here`,
): void {
  if (isIndispensable(tool))
    refusePart(tool, path, 'This model is reached by a protocol or vendor that has no such tool.');
  lose(path, reason, 'vendor');
}

/** Throws where code should run in a container, or on files, that another vendor keeps. */
export function checkContainer(tool: HostedTool, path: string): void {
  const container = isObject(tool.value) ? tool.value.container : undefined;
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

/** What each protocol calls the options of its search. Some write a location flat, others one level deeper. */
const options: Readonly<Record<string, SearchOption>> = {
  search_context_size: 'size',
  user_location: 'location',
  'filters.allowed_domains': 'allowed',
  allowed_domains: 'allowed',
  'filters.blocked_domains': 'blocked',
  blocked_domains: 'blocked',
  max_uses: 'uses',
};

/** How a protocol writes the options that it has. */
export type SearchWords = Readonly<Partial<Record<SearchOption, (value: unknown) => Fields>>>;

/** The options of any vendor's search in another protocol's words. Options that it has no words for are told as lost. */
export function searchOptions(
  { protocol, value }: HostedTool,
  path: string,
  words: SearchWords,
  lose: Lose,
): Fields {
  const written: Record<string, unknown> = {};
  for (const [name, option] of flattened(protocol === 'generate-content' ? inside(value) : value)) {
    const kind = options[name];
    const write = kind && words[kind];
    if (write) Object.assign(written, write(kind === 'location' ? placeOf(option) : option));
    else lose(`${path}.${name}`, 'the search of this model has no such option');
  }
  return written;
}

/** The options inside the tool. Google names a tool by its one member. */
function inside(value: unknown): unknown {
  return isObject(value) ? Object.values(value)[0] : undefined;
}

function* flattened(value: unknown): Generator<[name: string, option: unknown]> {
  for (const [name, option] of Object.entries(isObject(value) ? value : {})) {
    if (option === null || name === 'type' || name === 'name') continue;
    if (name === 'filters' && isObject(option))
      for (const [inner, each] of Object.entries(option)) yield [`filters.${inner}`, each];
    else if (!isObject(option) || Object.keys(option).length > 0) yield [name, option];
  }
}

/** `{ city, region, country, timezone }`. */
function placeOf(location: unknown): Fields {
  if (!isObject(location)) return {};
  const { type: _type, approximate, ...place } = location;
  return isObject(approximate) ? approximate : place;
}

/** OpenAI's field of the request that limits the calls of all the tools it runs. Other vendors have an option of the search for it. */
export const callLimit = 'max_tool_calls';
const useLimit = 'max_uses';

/** Whether a search is the only tool that the vendor runs: then the two limits mean the same. */
function onlySearches(tools: readonly Tool[]): boolean {
  return tools.every((tool) => tool.type !== 'hosted' || tool.kind === 'web-search');
}

/** The tools of a request, in which OpenAI's limit has become an option of its search. */
export function withLimitedSearch({ tools = [], vendor }: CanonicalRequest): readonly Tool[] {
  const limit = vendor?.responses?.[callLimit];
  if (typeof limit !== 'number' || !onlySearches(tools)) return tools;
  return tools.map((tool) =>
    tool.type === 'hosted' && isObject(tool.value)
      ? { ...tool, value: { ...tool.value, [useLimit]: limit } }
      : tool,
  );
}

/** The limit of the search as a limit for all tools that the vendor runs; undefined where it has none, or other tools run too. */
export function limitOfSearch(tools: readonly Tool[]): unknown {
  const [value] = tools.flatMap((tool) => (tool.type === 'hosted' ? [tool.value] : []));
  return onlySearches(tools) && isObject(value) ? value[useLimit] : undefined;
}
