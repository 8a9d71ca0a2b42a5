import { describe, expect, it } from 'vitest';
import { chunk, decode, decodeChunks, foreign } from './upstream-events.ts';

describe('a function call', () => {
  it('gets an id if it has none, which differs between replies and not between two readings of one', () => {
    const decodeIds = (responseId: string): unknown[] =>
      decodeChunks([
        {
          ...chunk([{ functionCall: { name: 'f' } }, { functionCall: { name: 'f' } }], {
            finishReason: 'STOP',
          }),
          responseId,
        },
      ]).candidates[0]?.calls.map(({ id }) => id) ?? [];
    expect(decodeIds('r1')).toEqual(decodeIds('r1'));
    expect(new Set([...decodeIds('r1'), ...decodeIds('r2')]).size).toBe(4);
  });

  it("is decoded to the custom tool's text", () => {
    const { calls = [] } =
      decodeChunks(
        [
          chunk(
            [
              { functionCall: { id: '1', name: 'patch', args: { input: '*** Begin' } } },
              { functionCall: { id: '2', name: 'patch', args: { odd: 1 } } },
            ],
            { finishReason: 'STOP' },
          ),
        ],
        foreign,
      ).candidates[0] ?? {};
    expect(calls).toMatchObject([
      { name: 'patch', custom: true, arguments: '*** Begin' },
      { name: 'patch', custom: true, arguments: '{"odd":1}' },
    ]);
    expect(
      decodeChunks([
        chunk([{ functionCall: { name: 'patch', args: { input: 'x' } } }], { finishReason: 'STOP' }),
      ]).candidates[0]?.calls,
    ).toMatchObject([{ custom: false, arguments: '{"input":"x"}' }]);
  });

  it('cannot reach a prototype or exhaust memory with its partial arguments', () => {
    const pieces = [
      { jsonPath: '$.__proto__.polluted', stringValue: 'x' },
      { jsonPath: '$.list[4294967290]', stringValue: 'x' },
      { jsonPath: '$', stringValue: 'x' },
      { jsonPath: 5 },
      null,
      { jsonPath: '$.a' },
      { jsonPath: '$.b[0].c', numberValue: 2 },
    ];
    const { calls = [] } =
      decodeChunks([
        chunk([{ functionCall: { name: 'f', partialArgs: pieces, willContinue: true } }]),
        chunk([{ functionCall: {} }], { finishReason: 'STOP' }),
      ]).candidates[0] ?? {};
    expect(calls[0]?.arguments).toBe('{"__proto__":{"polluted":"x"},"b":[{"c":2}]}');
    expect('polluted' in {}).toBe(false);
  });

  it("keeps Google's signature, and opens an envelope of ours", () => {
    const chunks = [
      chunk([{ functionCall: { name: 'f' }, thoughtSignature: 'AA_-' }], { finishReason: 'STOP' }),
    ];
    const sealed = [{ vendor: 'google', kind: 'signature', value: 'AA/+' }];
    expect(decodeChunks(chunks).candidates[0]?.calls[0]?.sealed).toEqual(sealed);
    expect(
      decode(chunks).find(({ type }) => type === 'block-start'),
      'the seal is on the first event too',
    ).toMatchObject({ kind: 'tool-call', opaque: sealed });
  });
});

it('sealed thoughts are two if they have two seals, whereas text with two seals is one block', () => {
  const decodeKinds = (thought: boolean): string[] =>
    decode([
      chunk([{ text: 'a', thought, thoughtSignature: 'AAAA' }]),
      chunk([{ text: 'b', thought }]),
      chunk([{ text: '', thought, thoughtSignature: 'BBBB' }], { finishReason: 'STOP' }),
    ]).flatMap((event) => (event.type === 'block-start' ? [event.kind] : []));
  expect(decodeKinds(true)).toEqual(['reasoning', 'reasoning']);
  expect(decodeKinds(false)).toEqual(['text']);
});
