/**
 * A conversation with the results of calls right behind them, as most wires want it. On that of responses something else
 * may stand between the two: Codex tells the model there that a command was approved.
 */
import type { Turn } from '../../core/index.ts';

/** A turn, and where it stands in its request: by that its losses are told. */
type Placed = readonly [index: number, turn: Turn];

/** The step whose calls a turn answers, where it does nothing else. */
function answeredBy<Step>({ blocks }: Turn, callers: ReadonlyMap<string, Step>): Step | undefined {
  const [first] = blocks;
  return first?.type === 'tool-result' && blocks.every(({ type }) => type === 'tool-result') ? callers.get(first.callId) : undefined;
}

/** Passed turns whose calls have an id each. */
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
