/**
 * The main job: the official SDK calls a provider through the gateway, and the balance falls by what the call
 * cost.
 */
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatUsd, parseUsd } from '../../core/index.ts';
import { openHarness, type Harness } from '../support/harness.ts';

const model = 'openai/gpt-4o-mini';
const messages = [{ role: 'user' as const, content: 'Name a bridge.' }];
const tools = ['find', 'count'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters: { type: 'object', properties: {} } },
}));
/** What gpt-4o-mini costs by the provider's own price list, in USD per million tokens. */
const price = { input: parseUsd('0.15'), output: parseUsd('0.60'), cached: parseUsd('0.075') };

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterEach(() => harness.vendor.unscript());
afterAll(() => harness.close());

/** What the account paid for a call, in exact USD. */
async function measurePaid(call: () => Promise<unknown>): Promise<string> {
  const before = parseUsd((await harness.balance()).used.toFixed(9));
  await call();
  return formatUsd(parseUsd((await harness.balance()).used.toFixed(9)) - before);
}

describe('a call', () => {
  it('returns the whole reply, names the model that answered, and costs exactly its usage', async () => {
    harness.vendor.script('gpt-4o-mini', {
      text: ['The Forth Bridge.'],
      usage: { prompt_tokens: 1003, completion_tokens: 77, total_tokens: 1080 },
    });
    const paid = await measurePaid(async () => {
      const reply = await harness.client.chat.completions.create({ model, messages });
      expect(reply).toMatchObject({
        model,
        object: 'chat.completion',
        choices: [{ message: { content: 'The Forth Bridge.' }, finish_reason: 'stop' }],
      });
    });
    expect(paid).toBe(formatUsd((1003n * price.input + 77n * price.output) / 1_000_000n));
  });

  it('costs less for tokens the provider had cached', async () => {
    harness.vendor.script('gpt-4o-mini', {
      text: ['Yes.'],
      usage: {
        prompt_tokens: 2000,
        completion_tokens: 10,
        total_tokens: 2010,
        prompt_tokens_details: { cached_tokens: 1536 },
      },
    });
    const paid = await measurePaid(() => harness.client.chat.completions.create({ model, messages }));
    expect(paid).toBe(
      formatUsd((464n * price.input + 1536n * price.cached + 10n * price.output) / 1_000_000n),
    );
  });

  it("streams word by word through the SDK's helper, and costs exactly its usage", async () => {
    harness.vendor.script('gpt-4o-mini', { text: ['The ', 'Rialto', ' 橋.'] });
    let usage: { prompt: number; completion: number } | undefined;
    const paid = await measurePaid(async () => {
      const stream = harness.client.chat.completions.stream({ model, messages });
      const pieces: string[] = [];
      stream.on('content', (piece) => void pieces.push(piece));
      const reply = await stream.finalChatCompletion();
      expect(pieces).toEqual(['The ', 'Rialto', ' 橋.']);
      expect(reply).toMatchObject({
        model,
        choices: [{ message: { content: 'The Rialto 橋.' }, finish_reason: 'stop' }],
      });
      usage = harness.vendor.journal.at(-1)?.billed;
    });
    expect(usage).toBeDefined();
    expect(paid).toBe(
      formatUsd(
        (BigInt(usage?.prompt ?? 0) * price.input + BigInt(usage?.completion ?? 0) * price.output) /
          1_000_000n,
      ),
    );
  });

  it('carries parallel tool calls, and the turn that answers them', async () => {
    harness.vendor.script(
      'gpt-4o-mini',
      {
        interleaved: true,
        toolCalls: [
          { name: 'find', id: 'call_a', arguments: ['{"q":', '1}'] },
          { name: 'count', id: 'call_b', arguments: '{}' },
        ],
      },
      { text: ['Two.'] },
    );
    const first = await harness.client.chat.completions
      .stream({ model, messages, tools })
      .finalChatCompletion();
    const asked = first.choices[0]?.message;
    expect(asked?.tool_calls).toMatchObject([
      { id: 'call_a', function: { name: 'find', arguments: '{"q":1}' } },
      { id: 'call_b', function: { name: 'count' } },
    ]);
    const results = (asked?.tool_calls ?? []).map(({ id }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: '1',
    }));
    const second = await harness.client.chat.completions.create({
      model,
      messages: [...messages, { role: 'assistant', tool_calls: asked?.tool_calls ?? [] }, ...results],
      tools,
    });
    expect(second.choices[0]?.message.content).toBe('Two.');
  });

  it('receives the usage chunk in its stream only if it asks for it', async () => {
    const streamChunks = async (wanted: boolean): Promise<OpenAI.ChatCompletionChunk[]> => {
      const stream = await harness.client.chat.completions.create({
        model,
        messages,
        stream: true,
        ...(wanted ? { stream_options: { include_usage: true } } : {}),
      });
      return Array.fromAsync(stream);
    };
    expect((await streamChunks(true)).filter(({ choices }) => choices.length === 0)).toMatchObject([
      { usage: { prompt_tokens: expect.any(Number) } },
    ]);
    const without = await streamChunks(false);
    expect(without.filter(({ choices }) => choices.length === 0)).toEqual([]);
    expect(without.filter(({ usage }) => usage)).toEqual([]);
    expect(new Set(without.map(({ id }) => id)).size).toBe(1);
  });

  it('always asks the provider for usage', async () => {
    await Array.fromAsync(await harness.client.chat.completions.create({ model, messages, stream: true }));
    expect(JSON.parse(harness.vendor.requests.at(-1)?.body.toString() ?? '')).toMatchObject({
      stream_options: { include_usage: true },
    });
  });
});

describe('the listing', () => {
  it('lists every model in the chat style, and finds each by id, its slash encoded or plain', async () => {
    const listed = await Array.fromAsync(harness.client.models.list());
    expect(listed.map(({ id }) => id)).toContain(model);
    expect(await harness.client.models.retrieve(model)).toMatchObject({
      id: model,
      object: 'model',
      owned_by: 'openai',
    });
    expect(await (await fetch(`${harness.gateway.url}/v1/models/${model}`)).json()).toMatchObject({
      id: model,
    });
    await expect(harness.client.models.retrieve('openai/none')).rejects.toMatchObject({ status: 404 });
  });
});

describe('an error of the provider', () => {
  it("about the client's content keeps the provider's own message and field", async () => {
    harness.vendor.script('gpt-4o-mini', {
      reply: {
        status: 400,
        body: {
          error: {
            message: 'The image is broken.',
            type: 'invalid_request_error',
            param: 'messages[0].content',
            code: 'invalid_image',
          },
        },
      },
    });
    await expect(harness.client.chat.completions.create({ model, messages })).rejects.toMatchObject({
      status: 400,
      param: 'messages[0].content',
      message: expect.stringContaining('The image is broken.'),
    });
  });

  it.each([401, 402, 403])('about our own credential (%i) is never shown', async (status) => {
    harness.vendor.script('gpt-4o-mini', {
      reply: {
        status,
        body: {
          error: {
            message: 'Incorrect API key provided: sk-secret',
            type: 'x',
            param: null,
            code: 'invalid_api_key',
          },
        },
      },
    });
    const refusal: unknown = await harness.client.chat.completions
      .create({ model, messages })
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ status: 502 });
    expect(JSON.stringify(refusal)).not.toContain('sk-secret');
  });

  it('about its rate limit keeps retry-after', async () => {
    harness.vendor.script('gpt-4o-mini', {
      reply: {
        status: 429,
        headers: { 'retry-after': '2' },
        body: {
          error: {
            message: 'Rate limit for org-secret',
            type: 'requests',
            param: null,
            code: 'rate_limit_exceeded',
          },
        },
      },
    });
    const response = await harness.post({ model, messages });
    expect([
      response.status,
      response.headers.get('retry-after'),
      response.headers.get('x-should-retry'),
    ]).toEqual([429, '2', null]);
    expect(await response.text()).not.toContain('org-secret');
  });

  it('costs nothing', async () => {
    harness.vendor.script('gpt-4o-mini', { reply: { status: 500, body: 'oops' } });
    expect(
      await measurePaid(() =>
        harness.client.chat.completions.create({ model, messages }).catch(() => undefined),
      ),
    ).toBe('0');
  });
});
