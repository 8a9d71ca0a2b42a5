import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { vendor, call, useAnthropic } from './messages-requests.ts';

useAnthropic();

describe('the fake Anthropic, asked something right', () => {
  const createClient = (): Anthropic =>
    new Anthropic({ apiKey: vendor.key, baseURL: vendor.url, maxRetries: 0 });
  const thinking = {
    model: 'claude-opus-4-6',
    max_tokens: 2000,
    thinking: { type: 'enabled' as const, budget_tokens: 1024 },
  };
  const question = { role: 'user' as const, content: 'Where?' };
  const tools = ['find', 'count'].map((name) => ({
    name,
    input_schema: {
      type: 'object' as const,
      properties: name === 'find' ? { town: { type: 'string' } } : {},
    },
  }));

  it('calls the tools it is offered, streamed or not, and accepts its own thinking', async () => {
    const whole = await createClient().messages.create({ ...thinking, messages: [question], tools });
    const streamed = await createClient()
      .messages.stream({ ...thinking, messages: [question], tools })
      .finalMessage();
    for (const { content, stop_reason: reason } of [whole, streamed]) {
      expect({ content, reason }).toMatchObject({
        reason: 'tool_use',
        content: [
          { type: 'thinking', thinking: 'Let me think about that.' },
          { type: 'tool_use', name: 'find', input: { town: 'Whitby' } },
          { type: 'tool_use', name: 'count', input: {} },
        ],
      });
      const results = content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: `R ${block.name}` }]
          : [],
      );
      const messages = [
        question,
        { role: 'assistant' as const, content },
        { role: 'user' as const, content: results },
      ];
      const second = await createClient().messages.create({ ...thinking, tools, messages });
      expect(second.content.at(-1)).toMatchObject({
        type: 'text',
        text: 'find said: R find; count said: R count',
      });
    }
  });

  it.each([
    ['other words', { thinking: 'Let me think.' }],
    ['a shorter signature', (signature: string) => ({ signature: signature.slice(0, -4) })],
    [
      'a signature in the other alphabet',
      (signature: string) => ({ signature: `${signature.slice(0, -1)}_` }),
    ],
    ['a space after the signature', (signature: string) => ({ signature: `${signature} ` })],
  ])('refuses thinking with %s', async (_, change) => {
    const { content } = await createClient().messages.create({ ...thinking, messages: [question] });
    const altered = content.map((block) =>
      block.type === 'thinking'
        ? { ...block, ...(typeof change === 'function' ? change(block.signature) : change) }
        : block,
    );
    const again = { ...thinking, messages: [question, { role: 'assistant', content: altered }, question] };
    expect((await call(again)).json()).toMatchObject({
      error: { message: 'messages.1.content.0: Invalid `signature` in `thinking` block' },
    });
  });
});
