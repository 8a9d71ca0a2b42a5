/**
 * A request of very many parts crosses like any other: the code never passes them as arguments of one
 * function call, whose number is limited.
 */
import { expect, it } from 'vitest';
import { families, readCall, type Wire } from '../support/families.ts';

const repeatPart = <Part>(part: Part): Part[] => Array.from({ length: 130_000 }, () => part);
const text = { type: 'text', text: 'a' };
const marked = { ...text, cache_control: { type: 'ephemeral' } };
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aa' } };
const buildTurn = (parts: readonly object[], role = 'user'): object => ({ role, parts });
const buildResult = (content: readonly object[]): object => ({
  model: 'a/b',
  max_tokens: 9,
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content }] },
  ],
});
const messages = {
  model: 'a/b',
  max_tokens: 9,
  system: repeatPart(text),
  messages: [
    { role: 'user', content: [text] },
    { role: 'user', content: repeatPart(text) },
  ],
};
const contents = {
  systemInstruction: { parts: repeatPart({ text: 'a' }) },
  contents: [
    buildTurn(repeatPart({ text: 'a' })),
    buildTurn([{ text: 'a' }], 'model'),
    buildTurn(repeatPart({ text: 'a' }), 'model'),
  ],
};
const items = {
  model: 'a/b',
  input: [
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    {
      type: 'message',
      id: 'msg_1',
      status: 'completed',
      role: 'assistant',
      content: repeatPart({ type: 'output_text', text: 'a', annotations: [] }),
    },
    { type: 'function_call_output', call_id: 'c', output: 'a' },
  ],
};

it.each<[what: string, client: Wire, body: object, wire: Wire]>([
  ['texts', 'messages', messages, 'messages'],
  ['texts', 'generate-content', contents, 'generate-content'],
  ['texts of an answer', 'responses', items, 'responses'],
  ['pictures of a result', 'messages', buildResult(repeatPart(picture)), 'chat-completions'],
  ['cache marks', 'messages', buildResult(repeatPart(marked)), 'messages'],
])('very many %s of a %s client cross', (_what, client, body, wire) => {
  const { protocol, model } = families[wire];
  expect(protocol.upstream.encodeRequest(readCall(client, body).decode(), model, undefined).body).toBeTypeOf(
    'object',
  );
});
