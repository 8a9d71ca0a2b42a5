/**
 * Anthropic's cache marks in this wire. OpenRouter and LiteLLM take `cache_control` on parts, opencode and others write it
 * on whole messages, on calls and on tools as well; without it a Claude model reads every step of an agent's work at full price.
 */
import type { Tool, Turn } from '../../../core/index.ts';
import { isObject, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

const field = 'cache_control';
/** How a block is marked by its message: the mark stands on its last block. */
const byMessage = `${field} of its message`;

type Block = Turn['blocks'][number];

interface Markable extends Sides {
  cache?: { ttl?: '5m' | '30m' | '1h' | undefined } | undefined;
}

/** Turns the marks of a turn that was just read into canonical ones. One that says more than the vendor knows stays as it is. */
export function readForeignMarks(turn: Turn): void {
  for (const block of turn.blocks) {
    liftMark(block, block, field);
    if (block.type === 'tool-result') for (const part of block.content) liftMark(part, part, field);
  }
  const last = turn.blocks.at(-1);
  // What is said of the mark is said of the message, which is where the client wrote it.
  if (last && isMarkable(last) && liftMark(turn, last, byMessage) && last.type === 'text') last.at = turn.at;
}

/** A tool that was just read, with its mark as a canonical one. */
export function withToolMark(tool: Tool): Tool {
  liftMark(tool, tool, field);
  return tool;
}

function isMarkable({ type }: Block): boolean {
  return type === 'text' || type === 'media' || type === 'tool-call' || type === 'tool-result';
}

/** Whether there was one to lift. */
function liftMark(from: Sides, to: Markable, word: string): boolean {
  if (!from.vendor || to.cache) return false;
  const { [field]: written, ...rest } = bag.fields(from);
  const cache = markOf(written);
  if (!cache) return false;
  from.vendor = bag.keep(rest).vendor;
  to.cache = cache;
  to.form = bag.keep({}, [...bag.form(to), word]).form;
  return true;
}

function markOf(written: unknown): Markable['cache'] {
  if (!isObject(written)) return undefined;
  const { type, ttl, ...rest } = written;
  if (type !== 'ephemeral' || Object.keys(rest).length > 0) return undefined;
  if (ttl === undefined) return {};
  return ttl === '5m' || ttl === '1h' ? { ttl } : undefined;
}

/** Whether any mark of a request was written in this way. */
export function hasForeignMarks(turns: readonly Turn[]): boolean {
  return turns.some(({ blocks }) =>
    blocks.some(
      (block) => isForeign(block) || (block.type === 'tool-result' && block.content.some(isForeign)),
    ),
  );
}

/** Whether a mark was read here: then it goes back as it was written. */
export function isForeign(thing: Markable): boolean {
  return bag.form(thing).some((word) => word === field || word === byMessage);
}

/** The mark as it stood on a thing itself. */
export function ownMark(thing: Markable): Fields {
  return bag.form(thing).includes(field) ? { [field]: { type: 'ephemeral', ...thing.cache } } : {};
}

/** The mark as it stood on the message of these blocks. */
export function messageMark(blocks: readonly Block[]): Fields {
  const marked = blocks.find((block) => bag.form(block).includes(byMessage));
  return marked ? { [field]: { type: 'ephemeral', ...marked.cache } } : {};
}
