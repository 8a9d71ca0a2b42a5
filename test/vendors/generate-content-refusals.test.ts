import { describe, expect, it } from 'vitest';
import { generateContentRefusals } from '../support/vendor/generate-content.ts';
import {
  old,
  current,
  buildPath,
  turn,
  good,
  config,
  declareTool,
  type Change,
  vendor,
  call,
  useGoogle,
  isRefused,
} from './generate-content-requests.ts';

const schema = (facts: object) => declareTool({ parameters: { type: 'OBJECT', properties: { a: facts } } });
useGoogle();

const wrongSettings: Record<string, Change> = {
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
  'log probabilities without their switch': [
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
    { ...declareTool({}), ...config({ responseMimeType: 'application/json' }) },
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
    declareTool({ name: '1a' }),
    /Invalid function name\. Must start with a letter/,
  ],
  'two functions of one name': [
    { tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] },
    /Duplicate function declaration/,
  ],
  'both kinds of parameters': [
    declareTool({ parameters: { type: 'OBJECT' }, parametersJsonSchema: { type: 'object' } }),
    /cannot both be set/,
  ],
  'parameters that are no object': [
    declareTool({ parameters: { type: 'STRING' } }),
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
    declareTool({ parameters: { type: 'OBJECT', properties: {}, required: ['b'] } }),
    /required\[0\]: property is not defined/,
  ],
  'a reference with a word beside it': [
    declareTool({
      parametersJsonSchema: {
        type: 'object',
        properties: { a: { $ref: '#/$defs/b', description: 'c' } },
        $defs: { b: {} },
      },
    }),
    /"\$ref" cannot be combined with "description"/,
  ],
  'a reference that leads out': [
    declareTool({
      parametersJsonSchema: { type: 'object', properties: { a: { $ref: 'https://example.com' } } },
    }),
    /reference to undefined schema/,
  ],
  'allowed names where calls are free': [
    {
      ...declareTool({}),
      toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['find'] } },
    },
    /should only be set when function calling mode is ANY/,
  ],
  'an allowed name that is not there': [
    {
      ...declareTool({}),
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['b'] } },
    },
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
    { cachedContent: 'cachedContents/a', ...declareTool({}) },
    /CachedContent can not be used/,
  ],
  'a field of the other house': [{ labels: { a: 'b' } }, /Unknown name "labels"/],
  'more than the model holds': [
    { contents: [turn('user', { text: 'a '.repeat(1_048_577) })] },
    /exceeds the maximum number of tokens allowed \(1048576\)/,
  ],
};

describe('the fake Google, asked something wrong', () => {
  it.each(Object.entries(wrongSettings))('refuses it as the real one does: %s', isRefused);

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
