/** The fake Google accepts, refuses and replies as the real one does, with the same error messages. */
import { GoogleGenAI, type Content, type Part } from '@google/genai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callerOf, eventsOf, type Caller } from '../support/vendor/call.ts';
import {
  generateContentRefusals,
  startGenerateContentVendor,
  type GeminiRequest,
} from '../support/vendor/generate-content.ts';
import { pixel } from '../support/vendor/improvise.ts';
import type { Stage } from '../support/vendor/stage.ts';

const old = 'gemini-2.5-flash';
const current = 'gemini-3-flash-preview';
const address = (model: string, method = 'generateContent'): string => `/v1beta/models/${model}:${method}`;
const turn = (role: string, ...parts: object[]) => ({ role, parts });
const user = turn('user', { text: 'Hello!' });
const good = { contents: [user] };
const called = (name = 'find', more: object = {}) => ({ functionCall: { name, args: {} }, ...more });
const answered = (name = 'find', more: object = {}) => ({
  functionResponse: { name, response: { output: 'x' }, ...more },
});
const said = (...contents: object[]) => ({ contents: [user, ...contents] });
const config = (fields: object) => ({ generationConfig: fields });
const declared = (facts: object) => ({ tools: [{ functionDeclarations: [{ name: 'find', ...facts }] }] });
const schema = (facts: object) => declared({ parameters: { type: 'OBJECT', properties: { a: facts } } });
const media = (part: object) => said(turn('user', part));

let vendor: Stage<GeminiRequest>;
let call: Caller;
beforeAll(async () => {
  vendor = await startGenerateContentVendor();
  call = callerOf(vendor, address(old), { 'x-goog-api-key': vendor.key });
});
afterEach(() => vendor.unscript());
afterAll(() => vendor.close());

/** Changes to a valid request, with the message of the 400, and the model if it is not the older one. */
const bad: Record<string, [change: object, message: RegExp, model?: string]> = {
  'no contents': [{ contents: undefined }, /contents is not specified/],
  'an unknown field': [
    { provider: {} },
    /^Invalid JSON payload received\. Unknown name "provider": Cannot find field\.$/,
  ],
  'an unknown field of a part': [
    media({ text: 'a', type: 'text' }),
    /Unknown name "type" at 'contents\[1\]\.parts\[0\]': Cannot find field/,
  ],
  'an unknown field of the settings': [
    config({ max_tokens: 5 }),
    /Unknown name "max_tokens" at 'generation_config'/,
  ],
  'a spelling between the two': [config({ max_outputTokens: 5 }), /Unknown name "max_outputTokens"/],
  'a field in both spellings': [{ system_instruction: user, systemInstruction: user }, /is set twice/],
  'a number as text': [
    config({ temperature: 'warm' }),
    /^Invalid value at 'generation_config\.temperature' \(TYPE_FLOAT\), "warm"$/,
  ],
  'a list for one value': [
    config({ responseMimeType: ['a'] }),
    /Proto field is not repeating, cannot start list/,
  ],
  'a name that is not in an enumeration': [
    { toolConfig: { functionCallingConfig: { mode: 'REQUIRED' } } },
    /^Invalid value at 'tool_config\.function_calling_config\.mode'/,
  ],
  'two kinds of data in a part': [
    media({ text: 'a', inlineData: { mimeType: 'image/png', data: pixel } }),
    /oneof field 'data' is already set/,
  ],
  'a part without data': [
    media({ thought: true }),
    /required oneof field 'data' must have one initialized field/,
  ],
  'a turn without parts': [said({ role: 'model' }, user), /parts must not be empty/],
  'the role of another wire': [
    said(turn('assistant', { text: 'a' })),
    /^Please use a valid role: user, model\.$/,
  ],
  'base64 that is none': [
    media({ inlineData: { mimeType: 'image/png', data: 'a*b' } }),
    /\(TYPE_BYTES\), Base64 decoding failed/,
  ],
  'base64 of both alphabets': [
    media({ inlineData: { mimeType: 'image/png', data: '_+8=' } }),
    /Base64 decoding failed/,
  ],
  'base64 with its prefix': [
    media({ inlineData: { mimeType: 'image/png', data: `data:image/png;base64,${pixel}` } }),
    /Base64 decoding failed/,
  ],
  'a medium without a kind': [media({ inlineData: { data: pixel } }), /empty mimeType/],
  'a medium of a kind it does not know': [
    media({ inlineData: { mimeType: 'application/zip', data: pixel } }),
    /^Unsupported MIME type: application\/zip$/,
  ],
  'a file it may not fetch': [
    media({ fileData: { fileUri: 'https://www.gstatic.com/a.png' } }),
    /URL_ROBOTED-ROBOTED_DENIED$/,
  ],
  'a file that is nowhere': [media({ fileData: { fileUri: 'a.png' } }), /file uri/],
  'a picture as a system instruction': [
    { systemInstruction: turn('user', { inlineData: { mimeType: 'image/png', data: pixel } }) },
    /only supports text/,
  ],
  'a call without a response': [
    said(turn('model', called()), user),
    /number of function response parts is equal to the number of function call parts/,
  ],
  'a call without a response at the end': [
    said(turn('model', called())),
    /followed by a function response turn/,
  ],
  'two calls and one response': [
    said(turn('model', called(), called('count')), turn('user', answered())),
    /number of function response parts/,
  ],
  'a response too many': [
    said(turn('model', called()), turn('user', answered(), answered())),
    /number of function response parts/,
  ],
  'responses in two turns': [
    said(turn('model', called(), called()), turn('user', answered()), turn('user', answered())),
    /number of function response parts/,
  ],
  'a response without a call': [said(turn('user', answered())), /immediately after a function call turn/],
  'a response under another name': [
    said(turn('model', called()), turn('user', answered('count'))),
    /names of the function response parts/,
  ],
  'a response without a name': [
    said(turn('model', called('')), turn('user', answered(''))),
    /Name cannot be empty/,
  ],
  'a response to another id': [
    said(
      turn('model', { functionCall: { id: 'a', name: 'find' } }),
      turn('user', answered('find', { id: 'b' })),
    ),
    /does not match any function call/,
  ],
  'a call by the user': [
    said(turn('user', called()), turn('user', answered())),
    /function call turn comes immediately after a user turn/,
  ],
  'a response that is no object': [
    said(turn('model', called()), turn('user', { functionResponse: { name: 'find', response: 'x' } })),
    /Invalid value at 'contents\[2\]/,
  ],
  'a reference in a response': [
    said(turn('model', called()), turn('user', answered('find', { response: { a: { $ref: 'b' } } }))),
    /references a part that was not provided/,
  ],
  'a medium in a response, to an older model': [
    said(
      turn('model', called()),
      turn('user', answered('find', { parts: [{ inlineData: { mimeType: 'image/png', data: pixel } }] })),
    ),
    /Multimodal function response is not supported/,
  ],
  'a call without its signature': [
    said(turn('model', called()), turn('user', answered())),
    /missing a thought_signature in functionCall parts/,
    current,
  ],
  'a later step without its signature': [
    said(
      turn('model', called('find', { thoughtSignature: 'skip_thought_signature_validator' })),
      turn('user', answered()),
      turn('model', called()),
      turn('user', answered()),
    ),
    /`default_api:find` , position 4/,
    current,
  ],
  'a forged signature': [
    said(turn('model', called('find', { thoughtSignature: 'AAAA' })), turn('user', answered())),
    /^Thought signature is not valid\.$/,
    current,
  ],
  'a forged signature, to an older model': [
    said(turn('model', { text: 'a', thoughtSignature: 'AAAA' }), user),
    /^Thought signature is not valid\.$/,
  ],
  'six stop sequences': [
    config({ stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] }),
    /greater than the maximum number of 5/,
  ],
  'a temperature above two': [
    config({ temperature: 2.5 }),
    /temperature value of 2\.5 but the supported range/,
  ],
  'a limit beyond the model': [
    config({ maxOutputTokens: 65_537 }),
    /maxOutputTokens value of 65537 but the supported range is from 1 \(inclusive\) to 65537 \(exclusive\)/,
  ],
  'nine candidates': [config({ candidateCount: 9 }), /candidateCount value of 9/],
  'log probabilities nobody asked for': [
    config({ logprobs: 2 }),
    /only allowed when responseLogprobs is true/,
  ],
  'a budget and a level': [
    config({ thinkingConfig: { thinkingBudget: 100, thinkingLevel: 'LOW' } }),
    /only set only one of thinking budget and thinking level/,
  ],
  'a level for a model with a budget': [
    config({ thinkingConfig: { thinkingLevel: 'LOW' } }),
    /Thinking level is not supported/,
  ],
  'a level the model does not have': [
    config({ thinkingConfig: { thinkingLevel: 'MINIMAL' } }),
    /Thinking level MINIMAL is not supported/,
    'gemini-3-pro-preview',
  ],
  'a budget out of range': [
    config({ thinkingConfig: { thinkingBudget: 24_577 } }),
    /choose a value between 0 and 24576/,
  ],
  'no budget for a model that always thinks': [
    config({ thinkingConfig: { thinkingBudget: 0 } }),
    /only works in thinking mode/,
    'gemini-2.5-pro',
  ],
  'thinking for a model that does not': [
    config({ thinkingConfig: { includeThoughts: true } }),
    /thinking is not supported/,
    'gemini-2.0-flash',
  ],
  'pictures of a model that draws none': [
    config({ responseModalities: ['TEXT', 'IMAGE'] }),
    /response modalities/,
  ],
  'a schema without JSON': [config({ responseSchema: { type: 'OBJECT' } }), /application\/json is required/],
  'JSON beside functions, of an older model': [
    { ...declared({}), ...config({ responseMimeType: 'application/json' }) },
    /Function calling with a response mime type/,
  ],
  'both schemas of an answer': [
    config({
      responseMimeType: 'application/json',
      responseSchema: { type: 'STRING' },
      responseJsonSchema: {},
    }),
    /cannot both be set/,
  ],
  'a name that begins with a digit': [
    declared({ name: '1a' }),
    /Invalid function name\. Must start with a letter/,
  ],
  'two functions of one name': [
    { tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] },
    /Duplicate function declaration/,
  ],
  'both kinds of parameters': [
    declared({ parameters: { type: 'OBJECT' }, parametersJsonSchema: { type: 'object' } }),
    /cannot both be set/,
  ],
  'parameters that are no object': [
    declared({ parameters: { type: 'STRING' } }),
    /parameters\.type: must be OBJECT/,
  ],
  'additionalProperties in its own schema': [
    schema({ type: 'OBJECT', additionalProperties: false }),
    new RegExp(
      'Unknown name "additionalProperties" at ' +
        RegExp.escape("'tools[0].function_declarations[0].parameters.properties[a]'"),
    ),
  ],
  'a constant in its own schema': [schema({ const: 'a' }), /Unknown name "const"/],
  'a reference in its own schema': [schema({ $ref: '#/$defs/a' }), /Unknown name "\$ref"/],
  'a list of types in its own schema': [
    schema({ type: ['string', 'null'] }),
    /Proto field is not repeating, cannot start list/,
  ],
  'a list of nothing in its own schema': [schema({ type: 'ARRAY' }), /items: missing field/],
  'numbers to choose from in its own schema': [
    schema({ type: 'INTEGER', enum: ['1'] }),
    /only allowed for STRING type/,
  ],
  'a format it does not know': [
    schema({ type: 'STRING', format: 'uri' }),
    /only 'enum' and 'date-time' is supported for STRING type/,
  ],
  'a required property that is not there': [
    declared({ parameters: { type: 'OBJECT', properties: {}, required: ['b'] } }),
    /required\[0\]: property is not defined/,
  ],
  'a reference with a word beside it': [
    declared({
      parametersJsonSchema: {
        type: 'object',
        properties: { a: { $ref: '#/$defs/b', description: 'c' } },
        $defs: { b: {} },
      },
    }),
    /"\$ref" cannot be combined with "description"/,
  ],
  'a reference that leads out': [
    declared({
      parametersJsonSchema: { type: 'object', properties: { a: { $ref: 'https://example.com' } } },
    }),
    /reference to undefined schema/,
  ],
  'allowed names where calls are free': [
    {
      ...declared({}),
      toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['find'] } },
    },
    /should only be set when function calling mode is ANY/,
  ],
  'an allowed name that is not there': [
    { ...declared({}), toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['b'] } } },
    /not a declared function/,
  ],
  'a search beside functions, of an older model': [
    { tools: [{ functionDeclarations: [{ name: 'a' }] }, { googleSearch: {} }] },
    /Tool use with function calling is unsupported/,
  ],
  'a search beside functions, unasked': [
    { tools: [{ functionDeclarations: [{ name: 'a' }] }, { googleSearch: {} }] },
    /enable tool_config\.include_server_side_tool_invocations/,
    current,
  ],
  'a cached prefix with tools': [
    { cachedContent: 'cachedContents/a', ...declared({}) },
    /CachedContent can not be used/,
  ],
  'a field of the other house': [{ labels: { a: 'b' } }, /Unknown name "labels"/],
  'more than the model holds': [
    { contents: [turn('user', { text: 'a '.repeat(1_048_577) })] },
    /exceeds the maximum number of tokens allowed \(1048576\)/,
  ],
};

describe('the fake Google, asked something wrong', () => {
  it.each(Object.entries(bad))('refuses %s', async (_, [change, message, model = old]) => {
    const reply = await call({ ...good, ...change }, { path: address(model) });
    expect({ status: reply.status, body: reply.json() }).toMatchObject({
      status: 400,
      body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringMatching(message) } },
    });
  });

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
    const reply = await call(good, { path: address('gemini-9') });
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
    expect(await call(good, { path: address(old, 'generate') })).toMatchObject({ status: 404 });
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

describe('the fake Google, asked something unusual', () => {
  it('accepts either spelling or base64 alphabet, a key in the query and a part without a list', async () => {
    const request = {
      contents: {
        parts: {
          inline_data: { mime_type: 'image/png', data: pixel.replaceAll('+', '-').replaceAll('/', '_') },
        },
      },
      generation_config: { max_output_tokens: 50, responseMimeType: 'text/plain' },
    };
    expect(
      await call(request, { path: `${address(old)}?key=${vendor.key}`, headers: { 'x-goog-api-key': '' } }),
    ).toMatchObject({ status: 200 });
  });

  it.each(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'])(
    'accepts the placeholder %s in place of a signature',
    async (thoughtSignature) => {
      const contents = said(
        turn('model', called('find', { thoughtSignature }), called()),
        turn('user', answered(), answered()),
      );
      expect(await call(contents, { path: address(current) })).toMatchObject({ status: 200 });
    },
  );

  it('accepts calls of earlier turns without signatures, and media in function responses', async () => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: pixel, displayName: 'a.png' } }];
    const earlier = said(
      turn('model', called()),
      turn('user', answered('find', { parts, response: { picture: { $ref: 'a.png' } } })),
      turn('model', { text: 'a' }),
      user,
    );
    expect(await call(earlier, { path: address(current) })).toMatchObject({ status: 200 });
  });

  it('accepts fields of Vertex under a project path', async () => {
    const path = `/v1beta1/projects/p/locations/global/publishers/google/models/${old}:generateContent`;
    expect(
      await call(
        { ...good, labels: { a: 'b' } },
        { path, headers: { 'x-goog-api-key': '', authorization: `Bearer ${vendor.key}` } },
      ),
    ).toMatchObject({ status: 200 });
  });
});

describe('the fake Google, asked something right', () => {
  const client = (): GoogleGenAI =>
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

  async function partsOf(streamed: boolean, contents: Content[]): Promise<Part[]> {
    const request = { model: current, contents, config: settings };
    const replies = streamed
      ? await Array.fromAsync(await client().models.generateContentStream(request))
      : [await client().models.generateContent(request)];
    return replies.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  }

  it.each([false, true])(
    'calls the tools it is offered, and accepts its own signatures, streamed: %s',
    async (streamed) => {
      const parts = (await partsOf(streamed, [question])).filter(({ thought }) => !thought);
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
      const second = await partsOf(streamed, [
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
        partsOf(streamed, [question, { role: 'model', parts: moved }, { role: 'user', parts: responses }]),
      ).rejects.toThrow('Thought signature is not valid');
      const altered = calls.map((part) =>
        part.thoughtSignature
          ? { ...part, thoughtSignature: part.thoughtSignature.replace(/^.{8}/, 'AAAAAAAA') }
          : part,
      );
      await expect(
        partsOf(streamed, [question, { role: 'model', parts: altered }, { role: 'user', parts: responses }]),
      ).rejects.toThrow('Thought signature is not valid');
    },
  );

  it('streams chunks in the framing of Google, each with the usage so far', async () => {
    vendor.script(old, { reasoning: 'Hm.', text: ['a', 'b'] });
    const { text: stream, headers } = await call(good, {
      path: `${address(old, 'streamGenerateContent')}?alt=sse`,
    });
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(stream).toMatch(/^(data: \{.*\}\r\n\r\n)+$/);
    const chunks = eventsOf(stream).map(({ data }): { candidates: object[]; usageMetadata: object } =>
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
      (await call(good, { path: address(old, 'streamGenerateContent') })).json();
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
    const ends = async (fields: object): Promise<unknown> =>
      (await call({ ...good, ...config(fields) })).json();
    const off = { thinkingConfig: { thinkingBudget: 0 } };
    expect(await ends({ ...off, maxOutputTokens: 2 })).toMatchObject({
      candidates: [{ finishReason: 'MAX_TOKENS', content: { parts: [{ text: 'Hello from' }] } }],
    });
    expect(await ends({ maxOutputTokens: 2 })).toMatchObject({
      candidates: [{ finishReason: 'MAX_TOKENS', content: { role: 'model' } }],
      usageMetadata: { thoughtsTokenCount: 2 },
    });
    expect(await ends({ ...off, stopSequences: [' from'] })).toMatchObject({
      candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'Hello' }] } }],
    });
    vendor.script(old, { refusal: 'No.' }, { blocked: 'PROHIBITED_CONTENT' });
    expect(await ends({})).toMatchObject({
      candidates: [
        {
          finishReason: 'SAFETY',
          safetyRatings: [{ blocked: true }, {}, {}, {}],
          content: { role: 'model' },
        },
      ],
    });
    const blocked = await ends({});
    expect(blocked).toMatchObject({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } });
    expect(blocked).not.toHaveProperty('candidates');
  });

  it('replies with a search, code and an image, each with its own usage', async () => {
    const ask = async (request: object, model = old): Promise<unknown> =>
      (await call({ ...good, ...request }, { path: address(model) })).json();
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
        ...declared({}),
        toolConfig: { functionCallingConfig: { streamFunctionCallArguments: true } },
      },
      { path },
    );
    const calls = eventsOf(stream).map(
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
    const path = address(old, 'countTokens');
    const counted = { totalTokens: 2, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 2 }] };
    expect((await call(good, { path })).json()).toEqual(counted);
    expect(
      (await call({ generateContentRequest: { model: `models/${old}`, ...good } }, { path })).json(),
    ).toEqual(counted);
    expect(await call({ ...good, tools: [] }, { path })).toMatchObject({ status: 400 });
  });
});
