import { expect, it } from 'vitest';
import { system, user } from '../support/turns.ts';
import { makeModel, protocol } from './bodies.ts';

const { count } = protocol;

it("a token count sends the whole request, with the vendor's name of the model", () => {
  const asked = count?.encodeRequest(
    {
      model: 'a/b',
      stream: false,
      turns: [system('Hm'), user('x')],
      topK: 3,
      user: 'u',
    },
    makeModel(),
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

it('a token count encodes and decodes one number', () => {
  expect(count?.decodeReply(count.encodeReply(42))).toBe(42);
  expect(count?.decodeReply({ totalTokens: 12, promptTokensDetails: [] })).toBe(12);
});

it.each([{}, null, { totalTokens: '12' }, { totalTokens: -1 }])(
  'a token count refuses %j as a reply, because it has no count',
  (body) => {
    expect(() => count?.decodeReply(body)).toThrow(/totalTokens/);
  },
);
