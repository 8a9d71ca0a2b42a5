/**
 * A history from another provider leaves the verbatim lane if its own protocol's provider would refuse it.
 */
import { describe, expect, it } from 'vitest';
import { readCatalogue } from '../../plugins/shared/kit.ts';
import { makeModel as chatModel } from '../chat-completions/bodies.ts';
import { families, readCall } from '../support/families.ts';
import { call, encodeBody, suits, tools } from './moved.ts';

describe('reasoning in a chat', () => {
  const body = {
    model: 'a/b',
    tools,
    messages: [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Seen.' },
    ],
  };

  it('is not sent to OpenAI, which has no field for it', () => {
    const openai = chatModel({ id: 'openai/gpt-4o-mini' });
    expect(suits('chat-completions', body, openai)).toBe(false);
    expect(encodeBody('chat-completions', body, openai)).not.toContain('reasoning_content');
  });

  it('reaches a provider that has one byte for byte', () => {
    expect(
      suits(
        'chat-completions',
        body,
        chatModel({
          id: 'deepseek/deepseek-v4-flash',
          capabilities: { wire: { 'chat-completions': { extras: false } } },
        }),
      ),
    ).toBe(true);
  });
});

describe('an answer as its provider gave it, in a chat', () => {
  const answers = {
    vllm: {
      role: 'assistant',
      content: 'Seen.',
      refusal: null,
      annotations: null,
      audio: null,
      function_call: null,
      tool_calls: [],
      reasoning_content: null,
    },
    openai: { role: 'assistant', content: 'Seen.', refusal: null, annotations: [] },
  };
  const buildConversation = (vendor: keyof typeof answers): object => ({
    model: 'a/b',
    messages: [{ role: 'user', content: 'Look.' }, answers[vendor], { role: 'user', content: 'Again.' }],
  });

  it('goes back to vLLM byte for byte, with its empty list of calls', () => {
    expect(
      suits(
        'chat-completions',
        buildConversation('vllm'),
        chatModel({
          id: 'meta-llama/llama-4',
          capabilities: { wire: { 'chat-completions': { extras: true } } },
        }),
      ),
    ).toBe(true);
  });

  it('goes to OpenAI without that list, which it refuses', () => {
    const openai = chatModel({ id: 'openai/gpt-4o-mini' });
    expect(suits('chat-completions', buildConversation('vllm'), openai)).toBe(false);
    expect(encodeBody('chat-completions', buildConversation('vllm'), openai)).not.toContain('tool_calls');
  });

  it.each(['vllm', 'openai'] as const)(
    'loses nothing elsewhere if %s reported no calls and no citations',
    (vendor) => {
      for (const wire of ['responses', 'messages', 'generate-content'] as const) {
        const { losses } = families[wire].protocol.upstream.encodeRequest(
          readCall('chat-completions', buildConversation(vendor)).decode(),
          families[wire].model,
          undefined,
        );
        expect([wire, losses]).toEqual([wire, []]);
      }
    },
  );
});

describe('reasoning in the content, as Mistral writes it', () => {
  const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }], closed: true };
  const body = {
    model: 'a/b',
    messages: [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'Seen.' }] },
      { role: 'user', content: 'Again.' },
    ],
  };
  const magistral = chatModel({
    id: 'mistral/magistral-small',
    capabilities: { wire: { 'chat-completions': { extras: false } } },
  });

  it('goes back to Mistral byte for byte, and the same if it is translated', () => {
    expect(suits('chat-completions', body, magistral)).toBe(true);
    expect(JSON.parse(encodeBody('chat-completions', body, magistral)).messages).toEqual(body.messages);
  });

  it.each([
    ['reasoning_content', { reasoning_content: 'Hm.' }],
    ['reasoning', { reasoning: 'Hm.' }],
    ['reasoning_details', { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', index: 0 }] }],
  ])('goes back to Mistral as such from a client that was shown it as %s', (_, field) => {
    const [model] = readCatalogue(new URL('../../plugins/providers/catalogue/mistral.json', import.meta.url));
    const [asked, , again] = body.messages;
    const shown = { ...body, messages: [asked, { role: 'assistant', content: 'Seen.', ...field }, again] };
    expect(suits('chat-completions', shown, model)).toBe(false);
    const { closed: _closed, ...plain } = thought;
    const content = [plain, { type: 'text', text: 'Seen.' }];
    expect(JSON.parse(encodeBody('chat-completions', shown, model)).messages).toEqual([
      asked,
      { role: 'assistant', content },
      again,
    ]);
  });

  it.each(['openai/gpt-4o-mini', 'deepseek/deepseek-v4-flash'])(
    'is not sent to %s, and is reported as lost',
    (id) => {
      const model = chatModel({ id });
      expect(suits('chat-completions', body, model)).toBe(false);
      const { body: other, losses } = families['chat-completions'].protocol.upstream.encodeRequest(
        readCall('chat-completions', body).decode(),
        model,
        undefined,
      );
      expect(JSON.stringify(other)).not.toContain('Hm.');
      expect(losses).toEqual([expect.objectContaining({ path: 'turns[1].blocks[0]', code: 'state' })]);
    },
  );

  it.each(['responses', 'messages', 'generate-content'] as const)('is reasoning to %s', (wire) => {
    const { body: answer, losses } = families[wire].protocol.upstream.encodeRequest(
      readCall('chat-completions', body).decode(),
      families[wire].model,
      undefined,
    );
    expect(JSON.stringify(answer)).toContain('Seen.');
    expect(losses.filter(({ code }) => code === 'vendor')).toEqual([]);
  });
});

describe('pictures a model made, in a chat', () => {
  const png = 'iVBORw0KGgo=';
  const sealed = { google: { thought_signature: 'c2VhbA==' } };
  const body = {
    model: 'a/b',
    messages: [
      { role: 'user', content: 'Draw.' },
      {
        role: 'assistant',
        content: '',
        images: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` }, extra_content: sealed },
        ],
      },
      { role: 'user', content: 'Larger.' },
    ],
  };

  it('reach OpenAI in a user turn, since an assistant has no field for them there', () => {
    const openai = chatModel({ id: 'openai/gpt-4o-mini' });
    expect(suits('chat-completions', body, openai)).toBe(false);
    const messages: unknown = JSON.parse(encodeBody('chat-completions', body, openai)).messages;
    expect(messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: '' },
      {
        role: 'user',
        content: [
          { text: 'What the assistant showed:' },
          { image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
      { role: 'user' },
    ]);
    expect(JSON.stringify(messages)).not.toMatch(/"images"|c2VhbA/);
  });

  it('return in place to a provider that has one, and with the signature to its signer', () => {
    const [google, groq] = ['google/gemini-image', 'groq/seer'].map((id) =>
      chatModel({ id, capabilities: { wire: { 'chat-completions': { extras: false } } } }),
    );
    if (!google || !groq) throw new Error('no models');
    expect(suits('chat-completions', body, google)).toBe(true);
    expect(JSON.parse(encodeBody('chat-completions', body, google)).messages).toEqual(body.messages);
    expect(encodeBody('chat-completions', body, groq)).not.toContain('c2VhbA');
    const { body: gemini } = families['generate-content'].protocol.upstream.encodeRequest(
      readCall('chat-completions', body).decode(),
      families['generate-content'].model,
      undefined,
    );
    expect(gemini).toMatchObject({
      contents: [
        {},
        { role: 'model', parts: [{ inlineData: { data: png }, thoughtSignature: 'c2VhbA==' }] },
        {},
      ],
    });
  });
});
