import { describe, expect, it } from 'vitest';
import type { CanonicalRequest, Model, Turn } from '../../core/index.ts';
import { toClientPath } from '../../core/loss.ts';
import { protocolName as generateContent } from '../../plugins/protocols/generate-content/encoding.ts';
import { protocol } from '../../plugins/protocols/responses/index.ts';
import { isObject } from '../support/json.ts';
import { expectRefusal } from '../support/refusals.ts';
import { ahoy, assistant, file, user } from '../support/turns.ts';
import { makeCapable, makeCall, makeModel, encode, called } from './bodies.ts';

function makeSoundTurn(mediaType: string): Turn {
  return user(file('audio', 'UklGRg==', { mediaType }));
}

describe('settings', () => {
  it('asks the provider to store nothing and to return sealed reasoning', () => {
    expect(encode({}).body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
    expect(
      encode({ logprobs: { top: 3 } }, makeCapable({ reasoning: { style: 'none' } })).body,
    ).toMatchObject({
      store: false,
      include: ['message.output_text.logprobs'],
      top_logprobs: 3,
    });
    expect(encode({}, makeCapable({ reasoning: { style: 'none' } })).body).not.toHaveProperty('include');
  });

  it('names the loss of logprobs by the field that asks for them', () => {
    const include = ['reasoning.encrypted_content', 'message.output_text.logprobs'];
    const paths = [{ include }, { include, top_logprobs: 2 }].map((fields) =>
      toClientPath('logprobs', makeCall(fields).decode(), protocol.client.fieldNames),
    );
    expect(paths).toEqual(['include[1]', 'top_logprobs']);
  });

  it('reports fields that this protocol does not have', () => {
    const { body, lost } = encode({
      topK: 5,
      stop: ['x'],
      seed: 1,
      frequencyPenalty: 1,
      presencePenalty: 1,
      candidates: 2,
      modalities: ['text', 'audio'],
      user: 'u',
    });
    expect(lost).toEqual(['topK', 'frequencyPenalty', 'presencePenalty', 'seed', 'candidates', 'modalities']);
    expect(Object.keys(body).toSorted()).toEqual(['include', 'input', 'model', 'store', 'user']);
    expect(encode({ candidates: 1, modalities: ['text'] }).lost).toEqual([]);
  });

  it.each<[string, Partial<CanonicalRequest>, Model, string]>([
    ['nothing but a picture', { modalities: ['image'] }, makeModel(), 'modalities'],
    [
      'sound of a kind it does not take',
      { turns: [makeSoundTurn('audio/flac')] },
      makeModel(),
      'turns[0].blocks[0]',
    ],
    [
      'sound to a model that does not hear',
      { turns: [makeSoundTurn('audio/wav')] },
      makeModel({ input: ['text'] }),
      'turns[0].blocks[0]',
    ],
    [
      'grounding in maps',
      {
        tools: [
          {
            type: 'hosted',
            protocol: generateContent,
            kind: 'other',
            value: { googleMaps: {} },
            at: 'tools[0].googleMaps',
          },
        ],
      },
      makeModel(),
      'tools[0].googleMaps',
    ],
  ])('refuses a call whose answer would be worthless: %s', (_, sent, model, param) => {
    expect(expectRefusal(() => encode(sent, model))).toMatchObject({
      code: 'unsupported_parameter',
      details: { param },
    });
  });

  it('reports an unfinished answer that the model does not continue', () => {
    expect(encode({ turns: [ahoy, assistant('Once')] }).lost).toEqual(['turns[1].role']);
    expect(encode({ turns: [ahoy, assistant(called)] }).lost).toEqual([]);
  });

  it('omits sampling settings that the model does not take', () => {
    const { body, lost } = encode({ temperature: 1, topP: 0.5 }, makeCapable({ sampling: false }));
    expect([body.temperature, body.top_p, lost]).toEqual([undefined, undefined, ['temperature', 'topP']]);
    expect(encode({ temperature: 1 }).body).toMatchObject({ temperature: 1 });
  });

  it('lowers an output limit to the maximum of the model, or raises it to the minimum with a report', () => {
    expect(encode({ outputLimit: 100 }, makeModel(), 50).body).toMatchObject({ max_output_tokens: 50 });
    const { body, lost } = encode({ outputLimit: 1 });
    expect([body.max_output_tokens, lost]).toEqual([16, ['outputLimit']]);
  });

  it('fits the effort to the model, and reports a budget as the effort it becomes', () => {
    const model = makeCapable({ reasoning: { style: 'effort', efforts: ['low', 'medium', 'high'] } });
    expect(encode({ reasoning: { effort: 'minimal' } }, model)).toMatchObject({
      body: { reasoning: { effort: 'low' } },
      lost: ['reasoning.effort'],
    });
    expect(encode({ reasoning: { budget: 8000, display: 'full' } }, model)).toMatchObject({
      body: { reasoning: { effort: 'medium', summary: 'auto' } },
      lost: ['reasoning.budget'],
    });
    const plain = makeCapable({ reasoning: { style: 'none' } });
    for (const reasoning of [{ effort: 'high' }, { display: 'summary' }] as const)
      expect(encode({ reasoning }, plain).lost).toEqual(['reasoning']);
    for (const reasoning of [{ effort: 'none' }, { display: 'none' }] as const)
      expect(encode({ reasoning }, plain).lost).toEqual([]);
    expect(encode({ reasoning: { budget: -1 } }, model).lost).toEqual([]);
  });

  it('writes a schema flat and with a name', () => {
    expect(
      encode({ format: { type: 'schema', schema: { type: 'object' } }, verbosity: 'low' }).body.text,
    ).toEqual({
      format: { type: 'json_schema', name: 'answer', schema: { type: 'object' } },
      verbosity: 'low',
    });
    expect(encode({ format: { type: 'json' } }, makeCapable({ structuredOutput: false })).lost).toEqual([
      'format',
    ]);
    expect(encode({ format: { type: 'schema', schema: undefined } }).body.text).toEqual({
      format: { type: 'json_schema', name: 'answer', schema: { type: 'object' } },
    });
  });

  it('puts a schema that is not of an object into one', () => {
    const { body, lost } = encode({
      format: { type: 'schema', schema: { type: 'array', items: { type: 'string' } } },
    });
    expect(body.input).toEqual([{ role: 'user', content: 'Ahoy' }]);
    expect(body.text).toMatchObject({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: { answer: { type: 'array', items: { type: 'string' } } },
          required: ['answer'],
          additionalProperties: false,
        },
      },
    });
    expect(lost).toEqual([]);
  });

  it('translates service tiers and shortens long user names', () => {
    expect(encode({ serviceTier: 'standard_only' }).body.service_tier).toBe('default');
    expect(encode({ serviceTier: 'first-class' }).lost).toEqual(['serviceTier']);
    expect(String(encode({ user: 'u'.repeat(65) }).body.user)).toMatch(/^[0-9a-f]{64}$/);
  });
});

it('a token count sends only the fields that OpenAI counts', () => {
  const asked = protocol.count?.encodeRequest(
    {
      model: 'a/b',
      stream: false,
      turns: [ahoy],
      outputLimit: 100,
      temperature: 1,
      tools: [{ type: 'function', name: 'f' }],
    },
    makeModel(),
  ).body;
  expect(Object.keys(isObject(asked) ? asked : {}).toSorted()).toEqual(['input', 'model', 'tools']);
});

it.each([
  ['outputLimit', 'max_output_tokens'],
  ['format', 'text.format'],
  ['reasoning.display', 'reasoning.summary'],
  ['turns[0].blocks[0].opaque', 'input[1].content[0].encrypted_content'],
  ['tools[0].strict', 'tools[0].tools[0].strict'],
  ['turns[0].blocks[0].item.phase', 'input[1].phase'],
])("the table of losses names the canonical path %s as the client's path %s", (path, expected) => {
  const request = makeCall({
    input: [
      { type: 'reasoning', summary: [] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'x' }] },
    ],
    tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f' }] }],
  }).decode();
  expect(
    toClientPath('user', makeCall({ safety_identifier: 's' }).decode(), protocol.client.fieldNames),
  ).toBe('safety_identifier');
  const [thought, said] = request.turns[0]?.blocks ?? [];
  const turns = [assistant(...(said && thought ? [said, thought] : []))];
  expect(toClientPath(path, { ...request, turns }, protocol.client.fieldNames)).toBe(expected);
});

it('the encoder reports fields that only this protocol has, but not what agents send needlessly', () => {
  const request = makeCall({
    store: false,
    include: ['reasoning.encrypted_content'],
    truncation: 'disabled',
    client_metadata: { a: '1' },
    input: [
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'x', annotations: [], logprobs: [] }],
      },
    ],
  }).decode();
  expect(Object.keys(request.vendor?.responses ?? {})).toEqual(['client_metadata']);
  expect(request.turns[0]?.blocks[0]?.vendor).toEqual({ responses: { item: { phase: 'commentary' } } });
});

it('stop sequences are applied to the reply by the gateway, and refused if there are too many', () => {
  const request = (count: number): CanonicalRequest => ({
    model: 'a/b',
    stream: false,
    turns: [ahoy],
    stop: Array.from({ length: count }, (_, place) => `end ${place}`),
  });
  expect(protocol.upstream.encodeRequest(request(1000), makeModel(), undefined).stops).toHaveLength(1000);
  expect(
    expectRefusal(() => protocol.upstream.encodeRequest(request(1001), makeModel(), undefined)),
  ).toMatchObject({ code: 'unsupported_parameter', details: { param: 'stop' } });
});
