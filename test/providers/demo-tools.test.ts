/** What the demo model does with tools, schemas and pictures. */
import { decode, type DecodedPng } from 'fast-png';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { UpstreamResponse } from '../../core/index.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { demo } from '../../plugins/providers/demo.ts';
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
    const target = requireTarget(host, 'demo/paint');
    const wire = { model: 'demo/paint', prompt: 'A lighthouse', quality: 'auto', size: '256x256', ...fields };
    const body = JSON.stringify(wire);
    const { protocol } = target;
    const call = protocol.client.read(wire, body, { operation: 'generate' }, {});
    return host.calls.dispatch.promise(
      { method: 'POST', url: 'http://demo.invalid/images', headers: {}, body },
      { ...buildRouted(target, { cancellation }), protocol, call },
    );
  }

  async function readPictures(response: UpstreamResponse | undefined): Promise<DecodedPng[]> {
    const text = Buffer.concat(await Array.fromAsync(response?.body ?? [])).toString();
    return [...text.matchAll(/"b64_json":"([^"]*)"/g)].map(([, data = '']) =>
      decode(Buffer.from(data, 'base64')),
    );
  }

  const readColours = ({ data, palette = [] }: DecodedPng): string[] =>
    [0, 128 * 256, 255 * 256].map((at) => String(palette[data[at] ?? 0]));

  it('are bands of colour in the size that was asked for, different for each', async () => {
    const pictures = await readPictures(await order({ n: 2 }));
    expect(pictures).toMatchObject([
      { width: 256, height: 256 },
      { width: 256, height: 256 },
    ]);
    expect(new Set(pictures.flatMap(readColours)).size).toBe(6);
  });

  it('leave everybody else a turn between two of them', async () => {
    let turns = 0;
    const count = setInterval(() => (turns += 1), 0);
    expect(await readPictures(await order({ n: 10, size: '1024x1024' }))).toHaveLength(10);
    clearInterval(count);
    expect(turns).toBeGreaterThan(5);
  });

  it('are streamed from their top, unfinished ones first', async () => {
    const pictures = await readPictures(await order({ stream: true, partial_images: 2 }));
    expect(pictures.map(readColours).map((colours) => colours.map((colour) => colour !== '0,0,0'))).toEqual([
      [false, false, false],
      [true, false, false],
      [true, true, true],
    ]);
  });

  it('are streamed no further once their client has disconnected', async () => {
    const left = new Cancellation();
    left.cancel();
    await expect(order({ stream: true, partial_images: 2 }, left).then(readPictures)).rejects.toThrow(
      /abort/i,
    );
  });
});

describe('the value made up for a schema', () => {
  async function build(schema: Record<string, unknown>): Promise<unknown> {
    const { choices } = await createClient().chat.completions.create({
      ...hello,
      response_format: { type: 'json_schema', json_schema: { name: 'value', schema } },
    });
    return JSON.parse(choices[0]?.message.content ?? '');
  }

  it.each([
    [{ type: ['number', 'null'], minimum: 8 }, 8],
    [{ type: 'boolean' }, true],
    [{ type: 'array', items: { type: 'integer' }, minItems: 1 }, [1]],
    [{ const: null }, null],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'example'],
    [
      { $defs: { 'a/b': { enum: ['x'] } }, properties: { c: { $ref: '#/$defs/a~1b' } }, required: ['c'] },
      { c: 'x' },
    ],
    [{ type: 'object', required: ['undescribed'] }, { undescribed: 'example' }],
  ])('%o is given %o', async (schema, value) => {
    expect(await build(schema)).toEqual(value);
  });

  it('ends a schema that refers to itself at a list', async () => {
    const node = {
      type: 'object',
      properties: { name: { type: 'string' }, parts: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['name', 'parts'],
    };
    expect(await build({ $defs: { node }, $ref: '#/$defs/node' })).toEqual({ name: 'example', parts: [] });
  });

  it('stays small whatever a schema asks for', async () => {
    const greedy = {
      type: 'object',
      properties: { a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' } },
      required: ['a', 'b', 'c'],
    };
    expect(JSON.stringify(await build(greedy)).length).toBeLessThan(5000);
  });
});
