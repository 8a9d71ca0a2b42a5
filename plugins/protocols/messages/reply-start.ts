/** The message of a reply: complete in JSON, and at the start of a stream without content and end. */
import type { CanonicalEvent } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

/** Fields of a message that have a canonical name, or that other canonical events carry. */
const messageFields = new Set([
  'id',
  'type',
  'role',
  'model',
  'content',
  'stop_reason',
  'stop_sequence',
  'stop_details',
  'usage',
]);

export function decodeStart(message: Fields): CanonicalEvent {
  const { id, model } = message;
  const rest = Object.entries(message).filter(([name, value]) => value !== null && !messageFields.has(name));
  return {
    type: 'response-start',
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof model === 'string' ? { model } : {}),
    ...bag.keep(Object.fromEntries(rest)),
  };
}

/** Whether a message has a stop reason. Some relays write an empty one while it runs. */
export function hasStopped({ stop_reason: reason }: Fields): boolean {
  return typeof reason === 'string' && reason !== '';
}

/**
 * Removes the output tokens of a stream's start, a placeholder of one or two tokens. They would become the
 * charge if the end reports none. A message that has already stopped has final figures.
 */
export function withoutOutput({ usage, ...message }: Fields): Fields {
  if (!isObject(usage)) return message;
  if (hasStopped(message)) return { ...message, usage };
  const { output_tokens: _, ...figures } = usage;
  return { ...message, usage: figures };
}

/** Some relays start a message with an empty text block, and then send the block's own events. */
export function isEmptyText(block: unknown): boolean {
  return isObject(block) && block.type === 'text' && (block.text === '' || block.text === undefined);
}
