/**
 * The rules of a conversation: every call of an assistant turn is answered by a tool message right after it,
 * each once, and no tool message is anywhere else. Gateways that merge, reorder or drop turns break these.
 */
import type { Complaint } from './refusals.ts';
import { isGiven, type Message } from './request.ts';

function describeUnanswered(ids: Iterable<string>, position: number): Complaint {
  const message =
    "An assistant message with 'tool_calls' must be followed by tool messages responding " +
    "to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`;
  return { message, param: `messages.[${position}].role`, code: null };
}

function describeOrphan(position: number): Complaint {
  const message =
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message " +
    "with 'tool_calls'.";
  return { message, param: `messages.[${position}].role`, code: null };
}

function describeEmptyTurn(position: number): Complaint {
  const message = "Invalid value for 'content': expected a string, got null.";
  return { message, param: `messages.[${position}].content`, code: null };
}

function describeRepeatedCall(id: string, position: number): Complaint {
  return {
    message: `Duplicate tool call id '${id}'.`,
    param: `messages.[${position}].tool_calls`,
    code: 'invalid_value',
  };
}

export function checkConversation(messages: readonly Message[]): Complaint | undefined {
  let open = new Set<string>();
  for (const [position, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) return describeOrphan(position);
      continue;
    }
    if (open.size) return describeUnanswered(open, position);
    if (message.role !== 'assistant') continue;
    const { content, refusal, audio, function_call: oldCall, tool_calls: calls = [] } = message;
    if (!calls.length && ![content, refusal, audio, oldCall].some(isGiven))
      return describeEmptyTurn(position);
    open = new Set(calls.map(({ id }) => id));
    const twice = calls.find(({ id }, index) => calls.findIndex((call) => call.id === id) < index);
    if (twice) return describeRepeatedCall(twice.id, position);
  }
  return open.size ? describeUnanswered(open, messages.length - 1) : undefined;
}
