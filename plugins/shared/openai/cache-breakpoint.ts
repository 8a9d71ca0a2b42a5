/**
 * Marks of what to cache, in both directions. OpenAI's two protocols write them in the same way. OpenRouter
 * and LiteLLM accept Anthropic's `cache_control` on parts of chat-completions; opencode and others also write
 * it on messages, calls and tools. If the marks were lost, every step of an agent would pay a Claude model's
 * full input price.
 */
import { z } from 'zod';
import type { TextBlock } from '../../../core/index.ts';
import { findKnown } from '../wire-kit/open-values.ts';
import { readObject } from '../wire-kit/values.ts';
import { isObject, type Fields, type Tracked } from '../wire-kit/vendor-bag.ts';
import type { Dialect, OpenaiEncoding } from './dialect.ts';

const field = 'prompt_cache_breakpoint';
export const foreignField = 'cache_control';

export const cacheBreakpoint = z
  .looseObject({ mode: z.string().nullish(), ttl: z.string().nullish() })
  .nullish();

type Marked = Pick<TextBlock, 'cache'>;

/** OpenAI's own times; other clients of its protocols write Anthropic's. */
const ownTimes = ['30m', '12h'] as const;
const foreignTimes = ['5m', '1h'] as const;
const times = [...foreignTimes, ...ownTimes] as const;

/** Decodes the mark of a part, call or tool. What the canonical mark does not express is left unread. */
export function decodeMark(owner: Tracked<Fields>, { nests }: Dialect): Marked {
  return decodeOwnMark(owner) ?? (nests ? decodeForeignMark(owner) : undefined) ?? {};
}

function decodeOwnMark(owner: Tracked<Fields>): Marked | undefined {
  const mark = owner.open(field);
  const { mode, ttl: stated } = readObject(mark?.seen);
  if (mode !== 'explicit') {
    owner.keep(field);
    return undefined;
  }
  const ttl = findKnown(stated, times);
  if (ttl === undefined) mark?.keep('ttl');
  return { cache: { ttl } };
}

/** Decodes Anthropic's mark. One with unknown fields stays unread. */
export function decodeForeignMark(owner: Tracked<Fields>): Marked | undefined {
  const mark = owner.seen[foreignField];
  if (isForeignMark(mark)) return { cache: mark.ttl === undefined ? {} : { ttl: mark.ttl } };
  owner.keep(foreignField);
  return undefined;
}

function isForeignMark(mark: unknown): mark is { readonly ttl?: (typeof foreignTimes)[number] } {
  if (!isObject(mark)) return false;
  const { type, ttl, ...rest } = mark;
  const isKnown = ttl === undefined || findKnown(ttl, foreignTimes) !== undefined;
  return isKnown && type === 'ephemeral' && Object.keys(rest).length === 0;
}

/** Whether only Anthropic's mark is on a message, part or call. */
export function hasForeignMark(owner: Fields): boolean {
  return owner[field] === undefined && isForeignMark(owner[foreignField]);
}

/** Encodes a mark. One that the protocol or the model does not have is reported as lost. */
export function encodeCache(
  { cache }: Marked,
  path: string,
  { marks, dialect, lose }: OpenaiEncoding,
): Fields | undefined {
  if (!cache) return undefined;
  if (!marks) {
    lose(`${path}.cache`, 'the model finds what to cache by itself', 'model');
    return undefined;
  }
  if (cache.ttl === undefined || findKnown(cache.ttl, ownTimes)) return { mode: 'explicit', ttl: cache.ttl };
  lose(`${path}.cache.ttl`, `${dialect.protocol} has no such time to live`, 'approximated');
  return { mode: 'explicit' };
}
