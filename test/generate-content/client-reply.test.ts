import { expect, it } from 'vitest';
import { buildBlock } from '../support/events.ts';
import { makeCall, protocol, showingThoughts } from './bodies.ts';
import { encodeChunks, client, end, start, stop, usage } from './client-events.ts';

it('a whole reply to a client has every field that the service promises', () => {
  const call = makeCall(showingThoughts);
  const opaque = [{ vendor: 'google', kind: 'signature', value: 'AAAA' }];
  const events = [
    start,
    ...buildBlock(0, 'reasoning', ['h', 'm'], {}, opaque),
    ...buildBlock(1, 'text', ['Ah', 'oy']),
    ...buildBlock(2, 'image', ['iVBO'], { mediaType: 'image/png' }),
    stop,
    usage,
    end,
  ];
  expect(client.encodeReply(events, { id: 'k7', model: 'a/b', created: 5, call })).toEqual({
    candidates: [
      {
        content: {
          parts: [
            { text: 'hm', thought: true, thoughtSignature: 'AAAA' },
            { text: 'Ahoy' },
            { inlineData: { mimeType: 'image/png', data: 'iVBO' } },
          ],
          role: 'model',
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: expect.objectContaining({
      promptTokenCount: 7,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      totalTokenCount: 12,
      candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
    }),
    modelVersion: 'a/b',
    responseId: 'k7',
  });
});

it("a whole reply to a client keeps Gemini's token counts by modality and its tier, streamed or not", () => {
  const counts = {
    promptTokenCount: 100,
    candidatesTokenCount: 20,
    toolUsePromptTokenCount: 7,
    totalTokenCount: 127,
  };
  const media = {
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 40 },
      { modality: 'VIDEO', tokenCount: 60 },
    ],
    toolUsePromptTokensDetails: [{ modality: 'TEXT', tokenCount: 7 }],
  };
  const usageMetadata = {
    ...counts,
    ...media,
    candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: 20 }],
    trafficType: 'ON_DEMAND',
  };
  const events = protocol.upstream.decodeReply(
    { candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }], usageMetadata },
    makeCall(),
  );
  const reply: unknown = JSON.parse(
    JSON.stringify(client.encodeReply(events, { id: 'k7', model: 'a/b', created: 5, call: makeCall() })),
  );
  expect([reply, encodeChunks(events).at(-1)]).toMatchObject([{ usageMetadata }, { usageMetadata }]);
});

it('a whole reply to a client has no usage if the provider counted none', () => {
  expect(
    client.encodeReply([start, stop, end], { id: 'k7', model: 'a/b', created: 5, call: makeCall() }),
  ).toEqual({
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    modelVersion: 'a/b',
    responseId: 'k7',
  });
});
