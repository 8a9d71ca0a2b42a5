/**
 * Puts the results of calls directly behind the calls, as most protocols want them. In responses something else may
 * stand in between: Codex tells the model there that a command was approved.
 */
import type { Turn } from '../../../core/index.ts';

/** A turn and its index in the request, by which its losses are named. */
type Placed = readonly [index: number, turn: Turn];

/** The step whose calls a turn answers, if the turn does nothing else. */
function answeredBy<Step>({ blocks }: Turn, callers: ReadonlyMap<string, Step>): Step | undefined {
  const [first] = blocks;
  return first?.type === 'tool-result' && blocks.every(({ type }) => type === 'tool-result')
    ? callers.get(first.callId)
    : undefined;
}

/** The id of each call has to be unique in these turns. */
export function inSteps(turns: readonly Turn[]): readonly Placed[] {
  const callers = new Map<string, Placed[]>();
  const steps: Placed[][] = [];
  for (const [index, turn] of turns.entries()) {
    const goesOn = turn.role === 'assistant' && turns[index - 1]?.role === 'assistant';
    let step = goesOn ? steps.at(-1) : answeredBy(turn, callers);
    if (!step) steps.push((step = []));
    step.push([index, turn]);
    for (const block of turn.blocks) if (block.type === 'tool-call') callers.set(block.id, step);
  }
  return steps.flat();
}
