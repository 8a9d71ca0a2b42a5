import { describe, expect, it } from 'vitest';
import { toClientPath } from '../../core/loss.ts';
import { makeCall, protocol, version } from './bodies.ts';

describe('a request of this protocol on another', () => {
  it('knows the path of each field', () => {
    const { turns: list, tools } = makeCall({
      system: [{ type: 'text', text: 's' }],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'y' }] },
          ],
        },
      ],
    }).decode();
    expect([
      list.map(({ at }) => at),
      list.flatMap(({ blocks }) => blocks.map(({ at }) => at)),
      tools?.map(({ at }) => at),
    ]).toEqual([
      ['system', 'messages[0]'],
      ['system[0]', 'messages[0].content[0]', 'messages[0].content[1]'],
      ['tools[0]'],
    ]);
    const [, message] = list;
    expect(message?.blocks[1]).toMatchObject({ content: [{ at: 'messages[0].content[1].content[0]' }] });
  });

  it("keeps the digits of a tool's input", () => {
    const body =
      '{"model":"a/b","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use",' +
      '"id":"a","name":"look","input":{"id":12345678901234567890}}]}]}';
    const [turn] = protocol.client
      .read(JSON.parse(body), body, { operation: 'generate' }, version)
      .decode().turns;
    expect(turn?.blocks).toMatchObject([{ arguments: '{"id":12345678901234567890}' }]);
  });

  it.each([
    [{ thinking: { type: 'enabled', budget_tokens: 4000 }, max_tokens: 5000 }, { budget: 4000 }],
    [
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'max' } },
      { effort: 'max', display: 'summary' },
    ],
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }, { effort: 'none' }],
    [{ output_config: { effort: 'low' } }, { effort: 'low' }],
    [{}, undefined],
  ])('asks for reasoning by %j', (fields, reasoning) => {
    expect(makeCall(fields).decode().reasoning).toEqual(reasoning);
  });

  it.each([
    [{ thinking: { type: 'disabled' } }, 'thinking'],
    [{ output_config: { effort: 'low' } }, 'output_config.effort'],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }, 'output_config.effort'],
  ])('names an effort as the client did that asked by %j', (fields, name) => {
    expect(toClientPath('reasoning.effort', makeCall(fields).decode(), protocol.client.fieldNames)).toBe(
      name,
    );
  });

  it('has a format that the client wrote by its older name, and names it so', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } };
    const older = makeCall({ output_format: format }).decode();
    expect(older).toMatchObject({ format: { type: 'schema', schema: format.schema } });
    expect(toClientPath('format', older, { ...protocol.client.fieldNames, ...older.names })).toBe(
      'output_format',
    );
    const both = makeCall({ output_config: { format }, output_format: { type: 'other' } }).decode();
    expect(both).toMatchObject({ format: { type: 'schema' }, vendor: { messages: { output_format: {} } } });
  });

  it('has its fields under their canonical names', () => {
    const request = makeCall({
      temperature: 1,
      top_p: 0.5,
      top_k: 3,
      stop_sequences: ['x'],
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
      tools: [
        { name: 'look', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    }).decode();
    expect(request).toMatchObject({
      temperature: 1,
      topP: 0.5,
      topK: 3,
      stop: ['x'],
      user: 'u',
      serviceTier: 'default',
      outputLimit: 100,
      parallelToolCalls: false,
      tools: [{ type: 'function' }, { type: 'hosted', kind: 'web-search' }],
      toolChoice: { mode: 'required' },
      format: { type: 'schema', schema: { type: 'object' } },
    });
  });
});
