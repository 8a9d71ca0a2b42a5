/** The fake Google accepts, refuses and replies as the real one does, with the same error messages. */
import { GoogleGenAI, type Content, type Part } from '@google/genai';
import { afterEach, beforeAll, expect, describe, it } from 'vitest';
import { readCases } from '../support/cases.ts';
import { createCaller, type Caller } from '../support/vendor/call.ts';
import {
  startGenerateContentVendor,
  type GeminiRequest,
  generateContentRefusals,
} from '../support/vendor/generate-content.ts';
import type { Stage } from '../support/vendor/stage.ts';

const old = 'gemini-2.5-flash';
const current = 'gemini-3-flash-preview';

const buildPath = (model: string, method = 'generateContent'): string => `/v1beta/models/${model}:${method}`;

const turn = (role: string, ...parts: object[]) => ({ role, parts });
const user = turn('user', { text: 'Hello!' });
const good = { contents: [user] };

/** Changes to a valid request, with the message of the 400, and the model if it is not the older one. */
type Change = [change: object, message: RegExp, model?: string];

let vendor: Stage<GeminiRequest>;
let call: Caller;

/** Starts the fake for the tests of a file. */
function useGoogle(): void {
  beforeAll(async () => {
    vendor = await startGenerateContentVendor();
    call = createCaller(vendor, buildPath(old), { 'x-goog-api-key': vendor.key });
  });
  afterEach(() => vendor.unscript());
}

/** Checks that a change to a valid request is refused. */
async function isRefused(_: string, [change, message, model = old]: Change): Promise<void> {
  const reply = await call({ ...good, ...change }, { path: buildPath(model) });
  expect({ status: reply.status, body: reply.json() }).toMatchObject({
    status: 400,
    body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringMatching(message) } },
  });
}

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

const wrong: Readonly<Record<string, Change>> = {
  ...readCases<Record<string, Change>>('generate-content-refusals.json', import.meta.url),
  'no contents': [{ contents: undefined }, /contents is not specified/],
  'more than the model holds': [
    { contents: [turn('user', { text: 'a '.repeat(1_048_577) })] },
    /exceeds the maximum number of tokens allowed \(1048576\)/,
  ],
};

describe('the fake Google, asked something wrong', () => {
  it.each(Object.entries(wrong))('refuses it as the real one does: %s', isRefused);

  it('names the path of each wrong field', async () => {
    const reply = await call({ ...good, a: 1, generationConfig: { b: 2 } });
    const fieldViolations = [
      { description: expect.stringContaining('"a"') },
      { field: 'generation_config', description: expect.stringContaining('"b"') },
    ];
    expect(reply.json()).toMatchObject({
      error: { details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }] },
    });
  });

  it('refuses a model that it does not have, and an unknown method', async () => {
    const reply = await call(good, { path: buildPath('gemini-9') });
    expect({ status: reply.status, body: reply.json() }).toMatchObject({
      status: 404,
      body: {
        error: {
          code: 404,
          status: 'NOT_FOUND',
          message: expect.stringContaining('models/gemini-9 is not found'),
        },
      },
    });
    expect(await call(good, { path: buildPath(old, 'generate') })).toMatchObject({ status: 404 });
  });

  it('refuses an unknown key with a 400, as Google does', async () => {
    const reply = await call(good, { headers: { 'x-goog-api-key': 'other' } });
    expect({ status: reply.status, body: reply.json() }).toMatchObject({
      status: 400,
      body: { error: { status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }, {}] } },
    });
    expect(await call(good, { headers: { 'x-goog-api-key': '' } })).toMatchObject({ status: 403 });
    expect(
      await call(good, { headers: { 'x-goog-api-key': '', authorization: 'Bearer other' } }),
    ).toMatchObject({ status: 401 });
  });

  it.each(Object.entries(generateContentRefusals))(
    'refuses with the scripted reply: %s',
    async (_, reply) => {
      vendor.script(old, { reply });
      const { status, json } = await call(good);
      expect({ status, body: json() }).toEqual({ status: reply.status, body: reply.body });
    },
  );
});
