/**
 * Token counts of this wire. Its totals include their parts; where a vendor leaves reasoning out of the output and
 * counts it in the total alone, as xAI does on its other wire, the total is believed.
 */
import { knownCount, type Usage } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

function inside(wire: Fields, name: string): Fields {
  const value = wire[name];
  return isObject(value) ? value : {};
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function countOutput(wire: Fields): number | undefined {
  const output = knownCount(wire.output_tokens);
  const input = knownCount(wire.input_tokens);
  const total = knownCount(wire.total_tokens);
  return output === undefined || input === undefined || total === undefined
    ? output
    : Math.max(output, total - input);
}

/** OpenAI charges for searches alone, not for pages that are opened; a response that does not sum them up has an item for each. */
function countSearchItems(output: unknown): number | undefined {
  const searches = list(output).filter(
    (item) => item.type === 'web_search_call' && (inside(item, 'action').type ?? 'search') === 'search',
  );
  return searches.length > 0 ? searches.length : undefined;
}

/** What code and commands were run in; a container that the request names was opened, and paid for, before. */
function countContainers({ output, tools }: Fields): number | undefined {
  const named = new Set(
    list(tools).map((tool) => tool.container ?? inside(tool, 'environment').container_id),
  );
  const used = new Set(
    list(output).flatMap((item) => {
      const id =
        item.type === 'code_interpreter_call'
          ? item.container_id
          : item.type === 'shell_call'
            ? inside(item, 'environment').container_id
            : undefined;
      return id ? [id] : [];
    }),
  );
  return used.difference(named).size || undefined;
}

/** A search of files is charged by the call, however many questions it asks; xAI sums them up. */
function countFileSearches({ output }: Fields, usage: Fields): number | undefined {
  const summed = knownCount(inside(usage, 'server_side_tool_usage_details').file_search_calls);
  return (summed ?? list(output).filter(({ type }) => type === 'file_search_call').length) || undefined;
}

/** OpenAI sums them up apart from the tokens, xAI with them, and its searches of X, which cost the same, beside them. */
function countSearches(response: Fields, usage: Fields): number | undefined {
  const { web_search_calls: web, x_search_calls: posts } = inside(usage, 'server_side_tool_usage_details');
  const summed =
    knownCount(inside(inside(response, 'tool_usage'), 'web_search').num_requests) ?? knownCount(web);
  const own = knownCount(posts) ?? 0;
  return summed === undefined && own === 0 ? countSearchItems(response.output) : (summed ?? 0) + own;
}

function sum(first: number | undefined, second: number | undefined): number | undefined {
  return second ? (first ?? 0) + second : first;
}

/** What the tool that paints used, which is another model and tells its tokens beside those of the one that was asked. */
function readImageToolUsage(response: Fields): Usage {
  const wire = inside(inside(response, 'tool_usage'), 'image_gen');
  const output = knownCount(wire.output_tokens);
  return {
    input: knownCount(wire.input_tokens),
    cacheRead: knownCount(wire.cached_tokens),
    inputImage: knownCount(inside(wire, 'input_tokens_details').image_tokens) || undefined,
    output,
    outputImage: (knownCount(inside(wire, 'output_tokens_details').image_tokens) ?? output) || undefined,
  };
}

/** Passed a response; undefined where none of its counts is known. */
export function decodeUsage(response: Fields): Usage | undefined {
  const wire = inside(response, 'usage');
  const input = inside(wire, 'input_tokens_details');
  const painted = readImageToolUsage(response);
  const counts = {
    input: sum(knownCount(wire.input_tokens), painted.input),
    cacheRead: sum(knownCount(input.cached_tokens), painted.cacheRead),
    cacheWrite5m: knownCount(input.cache_write_tokens),
    inputImage: painted.inputImage,
    output: sum(countOutput(wire), painted.output),
    outputImage: painted.outputImage,
    reasoning: knownCount(inside(wire, 'output_tokens_details').reasoning_tokens),
    webSearches: countSearches(response, wire),
    fileSearches: countFileSearches(response, wire),
    containers: countContainers(response),
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

/** Clients rely on every one of these counts (Codex reads no response without them), so an unknown one is told as zero. */
export function encodeUsage({
  input = 0,
  output = 0,
  cacheRead = 0,
  cacheWrite5m = 0,
  cacheWrite1h = 0,
  reasoning = 0,
}: Usage): Fields {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite5m + cacheWrite1h },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
