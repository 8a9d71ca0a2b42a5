import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, Tool } from '../../core/index.ts';
import { assistant, call, system, user } from '../support/turns.ts';
import { makeCapable, send, look } from './bodies.ts';

describe('tools', () => {
  const sendTools = (tools: Tool[], more: Partial<CanonicalRequest> = {}): ReturnType<typeof send> =>
    send({ tools, ...more });

  it('get an object schema, and a name that the wire accepts', () => {
    const { body } = sendTools([
      { type: 'function', name: 'a.b:c', description: 'd' },
      {
        type: 'function',
        name: 'look',
        schema: { properties: { x: {} }, additionalProperties: false },
        strict: true,
      },
    ]);
    expect(body.tools).toEqual([
      {
        name: expect.stringMatching(/^a_b_c_[0-9a-f]{16}$/),
        description: 'd',
        input_schema: { type: 'object', properties: {} },
      },
      {
        name: 'look',
        input_schema: { type: 'object', properties: { x: {} }, additionalProperties: false },
        strict: true,
      },
    ]);
  });

  it('with free text are offered as functions with that text as their argument', () => {
    const grammar = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
    const { body, lost } = sendTools(
      [{ type: 'custom', name: 'patch', description: 'Patch.', format: grammar }],
      {
        turns: [user('Go'), assistant(call('a', 'patch', { arguments: '*** Begin', custom: true }))],
      },
    );
    expect(body.tools).toMatchObject([
      {
        name: 'patch',
        description: 'Patch.\n\nThe input follows this grammar (lark):\nstart: "a"',
        input_schema: { required: ['input'] },
      },
    ]);
    expect(body.messages).toMatchObject([{}, { content: [{ input: { input: '*** Begin' } }] }]);
    expect(lost).toEqual(['tools[0].format']);
  });

  it('are offered and asked for in words, without those not chosen, if the model refuses a demand', () => {
    const willing = makeCapable({ wire: { messages: { forcesTools: false } } });
    const tools: Tool[] = [look, { type: 'function', name: 'other' }];
    const choose = (toolChoice: CanonicalRequest['toolChoice']): ReturnType<typeof send> =>
      send({ tools, toolChoice, parallelToolCalls: false }, willing);
    const auto = { type: 'auto', disable_parallel_tool_use: true };
    const one = choose({ mode: 'one', names: ['look'] });
    expect(one.body).toMatchObject({ tools: [{ name: 'look' }], tool_choice: auto });
    expect(one.lost).toEqual(['toolChoice']);
    const any = choose({ mode: 'required' });
    expect(any.body).toMatchObject({ tools: [{ name: 'look' }, { name: 'other' }], tool_choice: auto });
    expect(any.lost).toEqual(['toolChoice']);
    expect([one, any].map(({ body }) => body.system)).toEqual([
      'Do not answer in words: call the tool "look".',
      'Do not answer in words: call one of the tools "look", "other".',
    ]);
    const free = choose({ mode: 'auto' });
    expect([free.lost, free.body.system]).toEqual([[], undefined]);
  });

  it.each<[NonNullable<CanonicalRequest['toolChoice']>, object]>([
    [{ mode: 'auto' }, { type: 'auto' }],
    [{ mode: 'none' }, { type: 'none' }],
    [{ mode: 'required' }, { type: 'any' }],
    [
      { mode: 'one', names: ['look'] },
      { type: 'tool', name: 'look' },
    ],
    [{ mode: 'subset', names: ['look'], required: true }, { type: 'any' }],
    [{ mode: 'subset', names: ['look'] }, { type: 'auto' }],
  ])('are chosen by %j', (toolChoice, wire) => {
    const { body } = sendTools([look, { type: 'function', name: 'other' }], { toolChoice });
    expect(body.tool_choice).toEqual(wire);
    expect(body.tools).toHaveLength(toolChoice.mode === 'subset' ? 1 : 2);
  });

  it('of Google are offered beside the callable functions', () => {
    const search: Tool = {
      type: 'hosted',
      protocol: 'generate-content',
      kind: 'web-search',
      value: { googleSearch: {} },
    };
    const { body, lost } = sendTools([look, { type: 'function', name: 'other' }, search], {
      toolChoice: { mode: 'subset', names: ['look'] },
    });
    expect([body.tools, lost]).toMatchObject([[{ name: 'look' }, { type: 'web_search_20250305' }], []]);
  });

  it('are called one at a time if the client wants that', () => {
    expect(sendTools([look], { parallelToolCalls: false }).body.tool_choice).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    });
    expect(
      sendTools([look], { parallelToolCalls: false, toolChoice: { mode: 'required' } }).body.tool_choice,
    ).toEqual({ type: 'any', disable_parallel_tool_use: true });
    expect(
      sendTools([look], { parallelToolCalls: false, toolChoice: { mode: 'none' } }).body.tool_choice,
    ).toEqual({ type: 'none' });
  });

  it('of another provider are reported as lost, except a search both sides have', () => {
    const search: Tool = {
      type: 'hosted',
      protocol: 'responses',
      kind: 'web-search',
      value: { type: 'web_search' },
    };
    const { body, lost } = send({ tools: [search, look] }, makeCapable({ hosted: [] }));
    expect([body.tools, lost]).toMatchObject([[{ name: 'look' }], ['tools[0]']]);
    const { body: searching } = send({ tools: [search] });
    expect(searching.tools).toEqual([{ type: 'web_search_20250305', name: 'web_search' }]);
  });
});

describe('structured output', () => {
  it('is a schema with closed objects, with constraints the wire cannot check in the prompt', () => {
    const properties = {
      age: { type: 'integer', minimum: 3, description: 'Years' },
      kind: {
        oneOf: [
          { type: 'string', format: 'email' },
          { type: 'string', format: 'x' },
        ],
      },
      list: { type: 'array', minItems: 2, items: { type: 'object', properties: {} } },
    };
    const schema = { type: 'object', $schema: 'x', properties };
    expect(send({ format: { type: 'schema', name: 'n', schema } })).toMatchObject({
      lost: ['format.schema'],
      body: {
        output_config: {
          format: {
            type: 'json_schema',
            schema: {
              type: 'object',
              additionalProperties: false,
              properties: {
                age: { type: 'integer', description: 'Years\n\n{minimum: 3}' },
                kind: {
                  anyOf: [
                    { type: 'string', format: 'email' },
                    { type: 'string', description: '{format: "x"}' },
                  ],
                },
                list: {
                  type: 'array',
                  description: '{minItems: 2}',
                  items: { type: 'object', properties: {}, additionalProperties: false },
                },
              },
            },
          },
        },
      },
    });
  });

  it('without a schema asks for any JSON object that is not empty', () => {
    expect(send({ format: { type: 'schema', name: 'n', schema: undefined } })).toMatchObject({
      body: { system: 'Answer with one valid JSON object and nothing else.' },
      lost: ['format'],
    });
  });

  it('that the wire or the model lacks goes into the prompt, and the loss is reported', () => {
    const json = send({
      format: { type: 'json' },
      turns: [system('Be brief.'), user('x')],
    });
    expect([json.body.system, json.lost]).toEqual([
      'Be brief.\n\nAnswer with one valid JSON object and nothing else.',
      ['format'],
    ]);
    const plain = makeCapable({ structuredOutput: false });
    expect(send({ format: { type: 'schema', schema: { type: 'object' } } }, plain)).toMatchObject({
      body: { system: expect.stringContaining('{"type":"object"}') },
      lost: ['format'],
    });
  });
});
