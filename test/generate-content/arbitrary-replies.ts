/** Any reply, in canonical events. */
import fc from 'fast-check';
import type { CanonicalEvent } from '../../core/index.ts';
import { word } from '../support/arbitrary.ts';
import { values } from './arbitrary.ts';

type Said =
  | { kind: 'text' | 'reasoning'; pieces: string[]; sealed: boolean }
  | { kind: 'tool-call'; id: string; name: string; pieces: string[]; sealed: boolean };

const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});

const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text' as const, 'reasoning' as const), pieces, sealed: fc.boolean() }),
  fc.record({
    kind: fc.constant('tool-call' as const),
    id: fc.uuid(),
    name: word,
    pieces: values.map((args) => [JSON.stringify(args)]),
    sealed: fc.boolean(),
  }),
);

const ending = fc.constantFrom('stop', 'length', 'content-filter' as const);

const usage = fc
  .record({
    prompt: fc.nat(9999),
    toolPrompt: fc.nat(99),
    visible: fc.nat(9999),
    reasoning: fc.nat(999),
    cacheRead: fc.nat(99),
  })
  .map(({ prompt, visible, ...known }) => ({
    ...known,
    input: prompt + known.toolPrompt,
    output: visible + known.reasoning,
  }));

/**
 * The blocks of one candidate as events, numbered from `first`; never two text blocks in a row, which no
 * stream can separate.
 */
function blockEvents(blocks: readonly Said[], candidate: number, first: number): CanonicalEvent[] {
  return blocks.flatMap((block, index): CanonicalEvent[] => {
    const place = { candidate, block: first + index };
    const opaque = block.sealed
      ? [{ vendor: index % 2 ? 'anthropic' : 'google', kind: 'signature', value: 'c2VhbA==' }]
      : undefined;
    return [
      {
        type: 'block-start',
        ...place,
        kind: block.kind,
        ...(block.kind === 'tool-call' ? { id: block.id, name: block.name } : {}),
      },
      ...block.pieces.map((piece): CanonicalEvent => ({ type: 'block-delta', ...place, text: piece })),
      { type: 'block-end', ...place, ...(opaque ? { opaque } : {}) },
    ];
  });
}

/** Whole replies as any protocol's decoder may return them. */
export const replyEvents = fc
  .tuple(
    fc.array(fc.tuple(fc.array(said, { maxLength: 4 }), ending), { minLength: 1, maxLength: 3 }),
    fc.option(usage, { nil: undefined }),
  )
  .map(([candidates, counted]): CanonicalEvent[] => {
    let blocks = 0;
    const bodies = candidates.map(([list, unified], candidate): CanonicalEvent[] => {
      const apart = list.filter(({ kind }, index) => kind === 'tool-call' || kind !== list[index - 1]?.kind);
      const events = blockEvents(apart, candidate, blocks);
      blocks += apart.length;
      const calls = apart.some(({ kind }) => kind === 'tool-call');
      return [
        ...events,
        {
          type: 'finish',
          candidate,
          reason: { unified: calls && unified === 'stop' ? 'tool-calls' : unified, raw: unified },
        },
      ];
    });
    return [
      { type: 'response-start' },
      ...bodies.flat(),
      ...(counted ? [{ type: 'usage' as const, usage: counted }] : []),
      { type: 'response-end' },
    ];
  });
