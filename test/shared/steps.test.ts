/**
 * What a client of responses may put between a call and its result comes after the result on every other
 * wire.
 */
import { describe, expect, it } from 'vitest';
import { families, readCall } from '../support/families.ts';

const tools = [{ type: 'function', name: 'look' }];
const buildCall = (id: string): object => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: '{}',
});
const buildOutput = (id: string): object => ({
  type: 'function_call_output',
  call_id: id,
  output: `seen ${id}`,
});
const hi = { role: 'user', content: 'Hi' };
const wait = { role: 'user', content: 'Wait' };
const approved = { role: 'developer', content: 'Approved' };

function encodeInput(
  wire: 'chat-completions' | 'messages' | 'generate-content',
  input: readonly object[],
): { readonly said: unknown; readonly lost: readonly string[] } {
  const { protocol, model } = families[wire];
  const { body, losses } = protocol.upstream.encodeRequest(
    readCall('responses', { model: model.id, tools, input }).decode(),
    model,
    undefined,
  );
  const plain: { messages?: unknown; contents?: unknown } = JSON.parse(JSON.stringify(body));
  return { said: plain.messages ?? plain.contents, lost: losses.map(({ path }) => path) };
}

describe('a message between a call and its result', () => {
  const input = [hi, buildCall('a'), approved, buildOutput('a')];

  it('follows the result on every wire, and is reported by its own path', () => {
    expect(encodeInput('chat-completions', input).said).toMatchObject([
      {},
      { tool_calls: [{ id: 'a' }] },
      { role: 'tool', tool_call_id: 'a' },
      { role: 'developer', content: 'Approved' },
    ]);
    expect(encodeInput('messages', input).said).toMatchObject([
      {},
      { content: [{ type: 'tool_use' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
      { role: 'system', content: [{ text: 'Approved' }] },
    ]);
    expect(encodeInput('generate-content', input)).toMatchObject({
      said: [
        {},
        { parts: [{ functionCall: { id: 'a' } }] },
        { parts: [{ functionResponse: { id: 'a' } }] },
        { parts: [{ text: '<system>\nApproved\n</system>' }] },
      ],
      lost: ['turns[2].role'],
    });
  });
});

it('results of one step stay together, whatever else was said and done before the last of them', () => {
  const input = [
    hi,
    buildCall('a'),
    buildCall('b'),
    buildOutput('a'),
    wait,
    { role: 'assistant', content: 'I do.' },
    wait,
    buildOutput('b'),
  ];
  expect(encodeInput('chat-completions', input).said).toMatchObject([
    {},
    {},
    { tool_call_id: 'a' },
    { tool_call_id: 'b' },
    { content: 'Wait' },
    { content: 'I do.' },
    { content: 'Wait' },
  ]);
  expect(encodeInput('messages', input).said).toMatchObject([
    {},
    {},
    { content: [{ tool_use_id: 'a' }, { tool_use_id: 'b' }, { text: 'Wait' }] },
    { role: 'assistant' },
    { content: [{ text: 'Wait' }] },
  ]);
  expect(encodeInput('generate-content', input).said).toMatchObject([
    {},
    {},
    { parts: [{ functionResponse: { id: 'a' } }, { functionResponse: { id: 'b' } }] },
    { parts: [{ text: 'Wait' }] },
    { role: 'model' },
    { parts: [{ text: 'Wait' }] },
  ]);
});
