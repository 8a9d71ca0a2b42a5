import { describe, expect, it } from 'vitest';
import type { Block, Model, Turn } from '../../core/index.ts';
import { seal } from '../../plugins/shared/wire-kit/envelope.ts';
import { sendOwn } from '../support/families.ts';
import { ahoy, call, assistant, result, text, tool, user } from '../support/turns.ts';
import { makeModel, older, encode } from './bodies.ts';
import { claudes, encodeParts } from './encoded.ts';

const seal1 = { vendor: 'google', kind: 'signature', value: 'c2VhbA==' };
const placeholder = 'context_engineering_is_the_way_to_go';

describe('encoding sealed state', () => {
  it("returns Google's signature to its part, byte for byte", () => {
    const blocks: Block[] = [
      { type: 'reasoning', text: 'hm', opaque: [seal1] },
      { type: 'text', text: 'a', opaque: [seal1] },
      call('c1', 'f', { opaque: [seal1] }),
    ];
    const { body, lost } = encode({ turns: [ahoy, { role: 'assistant', blocks }] });
    expect(body.contents).toMatchObject([
      {},
      {
        parts: [
          { text: 'hm', thought: true, thoughtSignature: seal1.value },
          { text: 'a', thoughtSignature: seal1.value },
          { functionCall: { id: 'c1' }, thoughtSignature: seal1.value },
        ],
      },
    ]);
    expect(lost).toEqual([]);
  });

  it("reports another vendor's state as lost, with the reasoning it seals, and never makes up any", () => {
    const blocks: Block[] = [
      { type: 'reasoning', text: 'hm', opaque: [claudes] },
      { type: 'reasoning', text: 'unsealed' },
      text('a'),
      call('c1', 'f', { opaque: [claudes] }),
    ];
    const { body, lost } = encode({ turns: [ahoy, { role: 'assistant', blocks }] }, older);
    expect(body.contents).toEqual([
      { role: 'user', parts: [{ text: 'Ahoy' }] },
      { role: 'model', parts: [{ text: 'a' }, { functionCall: { id: 'c1', name: 'f', args: {} } }] },
    ]);
    expect(lost).toEqual(['turns[1].blocks[0]', 'turns[1].blocks[1]', 'turns[1].blocks[3].opaque']);
  });

  it("does not send Google's signature to models of other vendors", () => {
    const blocks: Block[] = [
      { type: 'reasoning', text: 'hm', opaque: [seal1] },
      { type: 'text', text: 'a', opaque: [seal1] },
    ];
    expect(
      encode({ turns: [{ role: 'assistant', blocks }] }, makeModel({ id: 'acme/gemini-clone' })).lost,
    ).toEqual(['turns[0].blocks[0]', 'turns[0].blocks[1].opaque']);
  });

  it('puts the placeholder on the first call of each step of the current turn, if the model checks', () => {
    const turns: Turn[] = [
      ahoy,
      assistant(call('old')),
      tool(result('old')),
      user('Go on.'),
      assistant('Two.', call('a1'), call('a2')),
      tool(result('a1'), result('a2')),
      assistant(call('b1', 'f', { opaque: [seal1] })),
      tool(result('b1')),
      assistant(call('c1', 'f', { opaque: [claudes] })),
      tool(result('c1')),
    ];
    const encodeSignatures = (model?: Model): unknown[] =>
      encodeParts(turns, model).flatMap((part) => (part.functionCall ? [part.thoughtSignature ?? null] : []));
    expect(encodeSignatures()).toEqual([null, placeholder, null, seal1.value, placeholder]);
    expect(encodeSignatures(older)).toEqual([null, null, null, seal1.value, null]);
    expect(encodeSignatures(makeModel({ id: 'acme/gemini-4' }))).toEqual([null, null, null, null, null]);
    expect(encodeSignatures(makeModel({ upstream: 'gemini-flash-latest' }))).toEqual([
      null,
      placeholder,
      null,
      seal1.value,
      placeholder,
    ]);
  });

  it("gives a client's call with another vendor's state the placeholder, if the model checks it", () => {
    const turn = (thoughtSignature?: string): unknown => ({
      role: 'model',
      parts: [{ functionCall: { name: 'f' }, thoughtSignature }],
    });
    const encodeSigned = (thoughtSignature?: string, model?: Model): unknown => {
      const body = { contents: [{ parts: [{ text: 'x' }] }, turn(thoughtSignature)] };
      return sendOwn('generate-content', body, model && { model }).body.contents;
    };
    expect(encodeSigned(seal(claudes))).toMatchObject([{}, { parts: [{ thoughtSignature: placeholder }] }]);
    expect(encodeSigned()).toMatchObject([{}, { parts: [{ thoughtSignature: placeholder }] }]);
    expect(encodeSigned(undefined, older)).toEqual([
      { parts: [{ text: 'x' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
    ]);
  });
});
