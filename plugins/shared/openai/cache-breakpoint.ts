/** OpenAI's cache marks, which chat-completions and responses write in the same way, in both directions. */
import { z } from 'zod';
import type { TextBlock } from '../../../core/index.ts';
import type { Encoding } from '../wire-kit/encoding.ts';
import { findKnown } from '../wire-kit/open-values.ts';
import { splitNames, nestFields, pickUnread, type Fields } from '../wire-kit/vendor-bag.ts';

const field = 'prompt_cache_breakpoint';

export const cacheBreakpoint = z
  .looseObject({ mode: z.string().nullish(), ttl: z.string().nullish() })
  .nullish();

export interface Cacheable {
  readonly [field]?: z.output<typeof cacheBreakpoint>;
}

/** OpenAI's own times; other clients of its protocols write Anthropic's. */
const ownTimes = ['30m', '12h'] as const;
const times = ['5m', '1h', ...ownTimes] as const;

export function decodeCache({ [field]: mark }: Cacheable): Pick<TextBlock, 'cache'> {
  return mark?.mode === 'explicit' ? { cache: { ttl: findKnown(mark.ttl, times) } } : {};
}

/** What the canonical cache mark does not express. */
export function readCacheLeftover({ [field]: mark }: Cacheable): Fields {
  if (!mark) return {};
  if (mark.mode !== 'explicit') return { [field]: mark };
  return nestFields(field, pickUnread(mark, splitNames(findKnown(mark.ttl, times) ? 'mode ttl' : 'mode')));
}

/** Encodes a mark. One that the protocol or the model does not have is reported as lost. */
export function encodeCache(
  { cache }: Pick<TextBlock, 'cache'>,
  path: string,
  { marks, lose }: Encoding & { readonly marks: boolean },
  protocol: string,
): Fields | undefined {
  if (!cache) return undefined;
  if (!marks) {
    lose(`${path}.cache`, 'the model finds what to cache by itself', 'model');
    return undefined;
  }
  if (cache.ttl === undefined || findKnown(cache.ttl, ownTimes)) return { mode: 'explicit', ttl: cache.ttl };
  lose(`${path}.cache.ttl`, `${protocol} has no such time to live`, 'approximated');
  return { mode: 'explicit' };
}
