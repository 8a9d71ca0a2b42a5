/**
 * Token counts of this wire. Its `input_tokens` leave out what was read from the cache or written to it; canonical
 * input is whole. What is not known is null here, and absent there.
 */
import { knownCount, type Usage } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/vendor-bag.ts';

function inside(wire: Fields, name: string): Fields {
  const value = wire[name];
  return isObject(value) ? value : {};
}

/**
 * A later report laid over an earlier one. The end of a stream tells cache writes as one figure and not by their time
 * to live: the split from the stream's beginning holds for as much of it.
 */
export function mergeUsage(earlier: Fields, later: Fields): Fields {
  const told = Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null));
  const merged = { ...earlier, ...told };
  if ('cache_creation' in told || !isObject(earlier['cache_creation'])) return merged;
  return splitSum(earlier) <= (knownCount(merged['cache_creation_input_tokens']) ?? Infinity) ? merged : { ...merged, cache_creation: null };
}

function splitSum(wire: Fields): number {
  const split = inside(wire, 'cache_creation');
  return (knownCount(split['ephemeral_5m_input_tokens']) ?? 0) + (knownCount(split['ephemeral_1h_input_tokens']) ?? 0);
}

/** A conversation that was summed up on the way was read once more for it: that is billed, and stands beside the sums, not in them. */
function summariesIn({ iterations }: Fields): Fields[] {
  const all: unknown[] = Array.isArray(iterations) ? iterations : [];
  return all.filter(isObject).filter(({ type }) => type === 'compaction');
}

/** Undefined where nothing in it is a count. */
export function decodeUsage(wire: Fields): Usage | undefined {
  const counts: Record<string, number> = {};
  for (const part of [wire, ...summariesIn(wire)]) {
    for (const [name, count] of Object.entries(countsOf(part))) if (count !== undefined) counts[name] = (counts[name] ?? 0) + count;
  }
  return Object.keys(counts).length > 0 ? counts : undefined;
}

function countsOf(wire: Fields): Readonly<Record<string, number | undefined>> {
  const split = inside(wire, 'cache_creation');
  const written = knownCount(wire['cache_creation_input_tokens']);
  const isSplit = Object.keys(split).length > 0 && splitSum(wire) <= (written ?? Infinity);
  const cacheRead = knownCount(wire['cache_read_input_tokens']);
  const cacheWrite1h = isSplit ? knownCount(split['ephemeral_1h_input_tokens']) : undefined;
  const cacheWrite5m = written === undefined ? knownCount(split['ephemeral_5m_input_tokens']) : written - (cacheWrite1h ?? 0);
  const rest = knownCount(wire['input_tokens']);
  return {
    input: rest === undefined ? undefined : rest + (cacheRead ?? 0) + (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0),
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    output: knownCount(wire['output_tokens']),
    reasoning: knownCount(inside(wire, 'output_tokens_details')['thinking_tokens']),
    webSearches: knownCount(inside(wire, 'server_tool_use')['web_search_requests']),
  };
}

/** The whole object, as a message has it; passed what stands for counts that nobody told. */
export function encodeUsage(usage: Usage, unknown: { readonly input: number; readonly output: number }): Record<string, unknown> {
  const { cacheRead, cacheWrite5m, cacheWrite1h, reasoning, webSearches } = usage;
  const isWritten = cacheWrite5m !== undefined || cacheWrite1h !== undefined;
  const isSplit = cacheWrite1h !== undefined;
  const written = (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0);
  const input = usage.input ?? unknown.input;
  return {
    input_tokens: Math.max(0, input - (cacheRead ?? 0) - written),
    cache_creation_input_tokens: isWritten ? written : null,
    cache_read_input_tokens: cacheRead ?? null,
    cache_creation: isSplit ? { ephemeral_5m_input_tokens: cacheWrite5m ?? 0, ephemeral_1h_input_tokens: cacheWrite1h } : null,
    output_tokens: usage.output ?? unknown.output,
    output_tokens_details: reasoning === undefined ? null : { thinking_tokens: reasoning },
    server_tool_use: webSearches === undefined ? null : { web_search_requests: webSearches, web_fetch_requests: 0 },
    service_tier: 'standard',
  };
}
