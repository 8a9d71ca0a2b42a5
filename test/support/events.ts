/** Canonical events of replies, as short as a test can write them. */
import type { CanonicalEvent } from '../../core/index.ts';

type Start = Extract<CanonicalEvent, { type: 'block-start' }>;
type End = Extract<CanonicalEvent, { type: 'block-end' }>;

/** A block of pieces, with facts of its first and its last event. */
export function buildBlock(
  block: number,
  kind: Start['kind'],
  pieces: readonly string[],
  facts: Partial<Start> = {},
  opaque?: End['opaque'],
  candidate = 0,
): CanonicalEvent[] {
  const place = { candidate, block };
  return [
    { type: 'block-start', ...place, kind, ...facts },
    ...pieces.map((text): CanonicalEvent => ({ type: 'block-delta', ...place, text })),
    { type: 'block-end', ...place, ...(opaque ? { opaque } : {}) },
  ];
}
