import { describe, expect, it } from 'vitest';
import { isGatewayError, type GatewayError } from '../../core/index.ts';
import { protocol, createProtocol } from '../../plugins/protocols/responses/index.ts';
import { envelopeMark } from '../../plugins/shared/wire-kit/envelope.ts';
import { callWith } from './bodies.ts';

function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const user = { role: 'user', content: 'x' };
const item = (value: unknown): Record<string, unknown> => ({ input: [user, value] });
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
  [item('x'), 'input[1]', /is "x": send an object/],
  [item(null), 'input[1]', /is null: send an object/],
  [item({}), 'input[1].role', /is missing: send one of "user", "assistant", "system", "developer"/],
  [item({ role: 7, content: 'x' }), 'input[1].role', /is 7/],
  [item({ role: 'user', content: [{ type: 7 }] }), 'input[1].content[0].type', /is 7/],
  [{ truncation: 7 }, 'truncation', /is 7: send a string/],
  [{ tool_choice: 7 }, 'tool_choice', /is 7: send "none", "auto", "required", or an object/],
  [item({ role: 'user' }), 'input[1].content', /is missing: send a string, or an array of content parts/],
  [
    item({ role: 'user', content: [{ type: 'input_text' }] }),
    'input[1].content[0].text',
    /is missing: send a string/,
  ],
  [
    item({ role: 'user', content: [{ type: 'input_image' }] }),
    'input[1].content[0].image_url',
    /is missing: send the URL of an image/,
  ],
  [
    item({ role: 'user', content: [{ type: 'input_image', image_url: { url: 'x' } }] }),
    'input[1].content[0].image_url',
    /is an object: send a string/,
  ],
  [
    item({ role: 'user', content: [{ type: 'input_file', filename: 'a' }] }),
    'input[1].content[0].file_data',
    /is missing/,
  ],
  [
    item({ type: 'function_call', name: 'f', arguments: '{}' }),
    'input[1].call_id',
    /is missing: send the id of a tool call/,
  ],
  [item({ type: 'function_call', call_id: 'c', arguments: '{}' }), 'input[1].name', /is missing/],
  [
    item({ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }),
    'input[1].arguments',
    /is an object: send a string holding JSON/,
  ],
  [item({ type: 'function_call_output', output: 'x' }), 'input[1].call_id', /is missing/],
  [item({ type: 'function_call_output', call_id: 'c' }), 'input[1].output', /is missing/],
  [
    item({ type: 'custom_tool_call', call_id: 'c', name: 'f' }),
    'input[1].input',
    /is missing: send a string/,
  ],
  [item({ type: 'reasoning', summary: 'x' }), 'input[1].summary', /is "x": send an array/],
  [
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }),
    'input[1].id',
    /is missing: send the id from the response that held the message/,
  ],
  [
    item({ type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'x' }] }),
    'input[1].status',
    /is missing: send "completed"/,
  ],
];

describe('invalid requests', () => {
  it.each(wrong)('refuses %j and names the field', (fields, param, message) => {
    const error = refusal(() => callWith(fields));
    expect(error.code).toBe('invalid_request');
    expect(error.details.param).toBe(param);
    expect(error.message).toMatch(message);
    expect(error.message.startsWith(`"${param}" `)).toBe(true);
  });

  it.each([['text'], [null], [[1]]])('refuses the body %j, which is not an object', (body) => {
    expect(
      refusal(() => protocol.client.read(body, JSON.stringify(body), { operation: 'generate' }, {})).message,
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
    const error = refusal(() => callWith(fields));
    expect([error.code, error.details.param]).toEqual(['unsupported_parameter', param]);
    expect(error.message).toMatch(/the gateway (has|stores) none/);
  });

  it('refuses an item reference and names the SDK setting that sends the item itself', () => {
    expect(refusal(() => callWith(item({ type: 'item_reference', id: 'msg_1' }))).message).toContain(
      '"store: false"',
    );
  });
});

describe('an assistant message in the input', () => {
  const bare = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Ahoy' }] };

  it.each([
    [{ role: 'assistant', content: 'Ahoy' }],
    [{ type: 'message', role: 'assistant', content: 'Ahoy' }],
    [{ role: 'assistant', content: [{ type: 'output_text', text: 'Ahoy' }] }],
    [{ ...bare, id: 'msg_1', status: 'completed' }],
  ])('is accepted as %j', (message) => {
    expect(callWith(item(message)).decode().turns).toMatchObject([
      {},
      { role: 'assistant', blocks: [{ type: 'text', text: 'Ahoy' }] },
    ]);
  });

  it('may omit id and status if the operator allows it', () => {
    const text = JSON.stringify({ model: 'a/b', ...item(bare) });
    expect(() =>
      createProtocol('lenient').client.read(JSON.parse(text), text, { operation: 'generate' }, {}),
    ).not.toThrow();
  });
});

describe('unset and unknown fields', () => {
  it('accepts null as unset in every optional field', () => {
    const call = callWith({
      temperature: null,
      max_output_tokens: null,
      stream: null,
      tools: null,
      tool_choice: null,
      provider: null,
      text: null,
      reasoning: null,
      previous_response_id: null,
      conversation: null,
      background: null,
    });
    expect([call.outputLimit, call.stream, call.candidates]).toEqual([undefined, false, 1]);
  });

  it('accepts unknown fields, items and tools', () => {
    const { turns, tools } = callWith({
      x_new: 1,
      input: [
        { type: 'later_thing', x: 1 },
        { role: 'user', content: [{ type: 'input_text', text: 'x', x_new: [] }], x_new: 0 },
      ],
      tools: [{ type: 'later_tool' }, { type: 'web_search' }],
    }).decode();
    expect(turns).toMatchObject([
      { role: 'assistant', blocks: [{ type: 'foreign', protocol: 'responses' }] },
      { role: 'user' },
    ]);
    expect(tools?.map((each) => each.type === 'hosted' && each.kind)).toEqual(['other', 'web-search']);
  });
});

describe('the facts of a call', () => {
  it('counts media apart from text, wherever it is', () => {
    const image = 'A'.repeat(4000);
    const pdf = 'B'.repeat(400);
    const fields = {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'é' },
            { type: 'input_image', image_url: `data:image/png;base64,${image}` },
            { type: 'input_image', image_url: 'https://a.example/1.png' },
            { type: 'input_file', file_data: pdf },
          ],
        },
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [
            { type: 'input_image', image_url: `data:image/png;base64,${image}` },
            { type: 'input_file', file_data: `data:application/pdf;base64,${pdf}` },
          ],
        },
        { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: image },
      ],
    };
    const whole = Buffer.byteLength(JSON.stringify({ model: 'openai/gpt-5.5', ...fields }));
    expect(callWith(fields).size).toEqual({
      textBytes: whole - 3 * 4000 - 2 * 400,
      brief: true,
      images: 4,
      mediaBytes: 600,
    });
  });

  it("reads preferences from the provider object, and detects other vendors' sealed state", () => {
    expect(callWith({ provider: { order: ['a'], fallback: 'x/y' } }).preferences).toMatchObject({
      order: ['a'],
      fallback: ['x/y'],
    });
    expect(callWith().carriesState).toBe(false);
    expect(
      callWith(item({ type: 'reasoning', summary: [], encrypted_content: `${envelopeMark}AAAA` }))
        .carriesState,
    ).toBe(true);
  });

  it("joins an assistant's consecutive items to one turn, and keeps the path of each", () => {
    const { turns } = callWith({
      instructions: 'Be brief.',
      input: [
        user,
        { type: 'reasoning', summary: [], encrypted_content: 'x' },
        { role: 'assistant', content: 'Hm.' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: '1' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: '2' }] },
      ],
    }).decode();
    expect(turns.map(({ role, blocks }) => [role, ...blocks.map((block) => block.at)])).toEqual([
      ['system', 'instructions'],
      ['user', 'input[0].content'],
      ['assistant', 'input[1]', 'input[2].content', 'input[3]', 'input[4]'],
      ['tool', 'input[5]'],
      ['tool', 'input[6]'],
    ]);
  });

  it('gives two canonical names to tools of one name in two namespaces', () => {
    const space = (name: string): unknown => ({
      type: 'namespace',
      name,
      tools: [{ type: 'function', name: 'search' }],
    });
    const { tools, turns } = callWith({
      tools: [space('charts'), space('logs')],
      input: [{ type: 'function_call', call_id: 'c', name: 'search', namespace: 'logs', arguments: '{}' }],
    }).decode();
    expect(tools).toMatchObject([
      { name: 'search', namespace: 'charts', at: 'tools[0].tools[0]' },
      { name: 'logs__search', namespace: 'logs', at: 'tools[1].tools[0]' },
    ]);
    expect(turns).toMatchObject([{ blocks: [{ name: 'logs__search', namespace: 'logs' }] }]);
  });
});

describe('endpoints', () => {
  it('match their exact path, with POST only', () => {
    expect(protocol.client.match('POST', '/v1/responses')).toEqual({ operation: 'generate' });
    expect(protocol.client.match('POST', '/v1/responses/input_tokens')).toEqual({ operation: 'count' });
    expect(protocol.client.match('GET', '/v1/responses')).toBeUndefined();
    expect(protocol.client.match('POST', '/v1/responses/resp_1')).toBeUndefined();
    expect(protocol.client.match('POST', 'constructor')).toBeUndefined();
  });
});

describe('a token count', () => {
  const count = (body: Record<string, unknown>): ReturnType<typeof protocol.client.read> =>
    protocol.client.read(body, JSON.stringify(body), { operation: 'count' }, {});

  it('accepts a body without input, and every body that a call accepts', () => {
    expect(count({ model: 'a/b' }).decode().turns).toEqual([]);
    expect(count({ model: 'a/b', input: 'x', instructions: 'y' }).decode().turns).toHaveLength(2);
    expect(refusal(() => count({ model: 'a/b', previous_response_id: 'resp_1' })).details.param).toBe(
      'previous_response_id',
    );
  });

  it('reads and writes the number of input tokens', () => {
    expect(protocol.count?.decodeReply({ object: 'response.input_tokens', input_tokens: 51 })).toBe(51);
    expect(protocol.count?.encodeReply(51)).toEqual({ object: 'response.input_tokens', input_tokens: 51 });
    expect(() => protocol.count?.decodeReply({ input_tokens: '51' })).toThrow(/input_tokens/);
    expect(() => protocol.count?.decodeReply([])).toThrow();
  });
});
