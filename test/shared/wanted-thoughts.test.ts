/**
 * DeepSeek's reasoning before a tool call, which it requires back, returns to it through every client, and
 * reaches no other provider.
 */
import { describe, expect, it } from 'vitest';
import { makeModel } from '../chat-completions/bodies.ts';
import {
  answerCalls,
  keepReply,
  buildUserEntry,
  buildConversation,
} from '../support/continue-conversation.ts';
import { families, readCall, sendOwn, wires, type Wire } from '../support/families.ts';
import { isObject, type Json } from '../support/json.ts';
import { chatReply } from '../support/replies.ts';

const { protocol: chat } = families['chat-completions'];
const deepseek = makeModel({
  id: 'deepseek/deepseek-v4-pro',
  capabilities: {
    reasoning: { style: 'effort' },
    wire: { 'chat-completions': { extras: false, thinkingMode: true } },
  },
});
const thought = 'The tide it is.';
const message = {
  role: 'assistant',
  content: 'I look.',
  reasoning_content: thought,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{}' } }],
};
const reply = chatReply('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });

const tools: Readonly<Record<Wire, object>> = {
  'chat-completions': { tools: [{ type: 'function', function: { name: 'tide' } }] },
  responses: { tools: [{ type: 'function', name: 'tide' }] },
  messages: { max_tokens: 90, tools: [{ name: 'tide', input_schema: { type: 'object' } }] },
  'generate-content': {
    tools: [{ functionDeclarations: [{ name: 'tide' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
};

function toJson(value: unknown): Json {
  const plain: unknown = JSON.parse(JSON.stringify(value));
  return isObject(plain) ? plain : {};
}

describe.each(wires)('a %s client', (client) => {
  const opening = { model: deepseek.id, ...tools[client] };
  const call = readCall(client, {
    ...opening,
    ...buildConversation(client, [buildUserEntry(client, 'Tide?')]),
  });
  const events = chat.upstream.decodeReply(reply, call, deepseek);
  const heard = toJson(
    families[client].protocol.client.encodeReply(events, { id: 'k1', model: deepseek.id, created: 1, call }),
  );
  const written = {
    ...opening,
    ...buildConversation(client, [
      buildUserEntry(client, 'Tide?'),
      ...keepReply(client, heard),
      ...answerCalls(client, heard, () => 'noon'),
    ]),
  };
  const next = readCall(client, written);

  it("returns DeepSeek's reasoning to it with the call", () => {
    const { body } =
      client === 'chat-completions'
        ? sendOwn(client, written, { model: deepseek })
        : chat.upstream.encodeRequest(next.decode(), deepseek, undefined);
    expect(toJson(body)).toMatchObject({
      messages: [{}, { role: 'assistant', reasoning_content: thought, tool_calls: [{}] }, { role: 'tool' }],
    });
  });

  it.each(wires)('sends it to no provider of %s', (wire) => {
    const { protocol, model } = families[wire];
    expect(
      JSON.stringify(protocol.upstream.encodeRequest(next.decode(), model, undefined).body),
    ).not.toContain(thought);
  });
});
