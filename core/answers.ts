/**
 * A call of a tool has one result: vendors refuse a second one, or take it for another call's. Of several the last one
 * counts, and stands where the first did, since hardly a wire lets anything else stand behind a call.
 */
import type { Block, CanonicalRequest } from './canonical/request.ts';
import type { Loss } from './loss.ts';

interface AnsweredOnce {
  readonly request: CanonicalRequest;
  /** The results in whose place another stands, as the client wrote them. */
  readonly losses: readonly Loss[];
}

/**
 * All results of each call, by the first of them. Some vendors give the calls of every reply the same ids: while more
 * calls than results have been seen under an id, a result is the first of its own call.
 */
function resultsOf({ turns }: CanonicalRequest): ReadonlyMap<Block, readonly Block[]> {
  const waiting = new Map<string, number>();
  const latest = new Map<string, Block[]>();
  const all = new Map<Block, readonly Block[]>();
  for (const block of turns.flatMap(({ blocks }) => blocks)) {
    if (block.type === 'tool-call') waiting.set(block.id, (waiting.get(block.id) ?? 0) + 1);
    if (block.type !== 'tool-result') continue;
    const { callId } = block;
    const calls = waiting.get(callId) ?? 0;
    const results = calls === 0 ? latest.get(callId) : undefined;
    waiting.set(callId, Math.max(0, calls - 1));
    if (results) results.push(block);
    else {
      const first = [block];
      latest.set(callId, first);
      all.set(block, first);
    }
  }
  return all;
}

/** The request with one result for each call. */
export function answeredOnce(request: CanonicalRequest): AnsweredOnce {
  const all = resultsOf(request);
  const repeated = [...all.values()].filter(({ length }) => length > 1);
  if (repeated.length === 0) return { request, losses: [] };
  const kept = (block: Block): Block[] => (block.type === 'tool-result' ? (all.get(block)?.slice(-1) ?? []) : [block]);
  const turns = request.turns.flatMap((turn) => {
    const blocks = turn.blocks.flatMap(kept);
    return blocks.length === 0 && turn.blocks.length > 0 ? [] : [{ ...turn, blocks }];
  });
  const losses = repeated.flatMap((results) => results.slice(0, -1)).map(({ at = 'tool-result' }): Loss => ({ path: at, reason: 'the same call is answered again further on', code: 'approximated' }));
  return { request: { ...request, turns }, losses };
}
