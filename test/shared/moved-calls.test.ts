import { describe, expect, it } from 'vitest';
import { makeModel as chatModel } from '../chat-completions/bodies.ts';
import { families, readCall } from '../support/families.ts';
import { call, encodeBody, suits, tools } from './moved.ts';

const mistral = chatModel({
  id: 'mistralai/mistral-large',
  capabilities: { wire: { 'chat-completions': { extras: false, callIds: 'nine' } } },
});
const buildConversation = (id: string): object => ({
  model: 'a/b',
  tools,
  messages: [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id }] },
    { role: 'tool', tool_call_id: id, content: 'Seen.' },
  ],
});

it('ids of calls in a chat reach any provider that accepts them unchanged', () => {
  expect(suits('chat-completions', buildConversation('D681PevKs'), mistral)).toBe(true);
  expect(suits('chat-completions', buildConversation('call_1'))).toBe(true);
});

it.each(['call_1', 'toolu_01A09q90qw90lq917835lq9'])(
  'ids of calls in a chat are replaced for a provider that requires nine letters and digits: %s',
  (id) => {
    expect(suits('chat-completions', buildConversation(id), mistral)).toBe(false);
    const { messages } = JSON.parse(encodeBody('chat-completions', buildConversation(id), mistral));
    const fresh: unknown = messages[1].tool_calls[0].id;
    expect(fresh).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(messages[2].tool_call_id).toBe(fresh);
    expect(
      JSON.parse(encodeBody('chat-completions', buildConversation('D681PevKs'), mistral)).messages[1]
        .tool_calls[0].id,
    ).toBe('D681PevKs');
  },
);

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
    expect(JSON.parse(encodeBody('chat-completions', other)).messages).toEqual(other.messages);
  });

  it('stays in place on its own wire', () => {
    expect(JSON.parse(encodeBody('chat-completions', body)).messages).toEqual(body.messages);
  });
});
