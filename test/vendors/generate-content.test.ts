import { GoogleGenAI, type Content, type Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { current, vendor, useGoogle } from './generate-content-requests.ts';

useGoogle();

describe('the fake Google, asked something right', () => {
  const createClient = (): GoogleGenAI =>
    new GoogleGenAI({ apiKey: vendor.key, httpOptions: { baseUrl: vendor.url } });
  const tools = [
    {
      functionDeclarations: ['find', 'count', 'read'].map((name) => ({
        name,
        parametersJsonSchema: { type: 'object', properties: { town: { type: 'string' } } },
      })),
    },
  ];
  const question: Content = { role: 'user', parts: [{ text: 'Where?' }] };
  const settings = { tools, thinkingConfig: { includeThoughts: true } };

  async function requestParts(streamed: boolean, contents: Content[]): Promise<Part[]> {
    const request = { model: current, contents, config: settings };
    const replies = streamed
      ? await Array.fromAsync(await createClient().models.generateContentStream(request))
      : [await createClient().models.generateContent(request)];
    return replies.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  }

  it.each([false, true])(
    'calls the tools it is offered, and accepts its own signatures, streamed: %s',
    async (streamed) => {
      const parts = (await requestParts(streamed, [question])).filter(({ thought }) => !thought);
      const calls = parts.filter(({ functionCall }) => functionCall);
      expect(
        calls.map(({ functionCall, thoughtSignature }) => [
          functionCall?.name,
          functionCall?.args,
          thoughtSignature !== undefined,
        ]),
      ).toEqual([
        ['find', { town: 'Whitby' }, true],
        ['count', { town: 'Whitby' }, false],
        ['read', { town: 'Whitby' }, false],
      ]);
      const responses = calls.map(({ functionCall }) => ({
        functionResponse: { name: functionCall?.name ?? '', response: { output: `R ${functionCall?.name}` } },
      }));
      const second = await requestParts(streamed, [
        question,
        { role: 'model', parts },
        { role: 'user', parts: responses },
      ]);
      expect(
        second
          .filter(({ thought }) => !thought)
          .map(({ text }) => text)
          .join(''),
      ).toBe('find said: R find; count said: R count; read said: R read');
      const moved = calls.map((part, index) =>
        index
          ? { ...part, thoughtSignature: calls[0]?.thoughtSignature ?? '' }
          : { functionCall: part.functionCall ?? {} },
      );
      await expect(
        requestParts(streamed, [
          question,
          { role: 'model', parts: moved },
          { role: 'user', parts: responses },
        ]),
      ).rejects.toThrow('Thought signature is not valid');
      const altered = calls.map((part) =>
        part.thoughtSignature
          ? { ...part, thoughtSignature: part.thoughtSignature.replace(/^.{8}/, 'AAAAAAAA') }
          : part,
      );
      await expect(
        requestParts(streamed, [
          question,
          { role: 'model', parts: altered },
          { role: 'user', parts: responses },
        ]),
      ).rejects.toThrow('Thought signature is not valid');
    },
  );
});
