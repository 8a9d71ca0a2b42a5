/**
 * Anthropic's cache marks in this protocol. OpenRouter and LiteLLM accept `cache_control` on parts; opencode
 * and others also write it on messages, calls and tools. If the marks were lost, every step of an agent would
 * pay a Claude model's full input price.
 */
import type { Tool, Turn } from '../../../core/index.ts';
import { isObject, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

export const foreignField = 'cache_control';

type Block = Turn['blocks'][number];

interface Markable extends Sides {
  cache?: { ttl?: '5m' | '30m' | '1h' | '12h' | undefined } | undefined;
}

/**
 * Turns the marks of a decoded turn into canonical ones. Marks with unknown fields stay unchanged. Returns
 * whether there were any.
 */
export function readForeignMarks(turn: Turn): boolean {
  let isMarked = false;
  for (const block of turn.blocks) {
    isMarked = liftMark(block, block) || isMarked;
    if (block.type === 'tool-result')
      for (const part of block.content) isMarked = liftMark(part, part) || isMarked;
  }
  const last = turn.blocks.at(-1);
  if (!last || !isMarkable(last) || !liftMark(turn, last)) return isMarked;
  // If the mark is lost, the report names the message, where the client wrote it.
  if (last.type === 'text') last.at = turn.at;
  return true;
}

/** Turns the mark of a decoded tool into a canonical one. */
export function liftToolMark(tool: Tool): Tool {
  liftMark(tool, tool);
  return tool;
}

function isMarkable({ type }: Block): boolean {
  return type === 'text' || type === 'media' || type === 'tool-call' || type === 'tool-result';
}

/** Moves the mark of `from` to `to` as a canonical one. Returns whether there was a mark. */
function liftMark(from: Sides, to: Markable): boolean {
  if (!from.vendor || to.cache) return false;
  const { [foreignField]: written, ...rest } = bag.getFields(from);
  const cache = decodeMark(written);
  if (!cache) return false;
  from.vendor = bag.keep(rest).vendor;
  to.cache = cache;
  return true;
}

function decodeMark(written: unknown): Markable['cache'] {
  if (!isObject(written)) return undefined;
  const { type, ttl, ...rest } = written;
  if (type !== 'ephemeral' || Object.keys(rest).length > 0) return undefined;
  if (ttl === undefined) return {};
  return ttl === '5m' || ttl === '1h' ? { ttl } : undefined;
}

/** Writes a mark as `cache_control`. */
export function encodeForeignMark({ cache }: Markable): Fields {
  return cache ? { [foreignField]: { type: 'ephemeral', ...cache } } : {};
}
