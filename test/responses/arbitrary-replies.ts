/** Any reply, in canonical events. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { word } from '../support/arbitrary.ts';

type Said =
  | { kind: 'text' | 'reasoning' | 'refusal'; pieces: string[]; sealed: boolean }
  | { kind: 'tool-call'; id: string; name: string; pieces: string[]; custom: boolean; sealed: boolean };

const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});

const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning', 'refusal'), pieces, sealed: fc.boolean() }),
  fc.record({
    kind: fc.constant('tool-call' as const),
    id: fc.uuid(),
    name: word,
    pieces,
    custom: fc.boolean(),
    sealed: fc.boolean(),
  }),
);

const ending = fc.constantFrom('stop', 'length', 'content-filter' as const);

const usage = fc.record({
  input: fc.nat(9999),
  output: fc.nat(9999),
  cacheRead: fc.nat(999),
  cacheWrite5m: fc.nat(999),
  reasoning: fc.nat(999),
});

/** One vendor seals calls, another reasoning. Only calls in one piece have their sealed state in time. */
function sealOf(block: Said): { opaque: { vendor: string; kind: string; value: string }[] } | undefined {
  if (!block.sealed || block.kind === 'refusal' || block.kind === 'text') return undefined;
  if (block.kind === 'reasoning')
    return {
      opaque: [
        { vendor: block.pieces.length > 1 ? 'openai' : 'anthropic', kind: 'encrypted', value: 'c2VhbA==' },
      ],
    };
  return block.pieces.length > 1
    ? undefined
    : { opaque: [{ vendor: 'google', kind: 'signature', value: 'c2lnbg==' }] };
}

/** Whole replies that any decoder may emit, with one candidate: this protocol has no more. */
export const replyEvents = fc
  .tuple(fc.array(said, { maxLength: 5 }), ending, usage)
  .map(([blocks, unified, counted]): CanonicalEvent[] => {
    const calls = blocks.some(({ kind }) => kind === 'tool-call');
    const refused = blocks.some(({ kind }) => kind === 'refusal');
    const events = blocks.flatMap((block, index): CanonicalEvent[] => {
      const place = { candidate: 0, block: index };
      const facts =
        block.kind === 'tool-call'
          ? { id: block.id, name: block.name, ...(block.custom ? { custom: true } : {}) }
          : {};
      return [
        { type: 'block-start', ...place, kind: block.kind, ...facts },
        ...block.pieces.map((piece): CanonicalEvent => ({ type: 'block-delta', ...place, text: piece })),
        { type: 'block-end', ...place, ...sealOf(block) },
      ];
    });
    const reason = unified !== 'stop' ? unified : calls ? 'tool-calls' : refused ? 'refusal' : 'stop';
    return [
      { type: 'response-start' },
      ...events,
      { type: 'usage', usage: counted },
      { type: 'finish', candidate: 0, reason: { unified: reason, raw: unified } },
      { type: 'response-end' },
    ];
  });
