/** The official SDK works with the fake vendor as with the real one. */
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { refusals, startVendor, type Vendor } from './chat-completions.ts';

describe('the official SDK', () => {
  let vendor: Vendor;
  let client: OpenAI;
  const messages = [{ role: 'user' as const, content: 'Hello!' }];
  const model = 'gpt-4o-mini';
  beforeAll(async () => {
    vendor = await startVendor();
    client = new OpenAI({ apiKey: vendor.key, baseURL: vendor.url, maxRetries: 0 });
  });
  afterEach(() => vendor.unscript());
  afterAll(() => vendor.close());

  it('reads a plain reply', async () => {
    const reply = await client.chat.completions.create({ model, messages });
    expect(reply).toMatchObject({
      object: 'chat.completion',
      model: 'gpt-4o-mini-2024-07-18',
      choices: [{ finish_reason: 'stop' }],
    });
    expect(reply.choices[0]?.message.content).toMatch(/^Hello from/);
    expect(reply.usage?.total_tokens).toBe(5 + (reply.usage?.completion_tokens ?? NaN));
  });

  it('reads a stream through its helper, to the usage', async () => {
    vendor.script(model, { text: ['Hé', 'llo', ' 日本'] });
    const stream = client.chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    });
    const reply = await stream.finalChatCompletion();
    expect(reply.choices[0]).toMatchObject({ message: { content: 'Héllo 日本' }, finish_reason: 'stop' });
    expect(await stream.totalUsage()).toMatchObject({ prompt_tokens: 5, completion_tokens: 3 });
  });

  it.each([false, true])('reads parallel tool calls, interleaved: %s', async (interleaved) => {
    vendor.script(model, {
      interleaved,
      toolCalls: [
        { name: 'one', id: 'call_one', arguments: ['{"a"', ':1}'] },
        { name: 'two', arguments: '{}' },
      ],
    });
    const tools = ['one', 'two'].map((name) => ({
      type: 'function' as const,
      function: { name, parameters: { type: 'object' } },
    }));
    const streamed = await client.chat.completions.stream({ model, messages, tools }).finalChatCompletion();
    const whole = await client.chat.completions.create({ model, messages, tools });
    for (const reply of [streamed, whole]) {
      expect(reply.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: null,
          tool_calls: [
            { id: 'call_one', function: { name: 'one', arguments: '{"a":1}' } },
            { function: { name: 'two', arguments: '{}' } },
          ],
        },
      });
    }
  });

  it('reads several candidates, a refusal, and log probabilities', async () => {
    vendor.script(model, {
      candidates: [{ text: 'Yes.' }, { refusal: 'I will not.', finish: 'content_filter' }],
    });
    const request = { model, messages, n: 2, logprobs: true, top_logprobs: 1 };
    const streamed = await client.chat.completions.stream(request).finalChatCompletion();
    const whole = await client.chat.completions.create(request);
    for (const { choices } of [streamed, whole]) {
      expect(choices).toMatchObject([
        { message: { content: 'Yes.' } },
        { message: { refusal: 'I will not.' }, finish_reason: 'content_filter' },
      ]);
      expect(choices[0]?.logprobs?.content?.map(({ token }) => token)).toEqual(['Yes', '.']);
    }
  });

  it('reads reasoning before the answer', async () => {
    vendor.script(model, { reasoning: ['Let me', ' see'], text: 'Four.' });
    const reasoning: unknown[] = [];
    for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
      const delta = chunk.choices[0]?.delta;
      if (delta && 'reasoning_content' in delta) reasoning.push(delta.reasoning_content);
    }
    expect(reasoning).toEqual(['Let me', ' see']);
    const whole = await client.chat.completions.create({ model, messages });
    expect(whole.choices[0]?.message).toMatchObject({ content: 'Four.', reasoning_content: 'Let me see' });
    expect(whole.usage?.completion_tokens_details?.reasoning_tokens).toBe(2);
  });

  it('raises the errors it has classes for', async () => {
    vendor.script(model, { reply: refusals.rateLimited });
    await expect(client.chat.completions.create({ model, messages })).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    );
    await expect(client.chat.completions.create({ model: 'none', messages })).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
    const stranger = new OpenAI({ apiKey: 'sk-other', baseURL: vendor.url, maxRetries: 0 });
    await expect(stranger.chat.completions.create({ model, messages })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
  });

  it.each(['data', 'event', 'chunk'] as const)(
    'raises an error that comes inside a stream as %s',
    async (as) => {
      vendor.script(model, { text: ['a', 'b', 'c'], fail: { after: 2, as } });
      const read = async (): Promise<number> => {
        let chunks = 0;
        for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
          chunks += chunk.choices.length;
        return chunks;
      };
      await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError);
    },
  );

  it('lists and finds the models', async () => {
    const listed = await client.models.list();
    expect(listed.data.map(({ id }) => id)).toContain(model);
    expect(await client.models.retrieve(model)).toMatchObject({ id: model, object: 'model' });
  });
});
