/**
 * Waits for the first output of a reply. What opens a stream (its id, its model) is held back until then, so
 * that another target can still take over.
 */
import type { RunningAttempt } from '../attempt.ts';
import { GatewayError } from '../errors.ts';
import { toText, type Piece, type Pieces } from '../lanes.ts';
import type { Loss } from '../loss.ts';
import type { ReplyMemory } from './reply-memory.ts';

/**
 * Characters before the first output. OpenAI's responses repeat the request's instructions and tools there,
 * twice.
 */
const longestOpening = 8 * 1024 * 1024;

export interface StartedReply {
  readonly losses: readonly Loss[];
  /** Whether it is a token count that we estimated. */
  readonly estimated: boolean;
  readonly first: IteratorResult<Piece, void>;
  readonly pieces: Pieces;
}

export async function awaitOutput(
  running: RunningAttempt,
  memory: ReplyMemory,
  pieces: Pieces,
  facts: Pick<StartedReply, 'losses' | 'estimated'>,
): Promise<StartedReply> {
  const opening = memory.openSlot();
  let first = await pieces.next();
  let held = '';
  while (!first.done && first.value.opening) {
    running.noteOpening();
    held += toText(first.value);
    if (held.length > longestOpening)
      throw new GatewayError('upstream_failed', 'The provider sent too much before its first output.');
    opening.set(held.length);
    first = await pieces.next();
  }
  if (first.done) throw new GatewayError('upstream_failed', 'The provider sent no reply.');
  if (held !== '') first = { done: false, value: { ...first.value, text: held + toText(first.value) } };
  opening.set(0);
  return { losses: facts.losses, estimated: facts.estimated, pieces, first };
}
