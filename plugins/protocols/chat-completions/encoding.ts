/**
 * What all parts of this protocol share: its name and bag, the context of its encoders, the ids that it
 * accepts, and Anthropic's cache marks.
 */
import { createHash } from 'node:crypto';
import type { Capabilities, TextBlock, Turn, CanonicalRequest } from '../../../core/index.ts';
import { foreignField, hasForeignMark } from '../../shared/openai/cache-breakpoint.ts';
import { chatFlags } from '../../shared/openai/chat-flags.ts';
import type { Dialect, OpenaiEncoding } from '../../shared/openai/dialect.ts';
import { describeOpenaiProtocol } from '../../shared/openai/foreign.ts';
import { fitCallId, fitName } from '../../shared/openai/tools.ts';
import { buildEncoding, type Target } from '../../shared/wire-kit/encoding.ts';
import { hashText } from '../../shared/wire-kit/offered-tools.ts';
import { findWantedEffort } from '../../shared/wire-kit/reasoning-effort.ts';
import { readObjects } from '../../shared/wire-kit/values.ts';
import { createBag, isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { isKnownPart } from './wire.ts';

export const protocolName = 'chat-completions';
export const bag = createBag(protocolName);
describeOpenaiProtocol(protocolName);
export const dialect: Dialect = { protocol: protocolName, bag, nests: true, isKnownPart };

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

type Block = Turn['blocks'][number];

/** Whether the client marks what to cache as Anthropic's clients do. A mark that was not read is in a bag. */
export function usesForeignMarks(messages: readonly Fields[], turns: readonly Turn[]): boolean {
  return messages.some(
    (message, index) =>
      (hasForeignMark(message) && bag.getFields(turns[index])[foreignField] === undefined) ||
      readObjects(message.content).some(hasForeignMark) ||
      readObjects(message.tool_calls).some(hasForeignMark),
  );
}

/** Writes a mark as `cache_control`. */
export function encodeForeignMark({ cache }: Pick<TextBlock, 'cache'>): Fields {
  return cache ? { [foreignField]: { type: 'ephemeral', ...cache } } : {};
}

export interface Encoding extends OpenaiEncoding {
  /** Under which vendor's name the client marks what to cache. */
  readonly marksLike: 'openai' | 'anthropic';
  readonly flags: ReturnType<typeof chatFlags>;
  /** Whether the call turns reasoning off. */
  readonly reasoningOff: boolean;
}

export function createEncoding(request: CanonicalRequest, target: Target): Encoding {
  const encoding = buildEncoding(request, target);
  const { inPlace } = encoding;
  const flags = chatFlags(encoding.model.capabilities);
  return {
    ...encoding,
    dialect,
    extras: inPlace || flags.extras,
    marks: inPlace || flags.cacheMarks,
    isOpenai: inPlace || flags.extras,
    nameTool: (name) => (inPlace ? name : fitName(name)),
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
