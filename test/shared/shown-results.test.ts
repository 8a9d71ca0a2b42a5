/** A picture from a tool, in the message of its result: clients made for OpenRouter write it there. */
import { describe, expect, it } from 'vitest';
import { families, readCall, type Wire } from '../support/families.ts';

const url = 'data:image/png;base64,iVBORw0KGgo=';
const request = {
  model: 'a/b',
  tools: [{ type: 'function', function: { name: 'look' } }],
  messages: [
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    {
      role: 'tool',
      tool_call_id: 'call_1',
      content: [
        { type: 'text', text: 'A chart:' },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ],
};

describe('a picture in the result of a tool, in a chat', () => {
  it.each<[Wire, object]>([
    [
      'messages',
      {
        messages: [
          {},
          {},
          { content: [{ type: 'tool_result', content: [{ type: 'text' }, { type: 'image' }] }] },
        ],
      },
    ],
    [
      'responses',
      {
        input: [
          {},
          {},
          {
            type: 'function_call_output',
            output: [{ type: 'input_text' }, { type: 'input_image', image_url: url }],
          },
        ],
      },
    ],
    [
      'chat-completions',
      {
        messages: [
          {},
          {},
          { role: 'tool', content: 'A chart:\n\nSee file 1.' },
          { role: 'user', content: [{ text: 'This is file 1:' }, { type: 'image_url', image_url: { url } }] },
        ],
      },
    ],
  ])('reaches a model by %s, and nothing is lost', (wire, expected) => {
    const call = readCall('chat-completions', request);
    expect(call.suits?.(families[wire].model)).toBe(false);
    const { body, losses } = families[wire].protocol.upstream.encodeRequest(
      call.decode(),
      families[wire].model,
      undefined,
    );
    expect(body).toMatchObject(expected);
    expect(losses).toEqual([]);
  });

  it('reaches a model by generate-content', () => {
    const { body, losses } = families['generate-content'].protocol.upstream.encodeRequest(
      readCall('chat-completions', request).decode(),
      families['generate-content'].model,
      undefined,
    );
    expect(JSON.stringify(body)).toContain('iVBORw0KGgo=');
    expect(losses).toEqual([]);
  });

  it('is counted as a picture, and not by its characters', () => {
    expect(readCall('chat-completions', request).size).toMatchObject({
      images: 1,
      textBytes: JSON.stringify(request).length - 'iVBORw0KGgo='.length,
    });
  });
});
