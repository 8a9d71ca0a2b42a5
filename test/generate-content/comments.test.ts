/** Comments of a provider, which make Gemini CLI drop a stream. */
import { expect, it } from 'vitest';
import { openOneReply } from '../support/one-reply.ts';

function buildChunk(text: string, more: object = {}): string {
  return JSON.stringify({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    modelVersion: 'house/model',
  });
}

it('comments between events reach no client of the same protocol', async () => {
  const [first, last] = [buildChunk('One'), buildChunk('two', { finishReason: 'STOP' })];
  const house = await openOneReply('generate-content');
  const { text } = await house.ask('generate-content', [`${first}\n\n: ping`, `${last}\n\n: ping`]);
  expect(text).toBe(`data: ${first}\n\ndata: ${last}\n\n`);
});
