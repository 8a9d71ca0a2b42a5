import { describe, expect, it } from 'vitest';
import type { Turn } from '../../core/index.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { ahoy, call, assistant, developer, result, system, tool, user } from '../support/turns.ts';
import { makeCall, older, protocol, encode } from './bodies.ts';
import { claudes, encodeContents, encodeParts } from './encoded.ts';

describe('encoding turns', () => {
  it.each([
    { role: 'system' as const, blocks: [{ type: 'text' as const, text: '' }] },
    { role: 'system' as const, blocks: [] },
  ])('omits empty instructions: %j', (turn) => {
    expect(encode({ turns: [turn, ahoy] }).body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }],
    });
  });

  it('moves leading instructions to systemInstruction, and marks later ones in place', () => {
    const { body, lost } = encode({
      turns: [system('a'), developer('b'), ahoy, system('c')],
    });
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'a' }, { text: 'b' }] },
      contents: [{ role: 'user', parts: [{ text: 'Ahoy' }, { text: '<system>\nc\n</system>' }] }],
    });
    expect(lost).toEqual(['turns[3].role']);
  });

  it('sends instructions alone as contents, because Gemini needs some', () => {
    expect(encode({ turns: [system('Say hi.')] }).body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Say hi.' }] }],
    });
  });

  it('puts the results of a step in one content after its calls, with the names of the functions', () => {
    const turns: Turn[] = [
      ahoy,
      assistant(call('c1', 'f')),
      assistant(call('c2', 'g', { arguments: '{"n":1.0,"big":12345678901234567890}' })),
      tool(result('c1', 'one')),
      tool(result('c2', 'two', { isError: true })),
      user('Well?'),
    ];
    expect(encodeContents(turns, older)).toEqual([
      { role: 'user', parts: [{ text: 'Ahoy' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'c1', name: 'f', args: {} } },
          { functionCall: { id: 'c2', name: 'g', args: { n: 1, big: Number('12345678901234567890') } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'f', response: { output: 'one' } } },
          { functionResponse: { id: 'c2', name: 'g', response: { error: 'two' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'Well?' }] },
    ]);
    const { body } = protocol.upstream.encodeRequest(
      { model: 'a/b', stream: false, turns },
      older,
      undefined,
    );
    expect(JSON.stringify(body)).toContain('"args":{"n":1.0,"big":12345678901234567890}');
  });

  it('wraps the object of a result, because Google could read meaning into its field names', () => {
    expect(encodeParts([tool(result('c9', '{"$ref":"x"}', { name: 'f' }))])).toEqual([
      { functionResponse: { id: 'c9', name: 'f', response: { output: '{"$ref":"x"}' } } },
    ]);
  });

  it('sends arguments that are no JSON object as text', () => {
    expect(
      encodeParts(
        [ahoy, assistant(call('c1', 'f', { arguments: '{"cut' }), call('c2', 'f', { arguments: '' }))],
        older,
      ),
    ).toMatchObject([{}, { functionCall: { args: { _raw: '{"cut' } } }, { functionCall: { args: {} } }]);
  });

  it('begins with a marked user message where it would begin with a call', () => {
    const { body, lost } = encode({ turns: [assistant(call('c1')), tool(result('c1'))] });
    expect(body.contents).toMatchObject([
      { role: 'user', parts: [{ text: '<system>\nThe conversation begins with the assistant.\n</system>' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
      { role: 'user' },
    ]);
    expect(lost).toEqual(['turns[0]']);
  });

  it('omits empty texts', () => {
    expect(encodeContents([ahoy, assistant(''), ahoy])).toEqual([
      { role: 'user', parts: [{ text: 'Ahoy' }, { text: 'Ahoy' }] },
    ]);
  });
});

describe('a client that stores a stream chunk by chunk', () => {
  it("gets one turn of its chunks, with whole reasoning under the vendor's seal", () => {
    const model = (part: unknown): unknown => ({ role: 'model', parts: [part] });
    const { turns } = makeCall({
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        model({ text: 'Let me', thought: true }),
        model({ text: ' think.', thought: true }),
        model({ text: '', thought: true, thoughtSignature: seal(claudes) }),
        model({ functionCall: { id: 'c1', name: 'f', args: {} } }),
        model({ functionCall: { id: 'c2', name: 'f', args: {} } }),
        model({ text: '' }),
      ],
    }).decode();
    expect(turns).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        blocks: [
          { type: 'reasoning', text: 'Let me think.', opaque: [claudes] },
          { type: 'tool-call', id: 'c1' },
          { type: 'tool-call', id: 'c2' },
          { type: 'text', text: '' },
        ],
      },
    ]);
  });
});

it('decoding calls without ids makes stable ids, and matches results by name and order', () => {
  const body = {
    contents: [
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'f' } },
          { functionCall: { name: 'g' } },
          { functionCall: { name: 'f' } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { output: '1' } } },
          { functionResponse: { id: 'theirs', name: 'f', response: { output: '2' } } },
          { functionResponse: { name: 'g', response: { output: '3' } } },
        ],
      },
    ],
  };
  const pairResults = (): unknown[] => {
    const [model, answers] = makeCall(body).decode().turns;
    const ids = model?.blocks.map((block) => (block.type === 'tool-call' ? block.id : ''));
    return (
      answers?.blocks.map((block) => (block.type === 'tool-result' ? ids?.indexOf(block.callId) : -1)) ?? []
    );
  };
  expect(pairResults()).toEqual([0, 2, 1]);
  expect(makeCall(body).decode()).toEqual(makeCall(body).decode());
});
