/**
 * The options of a search of the web that a vendor makes itself (how much of it, for whom, where, how often), taken from
 * the words of one wire into those of another. OpenAI limits all tools that it runs by one field of the request; it
 * stands for the limit of a search where nothing else is run.
 */
import type { CanonicalRequest, Tool } from '../../core/index.ts';
import type { HostedTool } from './hosted-tools.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

type SearchOption = 'size' | 'location' | 'allowed' | 'blocked' | 'uses';

/** What each wire calls the options of its search; a location stands flat in some, and one level down in others. */
const options: Readonly<Record<string, SearchOption>> = {
  search_context_size: 'size',
  user_location: 'location',
  'filters.allowed_domains': 'allowed',
  allowed_domains: 'allowed',
  'filters.blocked_domains': 'blocked',
  blocked_domains: 'blocked',
  max_uses: 'uses',
};

/** How a wire writes an option it has. */
export type SearchWords = Readonly<Partial<Record<SearchOption, (value: unknown) => Fields>>>;

/** The options of any vendor's search in another wire's words; those it has none for are told as lost. */
export function searchOptions({ protocol, value }: HostedTool, path: string, words: SearchWords, lose: Lose): Fields {
  const written: Record<string, unknown> = {};
  for (const [name, option] of flattened(protocol === 'generate-content' ? inside(value) : value)) {
    const kind = options[name];
    const write = kind && words[kind];
    if (write) Object.assign(written, write(kind === 'location' ? placeOf(option) : option));
    else lose(`${path}.${name}`, 'the search of this model has no such option');
  }
  return written;
}

/** Google names the tool by its one member. */
function inside(value: unknown): unknown {
  return isObject(value) ? Object.values(value)[0] : undefined;
}

function* flattened(value: unknown): Generator<[name: string, option: unknown]> {
  for (const [name, option] of Object.entries(isObject(value) ? value : {})) {
    if (option === null || name === 'type' || name === 'name') continue;
    if (name === 'filters' && isObject(option)) for (const [inner, each] of Object.entries(option)) yield [`filters.${inner}`, each];
    else if (!isObject(option) || Object.keys(option).length > 0) yield [name, option];
  }
}

/** `{ city, region, country, timezone }`. */
function placeOf(location: unknown): Fields {
  if (!isObject(location)) return {};
  const { type: _type, approximate, ...place } = location;
  return isObject(approximate) ? approximate : place;
}

/** OpenAI's limit of the calls of all tools it runs, a field of the request; elsewhere a search is limited by an option of its own. */
export const callLimit = 'max_tool_calls';
const useLimit = 'max_uses';

/** Whether a vendor is asked to search and to run nothing else: then the two limits say the same. */
function onlySearches(tools: readonly Tool[]): boolean {
  return tools.every((tool) => tool.type !== 'hosted' || tool.kind === 'web-search');
}

/** The tools of a request, with OpenAI's limit as an option of its search. */
export function withLimitedSearch({ tools = [], vendor }: CanonicalRequest): readonly Tool[] {
  const limit = vendor?.['responses']?.[callLimit];
  if (typeof limit !== 'number' || !onlySearches(tools)) return tools;
  return tools.map((tool) => (tool.type === 'hosted' && isObject(tool.value) ? { ...tool, value: { ...tool.value, [useLimit]: limit } } : tool));
}

/** The limit of the search as one of all tools that the vendor runs; undefined where it has none, or others are run. */
export function limitOfSearch(tools: readonly Tool[]): unknown {
  const [value] = tools.flatMap((tool) => (tool.type === 'hosted' ? [tool.value] : []));
  return onlySearches(tools) && isObject(value) ? value[useLimit] : undefined;
}
