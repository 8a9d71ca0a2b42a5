/** Builds the message and the blocks of a reply as its events start them. */
import type { Opaque, ReplyContext, EventOf } from '../../../core/index.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor } from './bag.ts';
import type { Owner } from './sealed.ts';

type BlockStart = EventOf<'block-start'>;

/** Builds the message of `message_start`: without content and stop reason. */
export function buildMessage(own: Fields, { id, model }: ReplyContext, usage: Fields): Fields {
  return {
    container: null,
    diagnostics: null,
    ...own,
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage,
  };
}

export function buildBlock({ kind, id = '', name = '', vendor }: BlockStart): Fields {
  const own = bag.getFields({ vendor });
  if (kind === 'reasoning') return { type: 'thinking', thinking: '', signature: '' };
  if (kind === 'server-tool') return own;
  if (kind !== 'tool-call') return { type: 'text', text: '' };
  return { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' }, ...own };
}

/** Returns the owner of the sealed state after a block, or undefined if nothing of the block was sent. */
export function findOwner({ kind, id = '' }: BlockStart, isSent: boolean): Owner | undefined {
  if (kind === 'tool-call') return { call: id };
  if (kind === 'text') return 'text';
  return isSent ? 'reasoning' : undefined;
}

const shown: ReadonlySet<string> = new Set(['text', 'refusal', 'reasoning', 'tool-call']);

export function isShown(start: BlockStart): boolean {
  return shown.has(start.kind) || isOwn(start);
}

/** Whether the block of a server tool came in this protocol. Only then is it sent unchanged. */
export function isOwn({ vendor }: BlockStart): boolean {
  return bag.getFields({ vendor }).type !== undefined;
}

export function isSignature({ vendor, kind }: Opaque): boolean {
  return vendor === nativeVendor && kind === 'signature';
}

export function buildDelta(kind: BlockStart['kind'], text: string): Fields | undefined {
  if (kind === 'text' || kind === 'refusal') return { type: 'text_delta', text };
  if (kind === 'reasoning') return { type: 'thinking_delta', thinking: text };
  return kind === 'tool-call' ? { type: 'input_json_delta', partial_json: text } : undefined;
}
