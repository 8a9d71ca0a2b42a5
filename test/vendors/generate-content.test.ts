import { GoogleGenAI, type Content, type Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { readEvents } from '../support/vendor/call.ts';
import { pixel } from '../support/vendor/improvise.ts';
import {
  old,
  current,
  buildPath,
  good,
  config,
  declareTool,
  media,
  vendor,
  call,
  useGoogle,
} from './generate-content-requests.ts';

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

  it('streams chunks in the framing of Google, each with the usage so far', async () => {
    vendor.script(old, { reasoning: 'Hm.', text: ['a', 'b'] });
    const { text: stream, headers } = await call(good, {
      path: `${buildPath(old, 'streamGenerateContent')}?alt=sse`,
    });
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(stream).toMatch(/^(data: \{.*\}\r\n\r\n)+$/);
    const chunks = readEvents(stream).map(({ data }): { candidates: object[]; usageMetadata: object } =>
      JSON.parse(data),
    );
    expect(chunks.map(({ candidates }) => candidates[0])).toMatchObject([
      { content: { parts: [{ text: 'a', thoughtSignature: expect.any(String) }] } },
      { content: { parts: [{ text: 'b' }] }, finishReason: 'STOP' },
    ]);
    expect(chunks.map(({ usageMetadata }) => usageMetadata)).toMatchObject([
      { candidatesTokenCount: 1, thoughtsTokenCount: 2 },
      { candidatesTokenCount: 2, promptTokenCount: 2, totalTokenCount: 6 },
    ]);
  });

  it('sends one array of the same chunks without alt=sse, with an error as its last element', async () => {
    vendor.script(old, { text: ['a', 'b'] }, { text: ['a', 'b'], fail: { after: 1 } });
    const ask = async (): Promise<unknown> =>
      (await call(good, { path: buildPath(old, 'streamGenerateContent') })).json();
    expect(await ask()).toMatchObject([
      { candidates: [{ content: { parts: [{ text: 'a' }] } }] },
      { candidates: [{ finishReason: 'STOP' }] },
    ]);
    expect(await ask()).toMatchObject([
      { candidates: [{}] },
      { error: { code: 503, status: 'UNAVAILABLE' } },
    ]);
  });

  it('reports why it stopped', async () => {
    const ask = async (fields: object): Promise<unknown> =>
      (await call({ ...good, ...config(fields) })).json();
    const off = { thinkingConfig: { thinkingBudget: 0 } };
    expect(await ask({ ...off, maxOutputTokens: 2 })).toMatchObject({
      candidates: [{ finishReason: 'MAX_TOKENS', content: { parts: [{ text: 'Hello from' }] } }],
    });
    expect(await ask({ maxOutputTokens: 2 })).toMatchObject({
      candidates: [{ finishReason: 'MAX_TOKENS', content: { role: 'model' } }],
      usageMetadata: { thoughtsTokenCount: 2 },
    });
    expect(await ask({ ...off, stopSequences: [' from'] })).toMatchObject({
      candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'Hello' }] } }],
    });
    vendor.script(old, { refusal: 'No.' }, { blocked: 'PROHIBITED_CONTENT' });
    expect(await ask({})).toMatchObject({
      candidates: [
        {
          finishReason: 'SAFETY',
          safetyRatings: [{ blocked: true }, {}, {}, {}],
          content: { role: 'model' },
        },
      ],
    });
    const blocked = await ask({});
    expect(blocked).toMatchObject({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } });
    expect(blocked).not.toHaveProperty('candidates');
  });

  it('replies with a search, code and an image, each with its own usage', async () => {
    const ask = async (request: object, model = old): Promise<unknown> =>
      (await call({ ...good, ...request }, { path: buildPath(model) })).json();
    const support = { segment: { endIndex: 22, text: 'High water is at 14:05' }, groundingChunkIndices: [0] };
    expect(await ask({ tools: [{ googleSearch: {} }] })).toMatchObject({
      candidates: [{ groundingMetadata: { webSearchQueries: ['high water'], groundingSupports: [support] } }],
      usageMetadata: { toolUsePromptTokenCount: 20 },
    });
    expect(await ask({ tools: [{ codeExecution: {} }] })).toMatchObject({
      candidates: [
        {
          content: {
            parts: [
              { executableCode: { language: 'PYTHON' } },
              { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
              {},
            ],
          },
        },
      ],
    });
    const picture = await ask(config({ responseModalities: ['TEXT', 'IMAGE'] }), 'gemini-2.5-flash-image');
    expect(picture).toMatchObject({
      candidates: [{ content: { parts: [{}, { inlineData: { mimeType: 'image/png', data: pixel } }] } }],
      usageMetadata: {
        candidatesTokensDetails: [{ modality: 'TEXT' }, { modality: 'IMAGE', tokenCount: 1290 }],
      },
    });
    const seen = media({ inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } });
    expect(await ask(seen)).toMatchObject({
      usageMetadata: {
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 2 },
          { modality: 'DOCUMENT', tokenCount: 85 },
        ],
      },
    });
  });

  it('replies with several candidates, log probabilities, and JSON that follows a schema', async () => {
    const fields = {
      candidateCount: 2,
      responseLogprobs: true,
      logprobs: 1,
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { town: { type: 'STRING' } } },
    };
    const reply = {
      content: { parts: [{ text: '{"town":"Whitby"}' }] },
      logprobsResult: { chosenCandidates: expect.any(Array) },
    };
    expect((await call({ ...good, ...config(fields) })).json()).toMatchObject({
      candidates: [
        { ...reply, index: 0 },
        { ...reply, index: 1 },
      ],
    });
  });

  it('streams a call argument by argument if asked to, on Vertex', async () => {
    vendor.script(current, {
      toolCalls: [{ name: 'find', arguments: '{"town":"Whitby","near":3}' }, { name: 'now' }],
    });
    const method = `${current}:streamGenerateContent?alt=sse`;
    const path = `/v1beta1/projects/p/locations/global/publishers/google/models/${method}`;
    const { text: stream } = await call(
      {
        ...good,
        ...declareTool({}),
        toolConfig: { functionCallingConfig: { streamFunctionCallArguments: true } },
      },
      { path },
    );
    const calls = readEvents(stream).map(
      ({ data }): unknown => JSON.parse(data).candidates[0].content.parts[0]?.functionCall ?? 'none',
    );
    expect(calls).toEqual([
      { name: 'find', willContinue: true },
      {
        partialArgs: [{ jsonPath: '$.town', stringValue: 'Whitby', willContinue: true }],
        willContinue: true,
      },
      { partialArgs: [{ jsonPath: '$.town', stringValue: '' }], willContinue: true },
      { partialArgs: [{ jsonPath: '$.near', numberValue: 3 }], willContinue: true },
      {},
      { name: 'now' },
      'none',
    ]);
  });

  it('counts the tokens of contents or of a whole request', async () => {
    const path = buildPath(old, 'countTokens');
    const counted = { totalTokens: 2, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 2 }] };
    expect((await call(good, { path })).json()).toEqual(counted);
    expect(
      (await call({ generateContentRequest: { model: `models/${old}`, ...good } }, { path })).json(),
    ).toEqual(counted);
    expect(await call({ ...good, tools: [] }, { path })).toMatchObject({ status: 400 });
  });
});
