/** Tokens written to the vendor's cache, which bills them by how long it keeps them. */
import { toCount, type Usage } from '../../../core/index.ts';
import { isObject, type Fields } from './vendor-bag.ts';

type Writes = Pick<Usage, 'cacheWrite5m' | 'cacheWrite30m' | 'cacheWrite1h' | 'cacheWrite12h'>;

/**
 * Reads the sum, which has two names, and, where the vendor reports them, its parts by retention. What is in
 * no part is kept for the vendor's usual, shortest time.
 */
export function decodeCacheWrites({
  cache_write_tokens: sum,
  cache_creation_input_tokens: created,
  cache_write_tokens_details: parts,
}: Fields): Writes {
  const written = toCount(sum) ?? toCount(created);
  if (!isObject(parts)) return { cacheWrite5m: written };
  const [cacheWrite30m = 0, cacheWrite12h = 0] = [
    toCount(parts.ttl_30m_tokens),
    toCount(parts.ttl_12h_tokens),
  ];
  const rest = Math.max(0, (written ?? 0) - cacheWrite30m - cacheWrite12h);
  return { cacheWrite30m, cacheWrite12h, ...(rest > 0 ? { cacheWrite5m: rest } : {}) };
}

/** All writes; undefined if none are known. */
export function sumCacheWrites(usage: Writes): number | undefined {
  const { cacheWrite5m, cacheWrite30m, cacheWrite1h, cacheWrite12h } = usage;
  let sum: number | undefined;
  for (const count of [cacheWrite5m, cacheWrite30m, cacheWrite1h, cacheWrite12h])
    if (count !== undefined) sum = (sum ?? 0) + count;
  return sum;
}

/**
 * What a request for longer retention has to contain: its time, or an escape that may hide one. `includes`
 * would take ten times as long where quotes or backslashes are frequent.
 */
const longer = /"12?h"|\\u00(?:3|68)/;

/** Whether the text of a request asks for no retention of an hour or longer. */
export function writesBriefly(text: string): boolean {
  return !longer.test(text);
}
