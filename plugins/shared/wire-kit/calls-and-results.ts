/**
 * Puts tool calls and their results into the form that most protocols require: unique call ids, and results
 * directly behind their calls.
 */
import type { Block, Turn } from '../../../core/index.ts';

/** New ids for the calls of one step that had the same id. */
interface RenamedCalls {
  readonly step: number;
  readonly ids: string[];
  answered: number;
}

function areCallIdsUnique(turns: readonly Turn[]): boolean {
  const ids = new Set<string>();
  let calls = 0;
  for (const { blocks } of turns) {
    for (const block of blocks) {
      if (block.type !== 'tool-call') continue;
      ids.add(block.id);
      calls += 1;
    }
  }
  return ids.size === calls;
}

/** Makes new ids from given ones. Later turns do not change the ids of earlier ones. */
class FreshIds {
  readonly #taken = new Set<string>();
  /** The last number used for each id: counting from two each time would take quadratic time. */
  readonly #times = new Map<string, number>();

  make(id: string): string {
    let times = this.#times.get(id) ?? 1;
    let fresh = times === 1 ? id : `${id}_${times}`;
    while (this.#taken.has(fresh)) fresh = `${id}_${(times += 1)}`;
    this.#times.set(id, times);
    this.#taken.add(fresh);
    return fresh;
  }
}

/**
 * Gives each call whose id was used before a new one. Some providers number the calls of every reply from
 * zero (`call_0`). Most others refuse a repeated id, or give its result to the wrong call. Results with such
 * an id answer the calls of the latest step that used it, in order.
 */
export function makeCallIdsUnique(turns: readonly Turn[]): readonly Turn[] {
  if (areCallIdsUnique(turns)) return turns;
  const fresh = new FreshIds();
  const waiting = new Map<string, RenamedCalls>();
  const rename = (block: Block, step: number): Block => {
    if (block.type === 'tool-call') {
      const before = waiting.get(block.id);
      const own: RenamedCalls = before?.step === step ? before : { step, ids: [], answered: 0 };
      own.ids.push(fresh.make(block.id));
      waiting.set(block.id, own);
      return { ...block, id: own.ids.at(-1) ?? block.id };
    }
    if (block.type !== 'tool-result') return block;
    const known = waiting.get(block.callId);
    if (!known) return block;
    const callId = known.ids[known.answered] ?? block.callId;
    if (known.answered < known.ids.length - 1) known.answered += 1;
    return { ...block, callId };
  };
  return turns.map((turn, step) => ({ ...turn, blocks: turn.blocks.map((block) => rename(block, step)) }));
}

export function isInstruction({ role }: Turn): boolean {
  return role === 'system' || role === 'developer';
}

/** Marks the text of instructions in a message of the user. */
export function markInstruction(text: unknown): string {
  return `<system>\n${String(text)}\n</system>`;
}

/** A turn and its index in the request, which names its losses. */
export type PlacedTurn = readonly [index: number, turn: Turn];

/** The step whose calls a turn answers; undefined if the turn does anything else. */
function findAnsweredStep<Step>({ blocks }: Turn, callers: ReadonlyMap<string, Step>): Step | undefined {
  const [first] = blocks;
  return first?.type === 'tool-result' && blocks.every(({ type }) => type === 'tool-result')
    ? callers.get(first.callId)
    : undefined;
}

/**
 * Moves the results of calls directly behind the calls. In responses, other turns may come between them: a
 * client reports there that a command was approved. Call ids must be unique.
 */
export function moveResultsToCalls(turns: readonly Turn[]): readonly PlacedTurn[] {
  const callers = new Map<string, PlacedTurn[]>();
  const steps: PlacedTurn[][] = [];
  for (const [index, turn] of turns.entries()) {
    // An answer continues the step of the answer before it.
    let step =
      turn.role === 'assistant' && turns[index - 1]?.role === 'assistant'
        ? steps.at(-1)
        : findAnsweredStep(turn, callers);
    if (!step) steps.push((step = []));
    step.push([index, turn]);
    for (const block of turn.blocks) if (block.type === 'tool-call') callers.set(block.id, step);
  }
  return steps.flat();
}
