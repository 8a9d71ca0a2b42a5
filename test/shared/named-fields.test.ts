import { expect, it } from 'vitest';
import { readRequest as readChat } from '../../plugins/protocols/chat-completions/call.ts';
import { readRequest as readGenerate } from '../../plugins/protocols/generate-content/call.ts';
import { readRequest as readMessages } from '../../plugins/protocols/messages/call.ts';
import { readCall } from '../support/families.ts';

const said = { role: 'user', content: 'Hello' };
const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };

it.each([
  ['messages[1].role', { role: 5, content: 'a' }],
  ['messages[1].content', { role: 'user', content: 1 }],
  ['messages[1].name', { role: 'user', content: 'a', name: 5 }],
  ['messages[1].tool_call_id', { role: 'tool', content: 'a', tool_call_id: 5 }],
  ['messages[1].tool_call_id', { role: 'tool', content: 'a', name: 'b' }],
  ['messages[1].name', { role: 'function', content: 'a' }],
  ['messages[1].content', { role: 'assistant', content: 5, tool_calls: [call] }],
  ['messages[1].content', { role: 'assistant', content: null, tool_calls: [] }],
  ['messages[1].tool_calls[0].id', { role: 'assistant', content: null, tool_calls: [{ ...call, id: 1 }] }],
  [
    'messages[1].tool_calls[1].type',
    { role: 'assistant', content: null, tool_calls: [call, { ...call, type: 5 }] },
  ],
  [
    'messages[1].tool_calls[0].function',
    { id: 'a', role: 'assistant', content: null, tool_calls: [{ ...call, function: 'f' }] },
  ],
  [
    'messages[1].tool_calls[0].function.name',
    { role: 'assistant', content: 'a', tool_calls: [{ ...call, function: { name: 1, arguments: '' } }] },
  ],
  [
    'messages[1].tool_calls[0].function.arguments',
    { role: 'assistant', content: 'a', tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] },
  ],
  [
    'messages[1].tool_calls[0].extra_content',
    { role: 'assistant', content: 'a', tool_calls: [{ ...call, extra_content: 1 }] },
  ],
])('a refusal names the field that is wrong as a message of chat-completions: %s', (param, message) => {
  const body = { model: 'a/b', messages: [said, message] };
  expect(() => readChat(body, JSON.stringify(body))).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ param }) }),
  );
});

it.each([
  ['text', { type: 'text', text: 1 }],
  ['cache_control.type', { type: 'text', text: 'a', cache_control: { type: 5 } }],
  ['id', { type: 'tool_use', id: '', name: 'a', input: {} }],
  ['name', { type: 'tool_use', id: 'a', name: '', input: {} }],
  ['input', { type: 'tool_use', id: 'a', name: 'b', input: [] }],
  ['tool_use_id', { type: 'tool_result', tool_use_id: '', content: 'a' }],
  ['tool_use_id', { type: 'tool_result', is_error: true, content: 'a' }],
  ['content', { type: 'tool_result', tool_use_id: 'a', content: 1 }],
  ['is_error', { type: 'tool_result', tool_use_id: 'a', content: 'b', is_error: 'no' }],
  ['content[0].text', { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 1 }] }],
  [
    'content[1].cache_control.type',
    {
      type: 'tool_result',
      tool_use_id: 'a',
      content: [
        { type: 'text', text: 'b' },
        { type: 'text', text: 'c', cache_control: { type: 5 } },
      ],
    },
  ],
])('a refusal names the field that is wrong as a block of messages: %s', (field, block) => {
  const body = { model: 'a/b', max_tokens: 5, messages: [{ role: 'user', content: [block] }] };
  const read = (): unknown =>
    readMessages(
      body,
      JSON.stringify(body),
      { operation: 'generate' },
      { 'anthropic-version': '2023-06-01' },
    );
  expect(read).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({ param: `messages[0].content[0].${field}` }),
    }),
  );
});

it.each([
  ['messages[1].role', { role: 5, content: [{ type: 'text', text: 'a' }] }],
  ['messages[1].content', { role: 'user', content: 5 }],
  ['messages[1].content', { role: 'user' }],
  ['messages[1].content[1].text', { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text' }] }],
])('a refusal names the field that is wrong as a message of messages: %s', (param, message) => {
  const body = { model: 'a/b', max_tokens: 5, messages: [said, message] };
  const read = (): unknown =>
    readMessages(
      body,
      JSON.stringify(body),
      { operation: 'generate' },
      { 'anthropic-version': '2023-06-01' },
    );
  expect(read).toThrow(expect.objectContaining({ details: expect.objectContaining({ param }) }));
});

it.each([
  ['id', { type: 'message', role: 'user', content: 'a', id: 1 }],
  ['status', { type: 'message', role: 'user', content: 'a', status: 5 }],
  ['role', { type: 'message', role: 5, content: 'a' }],
  ['content', { type: 'message', role: 'user', content: 5 }],
  ['content[0].text', { type: 'message', role: 'user', content: [{ type: 'input_text', text: 1 }] }],
  [
    'content[0].prompt_cache_breakpoint.mode',
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: 'a', prompt_cache_breakpoint: { mode: 5 } }],
    },
  ],
  [
    'content[0].annotations',
    {
      type: 'message',
      role: 'assistant',
      id: 'a',
      status: 'completed',
      content: [{ type: 'output_text', text: 'a', annotations: 1 }],
    },
  ],
  ['call_id', { type: 'function_call', call_id: '', name: 'a', arguments: '' }],
  ['name', { type: 'function_call', call_id: 'a', name: '', arguments: '' }],
  ['arguments', { type: 'function_call', call_id: 'a', name: 'b', arguments: {} }],
  ['namespace', { type: 'function_call', call_id: 'a', name: 'b', arguments: '', namespace: 1 }],
  ['call_id', { type: 'function_call_output', call_id: 1, output: 'a' }],
  ['output', { type: 'function_call_output', call_id: 'a', output: 1 }],
  ['output[0].text', { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text' }] }],
])('a refusal names the field that is wrong as an item of responses: %s', (field, item) => {
  const body = { model: 'a/b', input: [{ type: 'message', role: 'user', content: 'Hello' }, item] };
  expect(() => readCall('responses', body)).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ param: `input[1].${field}` }) }),
  );
});

it.each([
  ['text', { text: 1 }],
  ['thought', { text: 'a', thought: 'b' }],
  ['functionCall.name', { functionCall: { name: '', args: {} } }],
  ['functionCall.args', { functionCall: { name: 'a', args: [] } }],
  ['functionCall.id', { functionCall: { name: 'a', args: {}, id: 1 } }],
  ['functionResponse.response', { functionResponse: { name: 'a', response: 'b' } }],
  ['functionResponse.name', { functionResponse: { id: 'a', response: {} } }],
])('a refusal names the field that is wrong as a part of generate-content: %s', (field, part) => {
  const body = { contents: [{ parts: [part] }] };
  const read = (): unknown =>
    readGenerate(body, JSON.stringify(body), { operation: 'generate', model: 'a/b' });
  expect(read).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({ param: `contents[0].parts[0].${field}` }),
    }),
  );
});
