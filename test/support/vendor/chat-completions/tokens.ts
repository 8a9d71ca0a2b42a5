/**
 * How the vendor counts. One token is a word with the space before it, or a single sign; a reply given in
 * pieces has one token a piece, as a model emits them. A prompt is its texts and tools so counted, three a message
 * and 85 for each image, sound or file. Nothing like a real tokeniser, but exact, and never more than bytes.
 */
import type { ChatRequest, Message } from './request.ts';

const perMessage = 3;
const perMedium = 85;

/** `'Hello there!'` → `['Hello', ' there', '!']`; joined again they are the text. */
export function pieces(text: string): string[] {
  return text.match(/\s*(?:[\p{L}\p{N}]+|[^\s\p{L}\p{N}])|\s+$/gu) ?? [];
}

function count(text: string | null | undefined): number {
  return text ? pieces(text).length : 0;
}

function contentTokens(content: Message['content']): number {
  if (!Array.isArray(content)) return count(content);
  return content
    .map((part) => {
      if (part.type === 'text') return count(part.text);
      return part.type === 'refusal' ? count(part.refusal) : perMedium;
    })
    .reduce((sum, tokens) => sum + tokens, 0);
}

function callTokens(message: Message): number {
  if (message.role !== 'assistant') return 0;
  return (message.tool_calls ?? [])
    .map((call) => (call.type === 'function' ? 1 + count(call.function.arguments) : 1 + count(call.custom.input)))
    .reduce((sum, tokens) => sum + tokens, count(message.refusal));
}

export function promptTokens({ messages, tools }: ChatRequest): number {
  const spoken = messages.map((message) => perMessage + contentTokens(message.content) + callTokens(message));
  return spoken.reduce((sum, tokens) => sum + tokens, tools ? count(JSON.stringify(tools)) : 0);
}
