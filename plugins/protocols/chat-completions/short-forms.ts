/**
 * Finds forms that Mistral accepts and other providers do not. A body with such forms is passed verbatim to a
 * model that takes them, and written out for others.
 */
import {
  isKnownCall,
  isKnownMessage,
  isKnownPart,
  type WireAnyMessage,
  type WireAnyPart,
} from './wire-messages.ts';
import type { WireRequest } from './wire.ts';

export function usesShortForms({ messages, tools, tool_choice: choice }: WireRequest): boolean {
  return (
    choice === 'any' ||
    (tools?.some(({ type }) => type === undefined) ?? false) ||
    messages.some(isShortMessage)
  );
}

function isShortMessage(message: WireAnyMessage): boolean {
  if (!isKnownMessage(message)) return false;
  const { content } = message;
  if (Array.isArray(content) && (content.length === 0 || content.some(isShortPart))) return true;
  return (
    message.role === 'assistant' &&
    (message.tool_calls?.some((call) => isKnownCall(call) && call.type === undefined) ?? false)
  );
}

function isShortPart(part: WireAnyPart): boolean {
  if (!isKnownPart(part)) return false;
  if (part.type === 'image_url') return typeof part.image_url === 'string';
  return (
    part.type === 'document_url' || (part.type === 'input_audio' && typeof part.input_audio === 'string')
  );
}
