/**
 * What all parts of this protocol share: its name and bag, the context of its encoders, the names and ids
 * that it accepts, and Anthropic's cache marks. OpenRouter and LiteLLM accept `cache_control` on parts;
 * opencode and others also write it on messages, calls and tools. If the marks were lost, every step of an
 * agent would pay a Claude model's full input price.
 */
import { createHash } from 'node:crypto';
import type { Capabilities, Tool, Turn, CanonicalRequest, Model } from '../../../core/index.ts';
import { chatFlags } from '../../shared/openai/chat-flags.ts';
import { describeOpenaiProtocol } from '../../shared/openai/foreign.ts';
import { fitCallId } from '../../shared/openai/tools.ts';
import { buildEncoding, type Encoding as BaseEncoding } from '../../shared/wire-kit/encoding.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { hashText } from '../../shared/wire-kit/offered-tools.ts';
import { findWantedEffort } from '../../shared/wire-kit/reasoning-effort.ts';
import { createBag, isObject, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'chat-completions';
export const bag = createBag(protocolName);
describeOpenaiProtocol(protocolName);

/** Whether a model accepts an id unchanged. */
export function takesCallId(id: string, capabilities: Capabilities): boolean {
  return chatFlags(capabilities).callIds === 'nine' ? /^[A-Za-z0-9]{9}$/.test(id) : fitCallId(id) === id;
}

/** Returns a call id that the model accepts. This protocol's clients keep theirs if any id is accepted. */
export function encodeCallId(id: string, { inPlace, flags, model }: Encoding): string {
  if (flags.callIds === 'any') return inPlace ? id : fitCallId(id);
  return takesCallId(id, model.capabilities) ? id : hashText(id).slice(0, 9);
}

export function makeCallId(reply: string, candidate: number, ordinal: number): string {
  return `call_${createHash('sha256')
    .update(JSON.stringify([reply, candidate, ordinal]))
    .digest('base64url')
    .replaceAll(/[-_]/g, '0')
    .slice(0, 24)}`;
}

const foreignField = 'cache_control';

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

export interface Encoding extends BaseEncoding {
  /** Whether the provider supports OpenAI's later additions to the protocol. */
  readonly extras: boolean;
  readonly marks: boolean;
  /** Under which vendor's name the client marks what to cache. */
  readonly marksLike: 'openai' | 'anthropic';
  readonly flags: ReturnType<typeof chatFlags>;
  /** Whether the call turns reasoning off. */
  readonly reasoningOff: boolean;
}

export function createEncoding(
  request: CanonicalRequest,
  model: Model,
  lose: Lose,
  inPlace = false,
): Encoding {
  const flags = chatFlags(model.capabilities);
  return {
    ...buildEncoding(request, model, lose, inPlace),
    extras: inPlace || flags.extras,
    marks: inPlace || flags.cacheMarks,
    marksLike: request.names?.['.cache'] === foreignField ? 'anthropic' : 'openai',
    flags,
    reasoningOff:
      isReasoningOff(bag.getFields(request)) || findWantedEffort(request.reasoning ?? {}) === 'none',
  };
}

/** Whether a call turns reasoning off. DeepSeek then accepts messages without their earlier reasoning. */
export function isReasoningOff({ thinking }: Fields): boolean {
  return isObject(thinking) && thinking.type === 'disabled';
}

/**
 * Audio output requires a voice, a format, and text. Clients of other protocols receive
 * PCM samples: their own vendors send these too, and streams allow no other format.
 */
export const defaultSound = { voice: 'alloy', format: 'pcm16' } as const;

export interface Placed<Kind extends Block = Block> {
  readonly block: Kind;
  readonly path: string;
}
