/**
 * Converts token counts, in both directions. Anthropic's `input_tokens` exclude cache reads and writes;
 * canonical input includes them. Unknown counts are null here, and missing in the canonical usage.
 */
import { toCount, type ClientCall, type Usage } from '../../../core/index.ts';
import { sumCacheWrites } from '../../shared/wire-kit/cache-writes.ts';
import { readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { getRequestedLifetime } from './cache.ts';
import { MessagesCall } from './read-request.ts';

type Lifetime = '5m' | '1h';

/** Tokens written to the cache for each lifetime. */
type Split = Readonly<Record<Lifetime, number>>;

/**
 * Merges a later report into an earlier one. The end of a stream reports cache writes as one number, so their
 * split by lifetime is kept from its start.
 */
export function mergeUsage(earlier: Fields, later: Fields): Fields {
  const stated = Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null));
  return { ...earlier, ...stated };
}

function readSplit({ cache_creation: split }: Fields): Split | undefined {
  if (!isObject(split)) return undefined;
  const [short, long] = [toCount(split.ephemeral_5m_input_tokens), toCount(split.ephemeral_1h_input_tokens)];
  return short === undefined && long === undefined ? undefined : { '5m': short ?? 0, '1h': long ?? 0 };
}

/** Adds up the splits of rounds with hosted tools. Returns undefined if the sum is not all writes. */
function splitByRounds({ iterations }: Fields, written: number): Split | undefined {
  const sum = { '5m': 0, '1h': 0 };
  for (const round of readObjects(iterations)) {
    const split = round.type === 'compaction' ? undefined : readSplit(round);
    sum['5m'] += split?.['5m'] ?? 0;
    sum['1h'] += split?.['1h'] ?? 0;
  }
  return sum['5m'] + sum['1h'] === written ? sum : undefined;
}

/** Returns the cache lifetime that a call requests, or undefined if the provider reports no cache writes. */
export function readLifetime(
  call: ClientCall,
  { cache_creation_input_tokens: written }: Fields,
): Lifetime | undefined {
  if (!toCount(written)) return undefined;
  return call instanceof MessagesCall ? call.lifetime : getRequestedLifetime(call.decode());
}

/**
 * Splits the writes by lifetime. A split that does not add up to all writes is that of the first round. Later
 * rounds write with the lifetime of the request's last mark. Marks for an hour have to come first, so that is
 * five minutes if any mark is for five minutes.
 */
function readWrites(wire: Fields, requested: Lifetime): Partial<Split> {
  const written = toCount(wire.cache_creation_input_tokens);
  const first = readSplit(wire);
  if (written === undefined) return first ?? {};
  const rounds = splitByRounds(wire, written);
  if (rounds) return { '5m': rounds['5m'], ...(first || rounds['1h'] > 0 ? { '1h': rounds['1h'] } : {}) };
  if (!first) return requested === '1h' ? { '5m': 0, '1h': written } : { '5m': written };
  const rest = written - first['5m'] - first['1h'];
  if (rest === 0) return first;
  const [lifetime = requested] = (['5m', '1h'] as const).filter((each) => first[each] > 0);
  if (rest < 0) return lifetime === '1h' ? { '5m': 0, '1h': written } : { '5m': written };
  return { ...first, [lifetime]: first[lifetime] + rest };
}

/** Returns undefined if no count is known. `requested` is the requested cache lifetime. */
export function decodeUsage(wire: Fields, requested: Lifetime = '5m'): Usage | undefined {
  const counts: Record<string, number> = {};
  // To compact a conversation, Anthropic reads it once more, and bills that outside the totals.
  const compactions = readObjects(wire.iterations).filter(({ type }) => type === 'compaction');
  for (const part of [wire, ...compactions]) {
    for (const [name, count] of Object.entries(readCounts(part, requested)))
      if (count !== undefined) counts[name] = (counts[name] ?? 0) + count;
  }
  return Object.keys(counts).length > 0 ? counts : undefined;
}

function readCounts(wire: Fields, requested: Lifetime): Readonly<Record<string, number | undefined>> {
  const { '5m': cacheWrite5m, '1h': cacheWrite1h } = readWrites(wire, requested);
  const cacheRead = toCount(wire.cache_read_input_tokens);
  const rest = toCount(wire.input_tokens);
  return {
    input:
      rest === undefined ? undefined : rest + (cacheRead ?? 0) + (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0),
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    output: toCount(wire.output_tokens),
    reasoning: toCount(readObject(wire.output_tokens_details).thinking_tokens),
    webSearches: toCount(readObject(wire.server_tool_use).web_search_requests),
  };
}

/** Returns the complete usage object. `unknown` replaces counts that the provider did not report. */
export function encodeUsage(
  usage: Usage,
  unknown: { readonly input: number; readonly output: number },
): Record<string, unknown> {
  const { cacheRead, cacheWrite1h, cacheWrite12h, reasoning, webSearches } = usage;
  const written = sumCacheWrites(usage);
  const isSplit = cacheWrite1h !== undefined || cacheWrite12h !== undefined;
  const long = (cacheWrite1h ?? 0) + (cacheWrite12h ?? 0);
  const input = usage.input ?? unknown.input;
  return {
    input_tokens: Math.max(0, input - (cacheRead ?? 0) - (written ?? 0)),
    cache_creation_input_tokens: written ?? null,
    cache_read_input_tokens: cacheRead ?? null,
    cache_creation: isSplit
      ? { ephemeral_5m_input_tokens: (written ?? 0) - long, ephemeral_1h_input_tokens: long }
      : null,
    output_tokens: usage.output ?? unknown.output,
    output_tokens_details: reasoning === undefined ? null : { thinking_tokens: reasoning },
    server_tool_use:
      webSearches === undefined ? null : { web_search_requests: webSearches, web_fetch_requests: 0 },
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
}
