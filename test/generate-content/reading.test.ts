import { describe, expect, it } from 'vitest';
import type { ClientCall } from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/generate-content/index.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { expectRefusal, wrapRows } from '../support/refusals.ts';
import { makeCall, makeMatch, protocol } from './bodies.ts';

const { client } = protocol;

function read(body: unknown, match = makeMatch()): ClientCall {
  const text = JSON.stringify(body);
  return client.read(JSON.parse(text), text, match, {});
}

describe('a call address', () => {
  it.each([
    [
      '/beta/v1beta/models/google/gemini-3-pro:generateContent',
      '',
      { operation: 'generate', model: 'google/gemini-3-pro', stream: false },
    ],
    [
      '/beta/v1/models/google/gemini-3-pro:generateContent',
      'key=sk-1',
      { operation: 'generate', model: 'google/gemini-3-pro', stream: false },
    ],
    [
      '/beta/v1beta/google/gemini-3-pro:generateContent',
      '',
      { operation: 'generate', model: 'google/gemini-3-pro', stream: false },
    ],
    [
      '/beta/v1beta/models/vendor/family/name:free:generateContent',
      '',
      { operation: 'generate', model: 'vendor/family/name:free', stream: false },
    ],
    [
      '/beta/v1beta/models/a/b:streamGenerateContent',
      'alt=sse',
      { operation: 'generate', model: 'a/b', stream: true, framing: 'events' },
    ],
    [
      '/beta/v1beta/models/a/b:streamGenerateContent',
      'key=x&alt=sse&beta=true',
      { operation: 'generate', model: 'a/b', stream: true, framing: 'events' },
    ],
    [
      '/beta/v1beta/models/a/b:streamGenerateContent',
      '',
      { operation: 'generate', model: 'a/b', stream: true, framing: 'array' },
    ],
    [
      '/beta/v1beta/models/a/b:streamGenerateContent',
      '%24alt=json%3Benum-encoding=int',
      { operation: 'generate', model: 'a/b', stream: true, framing: 'array' },
    ],
    ['/v1/models/a/b:countTokens', '', { operation: 'count', model: 'a/b', stream: false }],
    ['/v1beta/a/b:countTokens', '', { operation: 'count', model: 'a/b', stream: false }],
    ['/models/a/b:countTokens', '', { operation: 'count', model: 'a/b', stream: false }],
    ['/beta/models/a/b:countTokens', '', { operation: 'count', model: 'a/b', stream: false }],
    ['/beta/v1beta/models/a/b:countTokens', '', { operation: 'count', model: 'a/b', stream: false }],
  ])('of %s?%s gives the model and the method', (path, query, match) => {
    expect(client.match('POST', path, query)).toEqual(match);
  });

  it.each([
    ['GET', '/beta/v1beta/models/a/b:generateContent'],
    ['POST', '/beta/v1beta/models/a/b:embedContent'],
    ['POST', '/beta/v1beta/models/a/b:constructor'],
    ['POST', '/beta/v1beta/models/a/b'],
    ['POST', '/beta/v2/models/a/b:generateContent'],
    ['POST', '/v1beta/v1beta/models/a/b:generateContent'],
    ['POST', '/a/b:generateContent'],
    ['POST', '/beta/a/b:generateContent'],
    ['POST', '/betamax/v1beta/models/a/b:generateContent'],
  ])('does not match %s %s', (method, path) => {
    expect(client.match(method, path, '')).toBeUndefined();
  });

  it('is below the mount that the operator chooses', () => {
    expect(createProtocol('').client.match('POST', '/v1beta/models/a/b:countTokens', '')).toMatchObject({
      model: 'a/b',
    });
  });
});

describe('a request body', () => {
  it('keeps a tier named like a member of every object', () => {
    expect(
      read({ contents: [{ parts: [{ text: 'x' }] }], serviceTier: 'constructor' }).decode().serviceTier,
    ).toBe('constructor');
  });

  it.each<[fields: Record<string, unknown>, param: string, expected: RegExp]>([
    [{ contents: [] }, 'contents', /an array of 1 or more/],
    [{ contents: 'x' }, 'contents', /an array/],
    [{ contents: [{ role: 7, parts: [{ text: 'x' }] }] }, 'contents[0].role', /a string/],
    [{ contents: [{ role: 'user', parts: [] }] }, 'contents[0].parts', /1 or more/],
    [{ contents: [{ role: 'user' }] }, 'contents[0].parts', /is missing/],
    [
      { generationConfig: { maxOutputTokens: 5 }, generation_config: { max_output_tokens: 500 } },
      'generation_config',
      /is also written as "generationConfig"/,
    ],
    [
      { generation_config: { max_output_tokens: 1.5 } },
      'generation_config.max_output_tokens',
      /whole number/,
    ],
    [
      { toolConfig: { functionCallingConfig: { mode: 7 } } },
      'toolConfig.functionCallingConfig.mode',
      /a string/,
    ],
    [
      { tool_config: { function_calling_config: { mode: 'AUTO', allowed_function_names: ['f'] } } },
      'tool_config.function_calling_config.allowed_function_names',
      /"ANY" and "VALIDATED"/,
    ],
    [{ safetySettings: [{ threshold: 'x' }] }, 'safetySettings[0].category', /is missing/],
    [{ cachedContent: 5 }, 'cachedContent', /a string/],
    ...wrapRows((part) => ({ contents: [{ parts: [part] }] }), 'contents[0].parts[0].', [
      [{ text: 1 }, 'text', /a string/],
      [{ inlineData: { data: 'AAAA' } }, 'inlineData.mimeType', /is missing/],
      [{ inline_data: { mime_type: 'image/png' } }, 'inline_data.data', /base64/],
      [{ functionCall: { args: {} } }, 'functionCall.name', /is missing/],
      [{ functionCall: { name: 'f', args: [] } }, 'functionCall.args', /an object/],
      [{ functionResponse: { name: 'f', response: 'x' } }, 'functionResponse.response', /an object/],
      [{ text: 'x', functionCall: { name: 'f' } }, 'functionCall', /cannot be combined with "text"/],
      [
        { text: 'x', inline_data: { mime_type: 'a/b', data: 'AAAA' } },
        'inline_data',
        /cannot be combined with "text"/,
      ],
      [{ inlineData: { mimeType: 'a/b', data: 'AAAA' }, inline_data: null }, 'inline_data', /one of the two/],
    ]),
    ...wrapRows((generationConfig) => ({ generationConfig }), 'generationConfig.', [
      [
        { maxOutputTokens: 5, max_output_tokens: 500 },
        'max_output_tokens',
        /is also written as "maxOutputTokens"/,
      ],
      [{ maxOutputTokens: 0 }, 'maxOutputTokens', /at least 1/],
      [{ temperature: 2.1 }, 'temperature', /from 0 to 2/],
      [{ topP: -1 }, 'topP', /from 0 to 1/],
      [{ candidateCount: 9 }, 'candidateCount', /from 1 to 8/],
      [{ stopSequences: Array.from({ length: 1001 }, () => '1') }, 'stopSequences', /at most 1000/],
      [{ seed: 2147483648 }, 'seed', /from -2147483648 to 2147483647/],
      [{ thinkingConfig: { thinkingBudget: -2 } }, 'thinkingConfig.thinkingBudget', /-1/],
      [
        { thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } },
        'thinkingConfig.thinkingLevel',
        /cannot be combined with/,
      ],
      [{ responseSchema: {}, responseJsonSchema: {} }, 'responseJsonSchema', /cannot be combined with/],
    ]),
    ...wrapRows((tool) => ({ tools: [tool] }), 'tools[0].', [
      [{ futureTool: {}, future_tool: { max_calls: 9 } }, 'future_tool', /is also written as "futureTool"/],
      [{ functionDeclarations: [{ description: 'x' }] }, 'functionDeclarations[0].name', /is missing/],
      [
        { function_declarations: [{ name: 'f', parameters: {}, parameters_json_schema: {} }] },
        'function_declarations[0].parameters_json_schema',
        /cannot be combined with/,
      ],
    ]),
  ])('with %j is refused by the name of the bad field', (fields, param, expected) => {
    expect(expectRefusal(() => makeCall(fields))).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(expected),
      details: { param },
    });
  });

  it.each<Record<string, unknown>>([
    { contents: [{ parts: [{ text: 'x' }] }] },
    { contents: { parts: { text: 'x' } } },
    { contents: [{ role: 'user', parts: [{ text: 'x' }], x_unknown: 1 }], anything: { at: 'all' } },
    { tools: null, toolConfig: null, generationConfig: { temperature: null } },
    { tools: [{ someNewTool: {} }], generationConfig: { thinkingConfig: {} } },
    { contents: [{ role: 'user', parts: [{ someNewKind: { a: 1 } }] }] },
  ])('with %j is accepted', (fields) => {
    expect(makeCall(fields).model).toBe('google/gemini-3-pro');
  });

  it('gives the output limit, the candidates and the stream flag', () => {
    const call = makeCall(
      { generation_config: { max_output_tokens: 7, candidate_count: 2 } },
      makeMatch(true, 'array'),
    );
    expect(call).toMatchObject({
      outputLimit: 7,
      candidates: 2,
      stream: true,
      framing: 'array',
      usageWanted: true,
    });
    expect(makeCall()).toMatchObject({ outputLimit: undefined, candidates: 1, stream: false });
  });

  it('bounds the input with media counted apart, media in tool results too', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAAAAAA' } };
    const contents = [
      {
        parts: [
          image,
          {
            functionResponse: {
              name: 'f',
              response: {},
              parts: [{ inlineData: { mimeType: 'application/pdf', data: 'BBBB' } }, image],
            },
          },
        ],
      },
    ];
    const { size } = makeCall({ contents });
    expect(size).toEqual({ images: 2, mediaBytes: 3, textBytes: JSON.stringify({ contents }).length - 20 });
  });

  it.each(['continuationToken', 'continuation_token'])(
    'may be longer than the body if it continues a reply that Google keeps (%s)',
    (field) => {
      const contents = [{ parts: [{ text: 'Go on.' }] }];
      expect(makeCall({ contents, [field]: 'AAAA' }).size.fetched).toBe(true);
      expect(makeCall({ contents, [field]: '' }).size.fetched).toBeUndefined();
    },
  );

  it("is known to carry another vendor's state, in either base64 alphabet", () => {
    const envelope = seal({ vendor: 'anthropic', kind: 'signature', value: '>>>???' });
    const makeSignedCall = (thoughtSignature: string): ClientCall =>
      makeCall({ contents: [{ role: 'model', parts: [{ text: 'x', thoughtSignature }] }] });
    expect(makeSignedCall(envelope).carriesState).toBe(true);
    expect(
      makeSignedCall(envelope.replaceAll('+', '-').replaceAll('/', '_')).decode().turns[0]?.blocks[0],
    ).toMatchObject({ opaque: [{ vendor: 'anthropic', kind: 'signature', value: '>>>???' }] });
    expect(makeSignedCall('AAAA').carriesState).toBe(false);
  });
});

describe('the body of a count', () => {
  const match = { operation: 'count', model: 'a/b', stream: false } as const;

  it('holds contents or a whole request', () => {
    expect(read({ contents: [{ parts: [{ text: 'x' }] }] }, match).decode().turns).toHaveLength(1);
    expect(
      read(
        {
          generateContentRequest: {
            model: 'models/a/b',
            contents: [{ parts: [{ text: 'x' }] }],
            tools: [{ functionDeclarations: [{ name: 'f' }] }],
          },
        },
        match,
      ).decode(),
    ).toMatchObject({ model: 'a/b', tools: [{ name: 'f' }] });
  });

  it('is refused if it holds neither or both', () => {
    expect(() => read({}, match)).toThrow(/"contents" is missing/);
    expect(() =>
      read(
        {
          contents: [{ parts: [{ text: 'x' }] }],
          generateContentRequest: { contents: [{ parts: [{ text: 'x' }] }] },
        },
        match,
      ),
    ).toThrow(/one of the two/);
    expect(() => read({ generate_content_request: { contents: [{ parts: [{ text: 5 }] }] } }, match)).toThrow(
      /"generate_content_request.contents\[0\].parts\[0\].text" is 5/,
    );
  });
});

describe('a number in a conversation', () => {
  it.each([
    [
      'a call',
      '{"functionCall":{"name":"look","args":{"list":[{"id":12345678901234567890}]}}}',
      { arguments: '{"list":[{"id":12345678901234567890}]}' },
    ],
    [
      'a call with a point',
      '{"functionCall":{"name":"look","args":{"size":1.0}}}',
      { arguments: '{"size":1.0}' },
    ],
    [
      'a response',
      '{"functionResponse":{"name":"look","response":{"output":1.50}}}',
      { content: [{ type: 'text', text: '1.50' }] },
    ],
  ])('keeps its digits in %s', (_, part, block) => {
    const question = '{"role":"user","parts":[{"text":"a: 1.0, 2"}]}';
    const body = `{"contents":[${question},{"role":"model","parts":[${part}]}]}`;
    const turns = client.read(JSON.parse(body), body, makeMatch(), {}).decode().turns;
    expect(turns.at(-1)?.blocks).toMatchObject([block]);
  });
});
