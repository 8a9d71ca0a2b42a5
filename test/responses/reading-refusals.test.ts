import { describe, expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { expectRefusal, wrapRows } from '../support/refusals.ts';
import { makeCall, item } from './bodies.ts';

const tool = { type: 'function', name: 'f', parameters: {} };

/** Fields, the field that the error names, and its message. */
const wrong: [fields: Record<string, unknown>, param: string, message: RegExp][] = [
  [{ model: 5 }, 'model', /is 5: send a model id/],
  [{ input: undefined }, 'input', /is missing: send a string, or an array of input items/],
  [{ input: null }, 'input', /is missing/],
  [{ input: 5 }, 'input', /is 5: send a string, or an array/],
  [{ input: [] }, 'input', /is an empty array: send at least one item/],
  [{ instructions: 5 }, 'instructions', /is 5: send a string/],
  [{ max_output_tokens: 0 }, 'max_output_tokens', /is 0: send a whole number of tokens/],
  [{ max_output_tokens: 1.5 }, 'max_output_tokens', /is 1.5: send a whole number/],
  [{ temperature: 2.1 }, 'temperature', /is 2.1: send a number from 0 to 2/],
  [{ temperature: -1 }, 'temperature', /is -1/],
  [{ temperature: 'hot' }, 'temperature', /is "hot": send a number from 0 to 2/],
  [{ top_p: 2 }, 'top_p', /is 2: send a number from 0 to 1/],
  [{ top_logprobs: 21 }, 'top_logprobs', /is 21: send a whole number from 0 to 20/],
  [{ stream: 'yes' }, 'stream', /is "yes": send true or false/],
  [{ store: 1 }, 'store', /is 1: send true or false/],
  [{ parallel_tool_calls: 'no' }, 'parallel_tool_calls', /send true or false/],
  [{ metadata: { a: 1 } }, 'metadata.a', /is 1: send a string/],
  [
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v'])) },
    'metadata',
    /at most 16 pairs/,
  ],
  [{ include: 'all' }, 'include', /is "all": send an array/],
  [{ reasoning: 'high' }, 'reasoning', /is "high": send an object/],
  [{ text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name', /is missing/],
  [
    { text: { format: { type: 'json_schema', name: 'a' } } },
    'text.format.schema',
    /is missing: send an object/,
  ],
  [{ tools: {} }, 'tools', /is an object: send an array/],
  [{ tools: [{ name: 'f' }] }, 'tools[0].type', /is missing: send the type of a tool/],
  [
    { tools: [tool, { type: 'function', function: { name: 'f' } }] },
    'tools[1].name',
    /is missing: send a string/,
  ],
  [{ tools: [{ ...tool, parameters: 'none' }] }, 'tools[0].parameters', /is "none": send an object/],
  [
    { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function' }] }] },
    'tools[0].tools[0].name',
    /is missing/,
  ],
  [{ tool_choice: 'required' }, 'tool_choice', /without any tools/],
  [
    { tools: [tool], tool_choice: { type: 'function', name: 'g' } },
    'tool_choice',
    /names "g", which is not in "tools"/,
  ],
  [{ tools: [tool], tool_choice: { type: 'function' } }, 'tool_choice.name', /is missing/],
  [
    {
      tools: [tool],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
    },
    'tool_choice',
    /names "g"/,
  ],
  [{ provider: 'openai' }, 'provider', /is "openai": send an object/],
  [{ provider: { routing: 'luck' } }, 'provider.routing', /send one of "priority"/],
  [{ truncation: 7 }, 'truncation', /is 7: send a string/],
  [{ tool_choice: 7 }, 'tool_choice', /is 7: send "none", "auto", "required", or an object/],
  ...wrapRows((part) => item({ role: 'user', content: [part] }), 'input[1].content[0].', [
    [{ type: 7 }, 'type', /is 7/],
    [{ type: 'input_text' }, 'text', /is missing: send a string/],
    [{ type: 'input_image' }, 'image_url', /is missing: send the URL of an image/],
    [{ type: 'input_image', image_url: { url: 'x' } }, 'image_url', /is an object: send a string/],
    [{ type: 'input_file', filename: 'a' }, 'file_data', /is missing/],
  ]),
  ...wrapRows(item, 'input[1]', [
    ['x', '', /is "x": send an object/],
    [null, '', /is null: send an object/],
    [{}, '.role', /is missing: send one of "user", "assistant", "system", "developer"/],
    [{ role: 7, content: 'x' }, '.role', /is 7/],
    [{ role: 'user' }, '.content', /is missing: send a string, or an array of content parts/],
    [
      { type: 'function_call', name: 'f', arguments: '{}' },
      '.call_id',
      /is missing: send the id of a tool call/,
    ],
    [{ type: 'function_call', call_id: 'c', arguments: '{}' }, '.name', /is missing/],
    [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: {} },
      '.arguments',
      /is an object: send a string holding JSON/,
    ],
    [{ type: 'function_call_output', output: 'x' }, '.call_id', /is missing/],
    [{ type: 'function_call_output', call_id: 'c' }, '.output', /is missing/],
    [{ type: 'custom_tool_call', call_id: 'c', name: 'f' }, '.input', /is missing: send a string/],
    [{ type: 'reasoning', summary: 'x' }, '.summary', /is "x": send an array/],
    [{ type: 'additional_tools', role: 'developer' }, '.tools', /is missing: send an array/],
    [{ type: 'additional_tools', tools: [{ type: 'function' }] }, '.tools[0].name', /is missing/],
    [
      { type: 'tool_search_output', tools: [tool, { type: 'image_generation' }] },
      '.tools[1].type',
      /has a price of its own: send such a tool in "tools"/,
    ],
  ]),
];

describe('invalid requests', () => {
  it.each(wrong)('refuses %j and names the field', (fields, param, message) => {
    const error = expectRefusal(() => makeCall(fields));
    expect(error.code).toBe('invalid_request');
    expect(error.details.param).toBe(param);
    expect(error.message).toMatch(message);
    expect(error.message.startsWith(`"${param}" `)).toBe(true);
  });

  it.each([['text'], [null], [[1]]])('refuses the body %j, which is not an object', (body) => {
    expect(
      expectRefusal(() => protocol.client.read(body, JSON.stringify(body), { operation: 'generate' }, {}))
        .message,
    ).toMatch(/JSON object/);
  });

  it.each([
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ conversation: { id: 'conv_1' } }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ background: true }, 'background'],
    [item({ type: 'item_reference', id: 'msg_1' }), 'input[1]'],
    [item({ id: 'msg_1' }), 'input[1]'],
  ])('refuses a field that needs stored responses: %j', (fields, param) => {
    const error = expectRefusal(() => makeCall(fields));
    expect([error.code, error.details.param]).toEqual(['unsupported_parameter', param]);
    expect(error.message).toMatch(/the gateway (has|stores) none/);
  });

  it.each([item({ type: 'item_reference', id: 'msg_1' }), { previous_response_id: 'resp_1' }])(
    'refuses %j in words that name both settings of an SDK which avoid it',
    (fields) => {
      const { message } = expectRefusal(() => makeCall(fields));
      expect(message).toContain('set "store: false", or use the chat completions model: .chat(model)');
    },
  );
});
