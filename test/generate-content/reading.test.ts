import { describe, expect, it } from 'vitest';
import type { ClientCall } from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/generate-content/index.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { readCases } from '../support/cases.ts';
import { expectRefusal } from '../support/refusals.ts';
import { makeCall, makeMatch, protocol } from './bodies.ts';

const cases = readCases<{
  readonly addresses: readonly (readonly [string, string, object])[];
  readonly bodies: readonly [fields: Record<string, unknown>, param: string, expected: RegExp][];
}>('reading.json', import.meta.url);

const { client } = protocol;

function read(body: unknown, match = makeMatch()): ClientCall {
  const text = JSON.stringify(body);
  return client.read(JSON.parse(text), text, match, {});
}

it.each(cases.addresses)('a call address of %s?%s gives the model and the method', (path, query, match) => {
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
])('a call address does not match %s %s', (method, path) => {
  expect(client.match(method, path, '')).toBeUndefined();
});

it('a call address is below the mount that the operator chooses', () => {
  expect(createProtocol('').client.match('POST', '/v1beta/models/a/b:countTokens', '')).toMatchObject({
    model: 'a/b',
  });
});

describe('a request body', () => {
  it('keeps a tier named like a member of every object', () => {
    expect(
      read({ contents: [{ parts: [{ text: 'x' }] }], serviceTier: 'constructor' }).decode().serviceTier,
    ).toBe('constructor');
  });

  it.each(cases.bodies)('with %j is refused by the name of the bad field', (fields, param, expected) => {
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
])('a number in a conversation keeps its digits in %s', (_, part, block) => {
  const question = '{"role":"user","parts":[{"text":"a: 1.0, 2"}]}';
  const body = `{"contents":[${question},{"role":"model","parts":[${part}]}]}`;
  const turns = client.read(JSON.parse(body), body, makeMatch(), {}).decode().turns;
  expect(turns.at(-1)?.blocks).toMatchObject([block]);
});
