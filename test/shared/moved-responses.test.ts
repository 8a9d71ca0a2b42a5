import { describe, expect, it } from 'vitest';
import { families, readCall } from '../support/families.ts';
import { chatReply, responsesReply, textItem } from '../support/replies.ts';
import { call, encodeBody, suits } from './moved.ts';

describe('reasoning in a response', () => {
  const buildInput = (id: string): object => ({
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
    expect(suits('responses', buildInput(made))).toBe(false);
    expect(encodeBody('responses', buildInput(made))).not.toContain('"reasoning"');
  });

  it('that the provider stores itself is passed on byte for byte', () => {
    expect(suits('responses', buildInput('rs_68a7c1d9e0f48191b2c3d4e5f60718293a4b5c6d7e8f9012'))).toBe(true);
  });

  it('keeps the id its signature is bound to, whole and streamed', () => {
    const { upstream, client } = families.responses.protocol;
    const item = { id: 'rs_vendor', type: 'reasoning', summary: [], encrypted_content: 'gAAAAABseal' };
    const reply = responsesReply('', { output: [item, textItem('Ahoy')] });
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
  const buildBody = (thinking: object): object => ({
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
    const asked = buildBody({ type: 'enabled', budget_tokens: 2000 });
    expect(suits('messages', asked)).toBe(false);
    expect(encodeBody('messages', asked)).not.toContain('"thinking"');
  });

  it('continues byte for byte if the client did not ask for it', () => {
    expect(suits('messages', buildBody({ type: 'disabled' }))).toBe(true);
  });
});

it("Google's clients get no signature with calls of another vendor: typed ones would decode it", () => {
  const { upstream } = families['chat-completions'].protocol;
  const message = { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'call_2' }] };
  const completion = chatReply('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
  const google = readCall('generate-content', { contents: [{ parts: [{ text: 'Look.' }] }] });
  const reply = families['generate-content'].protocol.client.encodeReply(
    upstream.decodeReply(completion, google),
    { id: 'k1', model: 'a/b', created: 1, call: google },
  );
  expect(JSON.stringify(reply)).not.toContain('thoughtSignature');
  expect(reply).toMatchObject({
    candidates: [
      {
        content: {
          parts: [{ functionCall: { id: 'call_1' } }, { functionCall: { id: 'call_2' } }],
        },
      },
    ],
  });
});
