import { decode } from 'fast-png';
import OpenAI, { BadRequestError } from 'openai';
import { describe, expect, it } from 'vitest';
import type { Routed, Target, UpstreamResponse } from '../../core/index.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { exampleOf } from '../../plugins/providers/demo/example.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { routed } from '../support/exchange.ts';
import { hostWith, type TestHost } from '../support/host.ts';
import { plainProtocol } from '../support/plain-protocol.ts';

/** Cancelled when the signal fires. */
function following(signal: AbortSignal | null | undefined): Cancellation {
  const cancellation = new Cancellation();
  signal?.addEventListener('abort', () => cancellation.cancel());
  return cancellation;
}

const introduction =
  "This is Tollgate's demo model. It answers offline and knows nothing but what you send it.";

function targetIn(host: TestHost, model: string): Target {
  const [offer] = host.catalog.find(model);
  if (!offer) throw new Error(`no ${model}`);
  return { ...offer, protocol: plainProtocol };
}

async function ask(host: TestHost, exchange: Routed, body: string): Promise<UpstreamResponse | undefined> {
  return host.calls.dispatch.promise(
    { method: 'POST', url: 'http://demo.invalid/v1/chat/completions', headers: {}, body },
    exchange,
  );
}

/** The official SDK, with the demo model at the other end of its `fetch`. */
function clientOf(host: TestHost = hostWith([demo({ pace: 0 })])): OpenAI {
  return new OpenAI({
    apiKey: 'unused',
    maxRetries: 0,
    async fetch(_url, init) {
      const exchange = routed(targetIn(host, 'demo/echo'), { cancellation: following(init?.signal) });
      const response = await ask(host, exchange, String(init?.body));
      if (!response) throw new Error('nobody answered');
      const headers = { 'content-type': String(response.headers['content-type']) };
      return new Response(ReadableStream.from(response.body), { status: response.status, headers });
    },
  });
}

const model = 'echo';
const hello = { model, messages: [{ role: 'user' as const, content: 'hello' }] };

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

describe('the demo provider', () => {
  it('offers one cheap text model', () => {
    const { model: facts, price } = targetIn(hostWith([demo()]), 'demo/echo');
    expect(facts).toMatchObject({
      upstream: 'echo',
      output: ['text'],
      description: expect.stringContaining('offline'),
    });
    expect(price).toEqual({ input: 100_000_000n, output: 400_000_000n, tiers: [] });
  });

  it('answers for its own model alone', async () => {
    const host = hostWith([groq({ apiKey: 'k' }), demo()]);
    expect(
      await ask(host, routed(targetIn(host, 'groq/llama-3.1-8b-instant')), JSON.stringify(hello)),
    ).toBeUndefined();
  });

  it('marks the attempt as sent, as every transport does', async () => {
    const host = hostWith([demo()]);
    const exchange = routed(targetIn(host, 'demo/echo'));
    await ask(host, exchange, JSON.stringify(hello));
    expect(exchange.attempt.sent).toBe(true);
  });
});

describe('its JSON reply', () => {
  it('says what it is and quotes what was said', async () => {
    const { created, id, object, choices } = await clientOf().chat.completions.create(hello);
    expect({ created, id, object }).toEqual({
      created: Date.UTC(2026, 6, 2) / 1000,
      id: 'chatcmpl-exchange-1',
      object: 'chat.completion',
    });
    expect(choices).toMatchObject([
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: `${introduction} You said: hello` },
      },
    ]);
  });

  it('is the same for the same request', async () => {
    const client = clientOf();
    expect(await client.chat.completions.create(hello)).toEqual(await client.chat.completions.create(hello));
  });

  it('quotes the last user message, its text parts joined, and owns up to what it cannot read', async () => {
    const reply = await clientOf().chat.completions.create({
      model,
      messages: [
        { role: 'user', content: 'first' },
        { role: 'assistant', content: 'yes?' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is ' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'text', text: 'this?' },
          ],
        },
      ],
    });
    expect(reply.choices[0]?.message.content).toBe(
      `${introduction} It cannot read the attachment you sent. You said: what is this?`,
    );
  });

  it('quotes only the beginning of a long message', async () => {
    const reply = await clientOf().chat.completions.create({
      model,
      messages: [{ role: 'user', content: `x${'😀'.repeat(5000)}` }],
    });
    const content = reply.choices[0]?.message.content ?? '';
    expect(content.endsWith('😀…')).toBe(true);
    expect(content.isWellFormed()).toBe(true);
    expect(content.length).toBeLessThan(700);
  });

  it('counts a token for four bytes, and media not at all', async () => {
    const plain = await clientOf().chat.completions.create(hello);
    const prompt = Math.ceil(JSON.stringify({ messages: hello.messages }).length / 4);
    const answer = Math.ceil(Buffer.byteLength(plain.choices[0]?.message.content ?? '') / 4);
    expect(plain.usage).toEqual({
      prompt_tokens: prompt,
      completion_tokens: answer,
      total_tokens: prompt + answer,
    });
    const pictured = (bytes: number) =>
      clientOf().chat.completions.create({
        model,
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: `data:,${'A'.repeat(bytes)}` } }],
          },
        ],
      });
    expect((await pictured(10)).usage).toEqual((await pictured(10_000)).usage);
  });

  it('keeps to the output limit, under either name', async () => {
    for (const limit of [{ max_tokens: 3 }, { max_completion_tokens: 3 }]) {
      const reply = await clientOf().chat.completions.create({ ...hello, ...limit });
      expect(reply.choices[0]).toMatchObject({
        finish_reason: 'length',
        message: { content: introduction.slice(0, 12) },
      });
      expect(reply.usage?.completion_tokens).toBe(3);
    }
    expect(
      (await clientOf().chat.completions.create({ ...hello, max_tokens: 1000 })).choices[0]?.finish_reason,
    ).toBe('stop');
  });

  it('ends before the first stop sequence it would say', async () => {
    const reply = await clientOf().chat.completions.create({
      ...hello,
      stop: ['You said', 'demo', 'unsaid'],
    });
    expect(reply.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: "This is Tollgate's " },
    });
  });

  it('has as many choices as were asked for, and counts them all', async () => {
    const [one, three] = await Promise.all([
      clientOf().chat.completions.create(hello),
      clientOf().chat.completions.create({ ...hello, n: 3 }),
    ]);
    expect(three.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(three.usage?.completion_tokens).toBe((one.usage?.completion_tokens ?? 0) * 3);
  });

  it('is JSON if the client asks for JSON', async () => {
    const loose = await clientOf().chat.completions.create({
      ...hello,
      response_format: { type: 'json_object' },
    });
    expect(JSON.parse(loose.choices[0]?.message.content ?? '')).toEqual({
      note: introduction,
      you_said: 'hello',
    });
    const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
    const strict = await clientOf().chat.completions.create({
      ...hello,
      response_format: { type: 'json_schema', json_schema: { name: 'reply', schema } },
    });
    expect(JSON.parse(strict.choices[0]?.message.content ?? '')).toEqual({ answer: 'example' });
  });
});

describe('its tool calls', () => {
  const tools = [weather];

  it('name the first tool, with a plain value for each required argument', async () => {
    const reply = await clientOf().chat.completions.create({ ...hello, tools });
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
    const named = await clientOf().chat.completions.create({
      ...hello,
      tools: [weather, other],
      tool_choice: { type: 'function', function: { name: 'other' } },
    });
    expect(named.choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'other', arguments: '{}' } },
    ]);
    const none = await clientOf().chat.completions.create({ ...hello, tools, tool_choice: 'none' });
    expect(none.choices[0]?.message.tool_calls).toBeUndefined();
  });

  it('are followed by a text that quotes what the tool answered', async () => {
    const reply = await clientOf().chat.completions.create({
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
    const stream = clientOf().chat.completions.stream({ ...hello, tools });
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

describe('its stream', () => {
  async function chunksOf(
    request: Partial<OpenAI.ChatCompletionCreateParamsStreaming>,
  ): Promise<OpenAI.ChatCompletionChunk[]> {
    return Array.fromAsync(await clientOf().chat.completions.create({ ...hello, ...request, stream: true }));
  }

  it('says word by word what the JSON reply says at once', async () => {
    const chunks = await chunksOf({});
    const whole = await clientOf().chat.completions.create(hello);
    const deltas = chunks.map(({ choices }) => choices[0]?.delta.content ?? '');
    expect(deltas.join('')).toBe(whole.choices[0]?.message.content);
    expect(deltas.filter(Boolean).every((piece) => /^\S+ ?$/.test(piece))).toBe(true);
    expect(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size).toBe(1);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason).filter(Boolean)).toEqual(['stop']);
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
  });

  it('ends with the usage that was asked for', async () => {
    const chunks = await chunksOf({ stream_options: { include_usage: true } });
    const whole = await clientOf().chat.completions.create(hello);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  it('keeps to limit and number of choices', async () => {
    const chunks = await chunksOf({ max_tokens: 2, n: 2 });
    for (const index of [0, 1]) {
      const own = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('This is ');
      expect(own.at(-1)?.finish_reason).toBe('length');
    }
  });

  it('ends with [DONE]', async () => {
    const host = hostWith([demo({ pace: 0 })]);
    const response = await ask(
      host,
      routed(targetIn(host, 'demo/echo')),
      JSON.stringify({ ...hello, stream: true }),
    );
    const text = Buffer.concat(await Array.fromAsync(response?.body ?? [])).toString();
    expect(text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
  });

  it.each([0, 60_000])('stops at once when the client disconnects, %i ms between its words', async (pace) => {
    const host = hostWith([demo({ pace })]);
    const gone = new AbortController();
    const exchange = routed(targetIn(host, 'demo/echo'), { cancellation: following(gone.signal) });
    const response = await ask(host, exchange, JSON.stringify({ ...hello, stream: true }));
    const frames = response?.body[Symbol.asyncIterator]();
    expect((await frames?.next())?.done).toBe(false);
    const next = frames?.next();
    gone.abort();
    await next?.catch(() => undefined);
    await expect(Promise.resolve(next).then(() => frames?.next())).rejects.toThrow(/abort/i);
  });

  it('pauses between words as long as the option says', async () => {
    const started = performance.now();
    await Array.fromAsync(
      await clientOf(hostWith([demo({ pace: 5 })])).chat.completions.create({
        ...hello,
        max_tokens: 10,
        stream: true,
      }),
    );
    expect(performance.now() - started).toBeGreaterThan(20);
  });
});

describe('its pictures', () => {
  async function order(
    fields: object,
    cancellation = new Cancellation(),
  ): Promise<UpstreamResponse | undefined> {
    const host = hostWith([demo()]);
    const body = JSON.stringify({ model: 'paint', prompt: 'A lighthouse', size: '256x256', ...fields });
    return host.calls.dispatch.promise(
      { method: 'POST', url: 'http://demo.invalid/v1/images/generations', headers: {}, body },
      routed(targetIn(host, 'demo/paint'), { cancellation }),
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

describe('a request that makes no sense', () => {
  it.each([
    [{ model, messages: [] }, 'messages'],
    [{ model, messages: [{ role: 'nobody', content: 'x' }] }, 'messages[0].role'],
    [{ ...hello, max_tokens: 0 }, 'max_tokens'],
    [{ ...hello, n: 0 }, 'n'],
  ])('is refused as a vendor would: %o', async (request, param) => {
    const host = hostWith([demo()]);
    const response = await ask(host, routed(targetIn(host, 'demo/echo')), JSON.stringify(request));
    const body: unknown = JSON.parse(Buffer.concat(await Array.fromAsync(response?.body ?? [])).toString());
    expect(response?.status).toBe(400);
    expect(body).toMatchObject({
      error: { type: 'invalid_request_error', param, message: expect.stringContaining(param) },
    });
  });

  it('is an error the SDK knows', async () => {
    await expect(clientOf().chat.completions.create({ model, messages: [] })).rejects.toBeInstanceOf(
      BadRequestError,
    );
  });

  it('is reported as invalid if it is no JSON', async () => {
    const host = hostWith([demo()]);
    expect((await ask(host, routed(targetIn(host, 'demo/echo')), '{"model":'))?.status).toBe(400);
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
    expect(exampleOf(schema)).toEqual(value);
  });

  it('stays small whatever a schema asks for', () => {
    const greedy = {
      type: 'object',
      properties: { a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' } },
      required: ['a', 'b', 'c'],
    };
    expect(JSON.stringify(exampleOf(greedy)).length).toBeLessThan(5000);
    expect(
      JSON.stringify(exampleOf({ type: 'array', minItems: 1e9, items: { type: 'string', minLength: 1e9 } }))
        .length,
    ).toBeLessThan(10_000);
  });
});
