/**
 * What the vendor bills for a prompt: its texts and tools in tokens, three a message and 85 for each image,
 * sound or file.
 */
import { countWords as count } from '../words.ts';
import type { ChatRequest, Message } from './request.ts';

const perMessage = 3;
const perMedium = 85;

function countContentTokens(content: Message['content']): number {
  if (!Array.isArray(content)) return count(content);
  return content
    .map((part) => {
      if (part.type === 'text') return count(part.text);
      return part.type === 'refusal' ? count(part.refusal) : perMedium;
    })
    .reduce((sum, tokens) => sum + tokens, 0);
}

function countCallTokens(message: Message): number {
  if (message.role !== 'assistant') return 0;
  return (message.tool_calls ?? [])
    .map((call) =>
      call.type === 'function' ? 1 + count(call.function.arguments) : 1 + count(call.custom.input),
    )
    .reduce((sum, tokens) => sum + tokens, count(message.refusal));
}

export function countPromptTokens({ messages, tools }: ChatRequest): number {
  const spoken = messages.map(
    (message) => perMessage + countContentTokens(message.content) + countCallTokens(message),
  );
  return spoken.reduce((sum, tokens) => sum + tokens, tools ? count(JSON.stringify(tools)) : 0);
}
