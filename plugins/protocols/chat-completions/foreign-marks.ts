/**
 * Anthropic's cache marks in this protocol. OpenRouter and LiteLLM take `cache_control` on parts. opencode
 * and others also write it on messages, calls and tools. Without it, every step of an agent pays a Claude
 * model's full input price.
 */
import type { Tool, Turn } from '../../../core/index.ts';
import { isObject, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

const field = 'cache_control';
/** Flag of a block whose mark was on its message. */
const byMessage = `${field} of its message`;

type Block = Turn['blocks'][number];

interface Markable extends Sides {
  cache?: { ttl?: '5m' | '30m' | '1h' | undefined } | undefined;
}

/** Turns the marks of a decoded turn into canonical ones. Marks with unknown fields stay as they are. */
export function readForeignMarks(turn: Turn): void {
  for (const block of turn.blocks) {
    liftMark(block, block, field);
    if (block.type === 'tool-result') for (const part of block.content) liftMark(part, part, field);
  }
  const last = turn.blocks.at(-1);
  // Losses of the mark are reported at the message, where the client wrote it.
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

/** Moves a mark to a canonical one on `to`. Returns whether there was a mark. */
function liftMark(from: Sides, to: Markable, flag: string): boolean {
  if (!from.vendor || to.cache) return false;
  const { [field]: written, ...rest } = bag.getFields(from);
  const cache = decodeMark(written);
  if (!cache) return false;
  from.vendor = bag.keep(rest).vendor;
  to.cache = cache;
  to.form = bag.keep({}, [...bag.getForm(to), flag]).form;
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

/** Whether the mark was read here, so that it is restored as it was written. */
export function isForeign(thing: Markable): boolean {
  return bag.getForm(thing).some((flag) => flag === field || flag === byMessage);
}

/** The mark that was on a block or tool itself. */
export function encodeOwnMark(thing: Markable): Fields {
  return bag.getForm(thing).includes(field) ? { [field]: { type: 'ephemeral', ...thing.cache } } : {};
}

/** The mark that was on the message of these blocks. */
export function encodeMessageMark(blocks: readonly Block[]): Fields {
  const marked = blocks.find((block) => bag.getForm(block).includes(byMessage));
  return marked ? { [field]: { type: 'ephemeral', ...marked.cache } } : {};
}
