/** The message that starts a reply: whole in JSON, and in a stream with content and end to come. */
import type { CanonicalEvent } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';

/** Fields of a message that have a canonical name, or that other events tell. */
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

/** Whether a message says why it stopped; some relays write an empty reason while it runs. */
export function hasStopped({ stop_reason: reason }: Fields): boolean {
  return typeof reason === 'string' && reason !== '';
}

/**
 * The output tokens at a stream's start count next to nothing: kept as a figure, they would be the charge where its end
 * reports none. A message that has already stopped has its final figures.
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
