import { describe, expect, it } from 'vitest';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { ahoy, call, assistant, developer, result, system, tool, user } from '../support/turns.ts';
import { makeCall, protocol, encode } from './bodies.ts';
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

  it('wraps the object of a result, because Google could read meaning into its field names', () => {
    expect(encodeParts([tool(result('c9', '{"$ref":"x"}', { name: 'f' }))])).toEqual([
      { functionResponse: { id: 'c9', name: 'f', response: { output: '{"$ref":"x"}' } } },
    ]);
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

it('an id that the gateway made for a call reaches Google if a client of another protocol sends it', () => {
  const reply = {
    candidates: [{ content: { parts: [{ functionCall: { name: 'f' } }] }, finishReason: 'STOP' }],
  };
  const [id = ''] = protocol.upstream
    .decodeReply(reply, makeCall())
    .flatMap((event) => (event.type === 'block-start' && event.id ? [event.id] : []));
  expect(encodeParts([user('Go'), assistant(call(id)), tool(result(id))])).toMatchObject([
    { text: 'Go' },
    { functionCall: { id } },
    { functionResponse: { id } },
  ]);
});
