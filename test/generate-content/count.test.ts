import { describe, expect, it } from 'vitest';
import { modelWith, protocol } from './bodies.ts';

const { count } = protocol;

describe('a count', () => {
  it('asks about the whole request, by the name the vendor has for the model', () => {
    const asked = count?.encodeRequest(
      {
        model: 'a/b',
        stream: false,
        turns: [
          { role: 'system', blocks: [{ type: 'text', text: 'Hm' }] },
          { role: 'user', blocks: [{ type: 'text', text: 'x' }] },
        ],
        topK: 3,
        user: 'u',
      },
      modelWith(),
    );
    expect(asked).toMatchObject({
      body: {
        generateContentRequest: {
          model: 'models/gemini-3-pro-upstream',
          contents: [{ role: 'user', parts: [{ text: 'x' }] }],
          systemInstruction: { parts: [{ text: 'Hm' }] },
          generationConfig: { topK: 3 },
        },
      },
      losses: [{ path: 'user' }],
    });
  });

  it('is one number, there and back', () => {
    expect(count?.decodeReply(count.encodeReply(42))).toBe(42);
    expect(count?.decodeReply({ totalTokens: 12, promptTokensDetails: [] })).toBe(12);
  });

  it.each([{}, null, { totalTokens: '12' }, { totalTokens: -1 }])('is not in %j', (body) => {
    expect(() => count?.decodeReply(body)).toThrow(/totalTokens/);
  });
});
