/** What the demo model does with tools, schemas and pictures. */
import { decode } from 'fast-png';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { UpstreamResponse } from '../../core/index.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { buildExample } from '../../plugins/providers/demo/example.ts';
import { buildRouted } from '../support/exchange.ts';
import { createHost } from '../support/host.ts';
import { createClient, hello, introduction, model, requireTarget } from './demo-client.ts';

const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer', minimum: 3 },
        note: { type: 'string' },
      },
      required: ['city', 'unit', 'days'],
    },
  },
};

describe('its tool calls', () => {
  const tools = [weather];

  it('name the first tool, with a plain value for each required argument', async () => {
    const reply = await createClient().chat.completions.create({ ...hello, tools });
    const [choice] = reply.choices;
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        tool_calls: [{ id: 'call_exchange-1_0', type: 'function', function: { name: 'get_weather' } }],
      },
    });
    const [call] = choice?.message.tool_calls ?? [];
    expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({
      city: 'example',
      unit: 'celsius',
      days: 3,
    });
  });

  it('follow the choice of tool', async () => {
    const other: OpenAI.ChatCompletionFunctionTool = { type: 'function', function: { name: 'other' } };
    const named = await createClient().chat.completions.create({
      ...hello,
      tools: [weather, other],
      tool_choice: { type: 'function', function: { name: 'other' } },
    });
    expect(named.choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'other', arguments: '{}' } },
    ]);
    const none = await createClient().chat.completions.create({ ...hello, tools, tool_choice: 'none' });
    expect(none.choices[0]?.message.tool_calls).toBeUndefined();
  });

  it('are followed by a text that quotes what the tool answered', async () => {
    const reply = await createClient().chat.completions.create({
      model,
      tools,
      messages: [
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"sky":"clear"}' },
      ],
    });
    expect(reply.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: `${introduction} The tool answered: {"sky":"clear"}` },
    });
  });

  it('are put together by the SDK from the pieces of a stream', async () => {
    const stream = createClient().chat.completions.stream({ ...hello, tools });
    const { choices } = await stream.finalChatCompletion();
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({
      city: 'example',
      unit: 'celsius',
      days: 3,
    });
    expect(choices[0]?.finish_reason).toBe('tool_calls');
  });
});

describe('its pictures', () => {
  async function order(
    fields: object,
    cancellation = new Cancellation(),
  ): Promise<UpstreamResponse | undefined> {
    const host = createHost([demo()]);
    const body = JSON.stringify({ model: 'paint', prompt: 'A lighthouse', size: '256x256', ...fields });
    return host.calls.dispatch.promise(
      { method: 'POST', url: 'http://demo.invalid/v1/images/generations', headers: {}, body },
      buildRouted(requireTarget(host, 'demo/paint'), { cancellation }),
    );
  }

  it('take null for what is not said', async () => {
    expect(
      (
        await order({
          size: null,
          quality: null,
          n: null,
          background: null,
          stream: null,
          partial_images: null,
        })
      )?.status,
    ).toBe(200);
  });

  it('leave everybody else a turn between two of them', async () => {
    await order({});
    let turns = 0;
    const count = setInterval(() => (turns += 1), 0);
    await order({ n: 10, size: '1024x1024' });
    clearInterval(count);
    expect(turns).toBeGreaterThan(5);
  });

  it('are a sun before bands, which may be transparent', async () => {
    for (const [background, alphas] of [
      ['opaque', undefined],
      ['transparent', [0, 0, 255]],
    ] as const) {
      const reply: unknown = JSON.parse(
        Buffer.concat(await Array.fromAsync((await order({ background }))?.body ?? [])).toString(),
      );
      const {
        data,
        palette = [],
        ...rest
      } = decode(Buffer.from(JSON.stringify(reply).match(/"b64_json":"([^"]*)"/)?.[1] ?? '', 'base64'));
      expect(rest).toMatchObject({ width: 256, height: 256 });
      const [corner, foot, middle] = [0, 255 * 256, 128 * 256 + 128].map((at) => palette[data[at] ?? 0]);
      expect(new Set([corner, foot, middle].map(String)).size).toBe(3);
      expect([corner, foot, middle].map((colour) => colour?.[3])).toEqual(
        alphas ?? [undefined, undefined, undefined],
      );
    }
  });

  it('are painted no further once their client has disconnected', async () => {
    const left = new Cancellation();
    left.cancel();
    await expect(order({ n: 10 }, left)).rejects.toThrow(/abort/i);
  });
});

describe('the value made up for a schema', () => {
  it.each([
    [{ type: 'string', format: 'email' }, 'someone@example.com'],
    [{ type: 'string', format: 'constructor' }, 'example'],
    [{ type: 'string', minLength: 9 }, 'example..'],
    [{ type: ['null', 'number'], exclusiveMinimum: 7 }, 8],
    [{ type: 'integer', maximum: -4 }, -4],
    [{ type: 'boolean' }, true],
    [{ type: 'array', items: { type: 'integer' }, minItems: 2 }, [1, 1]],
    [{ const: null }, null],
    [{ default: 'kept' }, 'kept'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'example'],
    [
      {
        allOf: [
          { properties: { a: { type: 'boolean' } }, required: ['a'] },
          { properties: { b: { const: 2 } }, required: ['b'] },
        ],
      },
      { a: true, b: 2 },
    ],
    [
      { $defs: { 'a/b': { enum: ['x'] } }, properties: { c: { $ref: '#/$defs/a~1b' } }, required: ['c'] },
      { c: 'x' },
    ],
    [{ type: 'object', required: ['undescribed'] }, { undescribed: 'example' }],
    ['no schema', null],
  ])('%o is given %o', (schema, value) => {
    expect(buildExample(schema)).toEqual(value);
  });

  it('ends a schema that refers to itself where a list or a choice allows it', () => {
    const node = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        parts: { type: 'array', items: { $ref: '#/$defs/node' } },
        next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
      },
      required: ['name', 'parts', 'next'],
    };
    const leaf = { name: 'example', parts: [], next: null };
    expect(buildExample({ $defs: { node }, $ref: '#/$defs/node' })).toEqual(leaf);
    expect(buildExample({ $defs: { node }, type: 'array', items: { $ref: '#/$defs/node' } })).toEqual([leaf]);
    expect(buildExample({ type: 'array', items: { $ref: '#' } })).toEqual([]);
    expect(buildExample({ type: 'array', minItems: 1, items: { $ref: '#' } })).toBeNull();
  });

  it('stays small whatever a schema asks for', () => {
    const greedy = {
      type: 'object',
      properties: { a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' } },
      required: ['a', 'b', 'c'],
    };
    expect(JSON.stringify(buildExample(greedy)).length).toBeLessThan(5000);
    expect(
      JSON.stringify(
        buildExample({ type: 'array', minItems: 1e9, items: { type: 'string', minLength: 1e9 } }),
      ).length,
    ).toBeLessThan(10_000);
  });
});
