/**
 * Converts token counts, in both directions. Totals include their details. If a provider counts reasoning
 * only in the total, as xAI does in chat-completions, the output is computed from the total.
 */
import { toCount, type Usage } from '../../../core/index.ts';
import { decodeCacheWrites, sumCacheWrites } from '../../shared/wire-kit/cache-writes.ts';
import { readObject, readObjects, keepKnown } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

function countOutput(wire: Fields): number | undefined {
  const output = toCount(wire.output_tokens);
  const input = toCount(wire.input_tokens);
  const total = toCount(wire.total_tokens);
  return output === undefined || input === undefined || total === undefined
    ? output
    : Math.max(output, total - input);
}

function isSearch({ type, action }: Fields): boolean {
  if (type === 'search_results') return true;
  return type === 'web_search_call' && (readObject(action).type ?? 'search') === 'search';
}

/** Counts search items if there is no sum. OpenAI charges for searches, not for opened pages. */
function countSearchItems(output: unknown): number | undefined {
  return readObjects(output).filter(isSearch).length || undefined;
}

/** Perplexity reports the searches by the name of its tool, and has two names for it. */
function countInvocations({ tool_calls_details: details }: Fields): number | undefined {
  const { search_web: first, web_search: second } = readObject(details);
  return toCount(readObject(first ?? second).invocation);
}

function readContainerId(item: Fields): unknown {
  if (item.type === 'code_interpreter_call') return item.container_id;
  return item.type === 'shell_call' ? readObject(item.environment).container_id : undefined;
}

/** Counts the containers that ran code, except those the request names, which were charged before. */
function countContainers({ output, tools }: Fields): number | undefined {
  const named = new Set(
    readObjects(tools).map((tool) => tool.container ?? readObject(tool.environment).container_id),
  );
  const used = new Set(readObjects(output).flatMap((item) => readContainerId(item) || []));
  return used.difference(named).size || undefined;
}

/** A file search is charged per call, whatever the number of queries. xAI reports the sum. */
function countFileSearches({ output }: Fields, usage: Fields): number | undefined {
  const summed = toCount(readObject(usage.server_side_tool_usage_details).file_search_calls);
  return (
    (summed ?? readObjects(output).filter(({ type }) => type === 'file_search_call').length) || undefined
  );
}

/** OpenAI reports the sum next to the usage. xAI reports it inside, and counts searches of X separately. */
function countSearches(response: Fields, usage: Fields): number | undefined {
  const { web_search_calls: web, x_search_calls: posts } = readObject(usage.server_side_tool_usage_details);
  const summed =
    toCount(readObject(readObject(response.tool_usage).web_search).num_requests) ??
    toCount(web) ??
    countInvocations(usage);
  const own = toCount(posts) ?? 0;
  return summed === undefined && own === 0 ? countSearchItems(response.output) : (summed ?? 0) + own;
}

function addCounts(first: number | undefined, second: number | undefined): number | undefined {
  return second ? (first ?? 0) + second : first;
}

/** Reads the usage of the image tool: another model, whose tokens are not in the called model's usage. */
function readImageToolUsage(response: Fields): Usage {
  const wire = readObject(readObject(response.tool_usage).image_gen);
  const output = toCount(wire.output_tokens);
  return {
    input: toCount(wire.input_tokens),
    cacheRead: toCount(wire.cached_tokens),
    inputImage: toCount(readObject(wire.input_tokens_details).image_tokens) || undefined,
    output,
    outputImage: (toCount(readObject(wire.output_tokens_details).image_tokens) ?? output) || undefined,
  };
}

/** `response` is a complete response object. Returns undefined if it holds no counts. */
export function decodeUsage(response: Fields): Usage | undefined {
  const wire = readObject(response.usage);
  const input = readObject(wire.input_tokens_details);
  const imageTool = readImageToolUsage(response);
  return keepKnown({
    input: addCounts(toCount(wire.input_tokens), imageTool.input),
    // Perplexity has Anthropic's names for what it read and wrote.
    cacheRead: addCounts(
      toCount(input.cached_tokens) ?? toCount(input.cache_read_input_tokens),
      imageTool.cacheRead,
    ),
    ...decodeCacheWrites(input),
    inputImage: imageTool.inputImage,
    output: addCounts(countOutput(wire), imageTool.output),
    outputImage: imageTool.outputImage,
    reasoning: toCount(readObject(wire.output_tokens_details).reasoning_tokens),
    webSearches: countSearches(response, wire),
    fileSearches: countFileSearches(response, wire),
    containers: countContainers(response),
  });
}

/** Unknown counts become zero: clients require all of them, and Codex rejects a response without one. */
export function encodeUsage(usage: Usage): Fields {
  const { input = 0, output = 0, cacheRead = 0, reasoning = 0 } = usage;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: sumCacheWrites(usage) ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
