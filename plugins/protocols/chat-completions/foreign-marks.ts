/**
 * Anthropic's cache marks in this protocol. OpenRouter and LiteLLM accept `cache_control` on parts; opencode
 * and others also write it on messages, calls and tools. If the marks were lost, every step of an agent would
 * pay a Claude model's full input price.
 */
import type { Tool, Turn } from '../../../core/index.ts';
import { isObject, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

const field = 'cache_control';
/** Flag of a block whose mark was on its message. */
const byMessage = `${field} of its message`;

type Block = Turn['blocks'][number];

interface Markable extends Sides {
  cache?: { ttl?: '5m' | '30m' | '1h' | '12h' | undefined } | undefined;
}

/** Turns the marks of a decoded turn into canonical ones. Marks with unknown fields stay unchanged. */
export function readForeignMarks(turn: Turn): void {
  for (const block of turn.blocks) {
    liftMark(block, block, field);
    if (block.type === 'tool-result') for (const part of block.content) liftMark(part, part, field);
  }
  const last = turn.blocks.at(-1);
  // If the mark is lost, the report names the message, where the client wrote it.
  if (last && isMarkable(last) && liftMark(turn, last, byMessage) && last.type === 'text') last.at = turn.at;
}

/** Turns the mark of a decoded tool into a canonical one. */
export function liftToolMark(tool: Tool): Tool {
  liftMark(tool, tool, field);
  return tool;
}

function isMarkable({ type }: Block): boolean {
  return type === 'text' || type === 'media' || type === 'tool-call' || type === 'tool-result';
}

/** Moves the mark of `from` to `to` as a canonical one. Returns whether there was a mark. */
function liftMark(from: Sides, to: Markable, flag: string): boolean {
  if (!from.vendor || to.cache) return false;
  const { [field]: written, ...rest } = bag.getFields(from);
  const cache = decodeMark(written);
  if (!cache) return false;
  from.vendor = bag.keep(rest).vendor;
  to.cache = cache;
  Object.assign(to, bag.add(to, {}, [flag]));
  return true;
}

function decodeMark(written: unknown): Markable['cache'] {
  if (!isObject(written)) return undefined;
  const { type, ttl, ...rest } = written;
  if (type !== 'ephemeral' || Object.keys(rest).length > 0) return undefined;
  if (ttl === undefined) return {};
  return ttl === '5m' || ttl === '1h' ? { ttl } : undefined;
}

export function hasForeignMarks(turns: readonly Turn[]): boolean {
  return turns.some(({ blocks }) =>
    blocks.some(
      (block) => isForeign(block) || (block.type === 'tool-result' && block.content.some(isForeign)),
    ),
  );
}

/** Whether the mark came from `cache_control`, and is restored there. */
export function isForeign(thing: Markable): boolean {
  return bag.getForm(thing).some((flag) => flag === field || flag === byMessage);
}

/** Restores a mark that was on the block or tool itself. */
export function encodeOwnMark(thing: Markable): Fields {
  return bag.has(thing, field) ? { [field]: { type: 'ephemeral', ...thing.cache } } : {};
}

/** Restores a mark that was on the message of these blocks. */
export function encodeMessageMark(blocks: readonly Block[]): Fields {
  const marked = blocks.find((block) => bag.has(block, byMessage));
  return marked ? { [field]: { type: 'ephemeral', ...marked.cache } } : {};
}
