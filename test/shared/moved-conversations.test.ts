/**
 * A history from another provider leaves the verbatim lane if its own protocol's provider would refuse it.
 */
import { describe, expect, it } from 'vitest';
import { modelWith as chatModel } from '../chat-completions/bodies.ts';
import { families, readCall, type Wire } from '../support/families.ts';

function suits(wire: Wire, body: object, model = families[wire].model): boolean {
  const call = readCall(wire, body);
  return !call.carriesState && (call.suits?.(model) ?? true);
}

function sent(wire: Wire, body: object, model = families[wire].model): string {
  return JSON.stringify(
    families[wire].protocol.upstream.encodeRequest(readCall(wire, body).decode(), model, undefined).body,
  );
}

const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const tools = [{ type: 'function', function: { name: 'look' } }];

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
    expect(sent('chat-completions', body, openai)).not.toContain('reasoning_content');
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
  const asked = (vendor: keyof typeof answers): object => ({
    model: 'a/b',
    messages: [{ role: 'user', content: 'Look.' }, answers[vendor], { role: 'user', content: 'Again.' }],
  });

  it('goes back to vLLM byte for byte, with its empty list of calls', () => {
    expect(
      suits(
        'chat-completions',
        asked('vllm'),
        chatModel({
          id: 'meta-llama/llama-4',
          capabilities: { wire: { 'chat-completions': { extras: true } } },
        }),
      ),
    ).toBe(true);
  });

  it('goes to OpenAI without that list, which it refuses', () => {
    const openai = chatModel({ id: 'openai/gpt-4o-mini' });
    expect(suits('chat-completions', asked('vllm'), openai)).toBe(false);
    expect(sent('chat-completions', asked('vllm'), openai)).not.toContain('tool_calls');
  });

  it.each(['vllm', 'openai'] as const)(
    'loses nothing elsewhere if %s reported no calls and no citations',
    (vendor) => {
      for (const wire of ['responses', 'messages', 'generate-content'] as const) {
        const { losses } = families[wire].protocol.upstream.encodeRequest(
          readCall('chat-completions', asked(vendor)).decode(),
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
    expect(JSON.parse(sent('chat-completions', body, magistral)).messages).toEqual(body.messages);
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
    const { body: told, losses } = families[wire].protocol.upstream.encodeRequest(
      readCall('chat-completions', body).decode(),
      families[wire].model,
      undefined,
    );
    expect(JSON.stringify(told)).toContain('Seen.');
    expect(losses.filter(({ code }) => code === 'vendor')).toEqual([]);
  });
});

describe('ids of calls in a chat', () => {
  const mistral = chatModel({
    id: 'mistralai/mistral-large',
    capabilities: { wire: { 'chat-completions': { extras: false, callIds: 'nine' } } },
  });
  const asked = (id: string): object => ({
    model: 'a/b',
    tools,
    messages: [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: null, tool_calls: [{ ...call, id }] },
      { role: 'tool', tool_call_id: id, content: 'Seen.' },
    ],
  });

  it('reach any provider that accepts them unchanged', () => {
    expect(suits('chat-completions', asked('D681PevKs'), mistral)).toBe(true);
    expect(suits('chat-completions', asked('call_1'))).toBe(true);
  });

  it.each(['call_1', 'toolu_01A09q90qw90lq917835lq9'])(
    'are replaced for a provider that requires nine letters and digits: %s',
    (id) => {
      expect(suits('chat-completions', asked(id), mistral)).toBe(false);
      const { messages } = JSON.parse(sent('chat-completions', asked(id), mistral));
      const fresh: unknown = messages[1].tool_calls[0].id;
      expect(fresh).toMatch(/^[a-zA-Z0-9]{9}$/);
      expect(messages[2].tool_call_id).toBe(fresh);
      expect(
        JSON.parse(sent('chat-completions', asked('D681PevKs'), mistral)).messages[1].tool_calls[0].id,
      ).toBe('D681PevKs');
    },
  );
});

describe('the name of a tool beside its result, in a chat', () => {
  const body = {
    model: 'a/b',
    tools,
    messages: [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', name: 'look', content: 'Seen.' },
    ],
  };

  it.each(['responses', 'messages', 'generate-content'] as const)(
    'is no loss to %s, which finds it by the call',
    (wire) => {
      expect(
        families[wire].protocol.upstream.encodeRequest(
          readCall('chat-completions', body).decode(),
          families[wire].model,
          undefined,
        ).losses,
      ).toEqual([]);
    },
  );

  it('is reported as lost if it differs from that of the call', () => {
    const other = {
      ...body,
      messages: body.messages.map((message) =>
        message.role === 'tool' ? { ...message, name: 'see' } : message,
      ),
    };
    expect(
      families.messages.protocol.upstream.encodeRequest(
        readCall('chat-completions', other).decode(),
        families.messages.model,
        undefined,
      ).losses,
    ).toMatchObject([{ path: 'turns[2].name' }]);
    expect(JSON.parse(sent('chat-completions', other)).messages).toEqual(other.messages);
  });

  it('stays in place on its own wire', () => {
    expect(JSON.parse(sent('chat-completions', body)).messages).toEqual(body.messages);
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
    const messages: unknown = JSON.parse(sent('chat-completions', body, openai)).messages;
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
    expect(JSON.parse(sent('chat-completions', body, google)).messages).toEqual(body.messages);
    expect(sent('chat-completions', body, groq)).not.toContain('c2VhbA');
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

describe('reasoning in a response', () => {
  const input = (id: string): object => ({
    model: 'openai/gpt-5.5',
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id, summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { role: 'assistant', content: 'Ahoy' },
      { role: 'user', content: 'Go on' },
    ],
  });
  const made = `rs_${'01a1faecc6a27ed4ba0f1fd21ce51122'}0000`;

  it('that the gateway made an item for reaches no provider, which would not find it', () => {
    expect(suits('responses', input(made))).toBe(false);
    expect(sent('responses', input(made))).not.toContain('"reasoning"');
  });

  it('that the provider stores itself is passed on byte for byte', () => {
    expect(suits('responses', input('rs_68a7c1d9e0f48191b2c3d4e5f60718293a4b5c6d7e8f9012'))).toBe(true);
  });

  it('keeps the id its signature is bound to, whole and streamed', () => {
    const { upstream, client } = families.responses.protocol;
    const item = { id: 'rs_vendor', type: 'reasoning', summary: [], encrypted_content: 'gAAAAABseal' };
    const reply = {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'm',
      output: [
        item,
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Ahoy', annotations: [] }],
        },
      ],
    };
    const context = {
      id: 'k1',
      model: 'a/b',
      created: 1,
      call: readCall('responses', { model: 'a/b', input: 'Hi' }),
    };
    const events = upstream.decodeReply(reply, context.call, families.responses.model);
    expect(client.encodeReply(events, context)).toMatchObject({ output: [item, {}] });
    const encoder = client.encodeEvents(context);
    expect(events.map((event) => encoder.push(event)).join('')).toContain(
      '"id":"rs_vendor","type":"reasoning"',
    );
  });
});

describe('a tool loop that began without reasoning', () => {
  const body = (thinking: object): object => ({
    model: 'a/b',
    max_tokens: 4000,
    thinking,
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'Seen.' }] },
    ],
  });

  it('continues without it if the client asked for it, since the provider requires the first', () => {
    const asked = body({ type: 'enabled', budget_tokens: 2000 });
    expect(suits('messages', asked)).toBe(false);
    expect(sent('messages', asked)).not.toContain('"thinking"');
  });

  it('continues byte for byte if the client did not ask for it', () => {
    expect(suits('messages', body({ type: 'disabled' }))).toBe(true);
  });
});

it("Google's clients get the placeholder signature only on the first call of another vendor's reply", () => {
  const { upstream } = families['chat-completions'].protocol;
  const completion = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'call_2' }] },
        finish_reason: 'tool_calls',
      },
    ],
  };
  const google = readCall('generate-content', { contents: [{ parts: [{ text: 'Look.' }] }] });
  const reply = families['generate-content'].protocol.client.encodeReply(
    upstream.decodeReply(completion, google),
    { id: 'k1', model: 'a/b', created: 1, call: google },
  );
  expect(JSON.stringify(reply).match(/thoughtSignature/g)).toHaveLength(1);
  expect(reply).toMatchObject({
    candidates: [
      {
        content: {
          parts: [
            { functionCall: { id: 'call_1' }, thoughtSignature: 'context_engineering_is_the_way_to_go' },
            { functionCall: { id: 'call_2' } },
          ],
        },
      },
    ],
  });
});
