/**
 * Token counts of this wire. Its totals include their parts; where a vendor leaves reasoning out of the output and
 * counts it in the total alone, as xAI does on its other wire, the total is believed.
 */
import { knownCount, type Usage } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/vendor-bag.ts';

function inside(wire: Fields, name: string): Fields {
  const value = wire[name];
  return isObject(value) ? value : {};
}

function outputOf(wire: Fields): number | undefined {
  const output = knownCount(wire['output_tokens']);
  const input = knownCount(wire['input_tokens']);
  const total = knownCount(wire['total_tokens']);
  return output === undefined || input === undefined || total === undefined ? output : Math.max(output, total - input);
}

/** Passed a response; undefined where none of its counts is known. xAI counts its searches with the tokens, OpenAI apart from them. */
export function decodeUsage(response: Fields): Usage | undefined {
  const wire = inside(response, 'usage');
  const input = inside(wire, 'input_tokens_details');
  const counts = {
    input: knownCount(wire['input_tokens']),
    cacheRead: knownCount(input['cached_tokens']),
    cacheWrite5m: knownCount(input['cache_write_tokens']),
    output: outputOf(wire),
    reasoning: knownCount(inside(wire, 'output_tokens_details')['reasoning_tokens']),
    webSearches: knownCount(inside(inside(response, 'tool_usage'), 'web_search')['num_requests']) ?? knownCount(inside(wire, 'server_side_tool_usage_details')['web_search_calls']),
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

/** Clients rely on every one of these counts (Codex reads no response without them), so an unknown one is told as zero. */
export function encodeUsage({ input = 0, output = 0, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, reasoning = 0 }: Usage): Fields {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite5m + cacheWrite1h },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
