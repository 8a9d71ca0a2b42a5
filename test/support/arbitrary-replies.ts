/** Generators of replies in canonical events, for property tests. */
import fc from 'fast-check';
import type { CanonicalEvent, Opaque, Usage } from '../../core/index.ts';
import { character, word } from './arbitrary.ts';
import { buildBlock } from './events.ts';

export interface SaidBlock {
  readonly kind: 'text' | 'reasoning' | 'refusal' | 'tool-call';
  readonly pieces: readonly string[];
  readonly id?: string;
  readonly name?: string;
  readonly custom?: boolean;
  readonly opaque?: Opaque[] | undefined;
}

export const pieces = fc.array(fc.string({ unit: character, minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
});

export const call = { kind: fc.constant('tool-call' as const), id: fc.uuid(), name: word };

export function hasCall(blocks: readonly SaidBlock[]): boolean {
  return blocks.some(({ kind }) => kind === 'tool-call');
}

export function buildEvents(said: SaidBlock, block: number, candidate = 0): CanonicalEvent[] {
  const { kind, pieces: texts, opaque, ...facts } = said;
  return buildBlock(block, kind, texts, facts, opaque, candidate);
}

/** Replies with one to three candidates, whose blocks are numbered in one row. */
export function buildCandidates(
  said: fc.Arbitrary<SaidBlock[]>,
  usage: fc.Arbitrary<Usage>,
): fc.Arbitrary<CanonicalEvent[]> {
  const ending = fc.constantFrom('stop', 'length', 'content-filter' as const);
  return fc
    .tuple(
      fc.array(fc.tuple(said, ending), { minLength: 1, maxLength: 3 }),
      fc.option(usage, { nil: undefined }),
    )
    .map(([candidates, counted]) => {
      let number = 0;
      const events = candidates.flatMap(([blocks, raw], candidate): CanonicalEvent[] => [
        ...blocks.flatMap((block) => buildEvents(block, number++, candidate)),
        {
          type: 'finish',
          candidate,
          reason: { unified: hasCall(blocks) && raw === 'stop' ? 'tool-calls' : raw, raw },
        },
      ]);
      return [
        { type: 'response-start' },
        ...events,
        ...(counted ? [{ type: 'usage' as const, usage: counted }] : []),
        { type: 'response-end' },
      ];
    });
}
