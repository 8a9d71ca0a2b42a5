import { describe, expect, it } from 'vitest';
import { createProtocol, protocol } from '../../plugins/protocols/responses/index.ts';
import { envelopeMark } from '../../plugins/shared/wire-kit/envelope.ts';
import { expectRefusal } from '../support/refusals.ts';
import { makeCall, item, user } from './bodies.ts';

describe('an assistant message in the input', () => {
  const bare = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Ahoy' }] };

  it.each([
    [{ role: 'assistant', content: 'Ahoy' }],
    [{ type: 'message', role: 'assistant', content: 'Ahoy' }],
    [{ role: 'assistant', content: [{ type: 'output_text', text: 'Ahoy' }] }],
    [{ ...bare, id: 'msg_1', status: 'completed' }],
  ])('is accepted as %j', (message) => {
    expect(makeCall(item(message)).decode().turns).toMatchObject([
      {},
      { role: 'assistant', blocks: [{ type: 'text', text: 'Ahoy' }] },
    ]);
  });

  it('may omit id and status, which the call reports', () => {
    expect(makeCall(item(bare)).defaulted).toEqual(['input[1].id', 'input[1].status']);
    expect(makeCall(item({ ...bare, id: 'msg_1' })).defaulted).toEqual(['input[1].status']);
    expect(makeCall(item({ ...bare, id: 'msg_1', status: 'completed' })).defaulted).toEqual([]);
    expect(makeCall(item({ role: 'assistant', content: bare.content })).defaulted).toEqual([]);
  });

  it.each([
    [bare, '"input[1].id" is missing: send the id from the response that held the message,'],
    [{ ...bare, id: 'msg_1' }, '"input[1].status" is missing: send "completed",'],
  ])('may not omit them where the letter of the interface holds: %j', (message, refusal) => {
    const text = JSON.stringify({ model: 'a/b', ...item(message) });
    const { client } = createProtocol('strict');
    const error = expectRefusal(() => client.read(JSON.parse(text), text, { operation: 'generate' }, {}));
    expect([error.code, error.message]).toEqual(['invalid_request', `${refusal} or leave out "type".`]);
    expect(error.message).toContain(error.details.param);
  });
});

it('the reader accepts null as unset in every optional field', () => {
  const call = makeCall({
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

it('the reader accepts unknown fields, items and tools', () => {
  const { turns, tools } = makeCall({
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
        ...[{ image_url: `data:image/png;base64,${image}` }, { file_id: 'file_1' }].map((shown) => ({
          type: 'computer_call_output',
          call_id: 'c',
          output: { type: 'computer_screenshot', ...shown },
        })),
      ],
    };
    const whole = Buffer.byteLength(JSON.stringify({ model: 'openai/gpt-5.5', ...fields }));
    expect(makeCall(fields).size).toEqual({
      textBytes: whole - 4 * 4000 - 2 * 400,
      brief: true,
      images: 6,
      mediaBytes: 600,
    });
  });

  it("reads preferences from the provider object, and detects other vendors' sealed state", () => {
    expect(makeCall({ provider: { order: ['a'], fallback: 'x/y' } }).preferences).toMatchObject({
      order: ['a'],
      fallback: ['x/y'],
    });
    expect(makeCall().carriesState).toBe(false);
    expect(
      makeCall(item({ type: 'reasoning', summary: [], encrypted_content: `${envelopeMark}AAAA` }))
        .carriesState,
    ).toBe(true);
  });

  it("joins an assistant's consecutive items to one turn, and keeps the path of each", () => {
    const { turns } = makeCall({
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
    const { tools, turns } = makeCall({
      tools: [space('charts'), space('logs')],
      input: [{ type: 'function_call', call_id: 'c', name: 'search', namespace: 'logs', arguments: '{}' }],
    }).decode();
    expect(tools).toMatchObject([
      { name: 'search', namespace: 'charts', at: 'tools[0].tools[0]' },
      { name: 'logs__search', namespace: 'logs', at: 'tools[1].tools[0]' },
    ]);
    expect(turns).toMatchObject([{ blocks: [{ name: 'logs__search', namespace: 'logs' }] }]);
  });

  it('leaves a tool its name if a namespace before it has a tool of that name', () => {
    const search = { type: 'function', name: 'search' };
    const called = { type: 'function_call', name: 'search', arguments: '{}' };
    const { tools, turns } = makeCall({
      tools: [{ type: 'namespace', name: 'charts', tools: [search] }, search],
      input: [
        { ...called, call_id: 'a' },
        { ...called, call_id: 'b', namespace: 'charts' },
      ],
    }).decode();
    expect(tools).toMatchObject([{ name: 'charts__search' }, { name: 'search' }]);
    expect(turns).toMatchObject([{ blocks: [{ name: 'search' }, { name: 'charts__search' }] }]);
  });
});

it('endpoints match their exact path, with POST only', () => {
  expect(protocol.client.match('POST', '/v1/responses')).toEqual({ operation: 'generate' });
  expect(protocol.client.match('POST', '/v1/responses/input_tokens')).toEqual({ operation: 'count' });
  expect(protocol.client.match('GET', '/v1/responses')).toBeUndefined();
  expect(protocol.client.match('POST', '/v1/responses/resp_1')).toBeUndefined();
  expect(protocol.client.match('POST', 'constructor')).toBeUndefined();
});

const count = (body: Record<string, unknown>): ReturnType<typeof protocol.client.read> =>
  protocol.client.read(body, JSON.stringify(body), { operation: 'count' }, {});

it('a token count accepts a body without input, and every body that a call accepts', () => {
  expect(count({ model: 'a/b' }).decode().turns).toEqual([]);
  expect(count({ model: 'a/b', input: 'x', instructions: 'y' }).decode().turns).toHaveLength(2);
  expect(expectRefusal(() => count({ model: 'a/b', previous_response_id: 'resp_1' })).details.param).toBe(
    'previous_response_id',
  );
});

it('a token count reads and writes the number of input tokens', () => {
  expect(protocol.count?.decodeReply({ object: 'response.input_tokens', input_tokens: 51 })).toBe(51);
  expect(protocol.count?.encodeReply(51)).toEqual({ object: 'response.input_tokens', input_tokens: 51 });
  expect(() => protocol.count?.decodeReply({ input_tokens: '51' })).toThrow(/input_tokens/);
  expect(() => protocol.count?.decodeReply([])).toThrow();
});
