/**
 * The options of a vendor's web search (how much, for whom, where, how often), translated from the words of one protocol
 * into those of another. OpenAI limits all the tools it runs by one field of the request. That field stands for the
 * limit of the search where no other tool is run.
 */
import type { CanonicalRequest, Tool } from '../../../core/index.ts';
import type { HostedTool } from './hosted-tools.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

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
