/**
 * How a client of each protocol continues after a reply: it sends back what it received, unchanged, and adds
 * its next message.
 */
import { isObject, type Json } from './json.ts';
import { hear, readObjects, type SaidCall } from './listen.ts';
import type { Wire } from './replaying-vendor.ts';

/** One entry of a conversation in the client's own format: a message, an item, a content. */
export type Entry = object;

/** The user's message, in any protocol. */
export function buildUserEntry(client: Wire, text: string): Entry {
  return client === 'generate-content'
    ? { role: 'user', parts: [{ text }] }
    : { role: 'user', content: text };
}

function isEntry(value: unknown): value is Entry {
  return isObject(value);
}

/** A reply as it is sent back. */
export function keepReply(client: Wire, reply: Json): Entry[] {
  if (client === 'responses') return readObjects(reply.output);
  if (client === 'messages') return [{ role: 'assistant', content: reply.content }];
  const [{ message, content } = {}] = readObjects(
    client === 'chat-completions' ? reply.choices : reply.candidates,
  );
  return [message ?? content].filter(isEntry);
}

function buildResult(client: Wire, { id, name }: SaidCall, text: string, custom: boolean): object {
  if (client === 'chat-completions') return { role: 'tool', tool_call_id: id, content: text };
  if (client === 'responses')
    return { type: custom ? 'custom_tool_call_output' : 'function_call_output', call_id: id, output: text };
  if (client === 'messages') return { type: 'tool_result', tool_use_id: id, content: text };
  return { functionResponse: { ...(id === undefined ? {} : { id }), name, response: { output: text } } };
}

/** The results of a reply's calls; none if it called nothing. */
export function answerCalls(client: Wire, reply: Json, answer: (call: SaidCall) => string): Entry[] {
  const results = hear(client, reply).calls.map((call) =>
    buildResult(client, call, answer(call), typeof call.input === 'string'),
  );
  if (results.length === 0 || client === 'chat-completions' || client === 'responses') return results;
  return [client === 'messages' ? { role: 'user', content: results } : { role: 'user', parts: results }];
}

/** The fields of a request that hold a conversation. */
export function buildConversation(client: Wire, entries: readonly Entry[]): object {
  if (client === 'responses') return { input: entries };
  return client === 'generate-content' ? { contents: entries } : { messages: entries };
}
