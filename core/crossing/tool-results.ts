/**
 * Ensures that each tool call has one result, and each result a call. Providers refuse a second one, or take
 * it for the result of another call. The last result counts, in the place of the first, since most protocols
 * allow nothing else after a call.
 */
import type { Block, CanonicalRequest, Turn } from '../canonical/request.ts';
import { checkTexts } from '../http/json-body.ts';
import type { Loss } from '../loss.ts';
import type { ChangedRequest } from './pieces.ts';

type Call = Extract<Block, { type: 'tool-call' }>;
type Result = Extract<Block, { type: 'tool-result' }>;

/**
 * Throws `invalid_request` if the arguments of tool calls are too much JSON. Some protocols carry them as
 * text and others as objects, so translation parses them: brackets in a text would hold the event loop for
 * seconds, as they would in a body.
 */
export function checkArguments({ turns }: CanonicalRequest): void {
  const calls = turns.flatMap(({ blocks }) => blocks.filter((block) => block.type === 'tool-call'));
  checkTexts(calls.filter(({ custom }) => !custom).map((call) => call.arguments));
}

/** One result for each tool call, and for another protocol each result where that protocol wants it. */
export function repairToolResults(asked: CanonicalRequest, isForeign: boolean): ChangedRequest {
  if (!hasTools(asked)) return { request: asked, losses: [] };
  const once = dedupeToolResults(asked);
  if (!isForeign) return once;
  const { request, losses } = completeToolResults(once.request);
  return { request, losses: [...once.losses, ...losses] };
}

/** Whether a conversation has calls or results. Most have none. */
function hasTools({ turns }: CanonicalRequest): boolean {
  return turns.some(({ blocks }) =>
    blocks.some(({ type }) => type === 'tool-call' || type === 'tool-result'),
  );
}

/**
 * Which results belong to which calls. Some providers reuse call ids in every reply. While an id has more
 * calls than results, a result is the first of its own call.
 */
function matchResults(turns: readonly Turn[]) {
  const waiting = new Map<string, Block[]>();
  const latest = new Map<string, Block[]>();
  /** All results of each call, by the first of them. */
  const results = new Map<Block, readonly Block[]>();
  const unanswered = new Set<Block>();
  /** Results whose call is not in the conversation, for example because the client has cut off its start. */
  const orphans = new Set<Block>();
  for (const block of turns.flatMap(({ blocks }) => blocks)) {
    if (block.type === 'tool-call') {
      const calls = waiting.get(block.id);
      if (calls) calls.push(block);
      else waiting.set(block.id, [block]);
      unanswered.add(block);
    }
    if (!isResult(block)) continue;
    const call = waiting.get(block.callId)?.shift();
    const earlier = call ? undefined : latest.get(block.callId);
    if (earlier) {
      earlier.push(block);
      continue;
    }
    if (call) unanswered.delete(call);
    else orphans.add(block);
    const own = [block];
    latest.set(block.callId, own);
    results.set(block, own);
  }
  return { results, unanswered, orphans };
}

function isResult(block: Block): block is Result {
  return block.type === 'tool-result';
}

export function dedupeToolResults(request: CanonicalRequest): ChangedRequest {
  const { results } = matchResults(request.turns);
  const repeated = [...results.values()].filter(({ length }) => length > 1);
  if (repeated.length === 0) return { request, losses: [] };
  const keepLatest = (block: Block): Block[] =>
    isResult(block) ? (results.get(block)?.slice(-1) ?? []) : [block];
  const turns = request.turns.flatMap((turn) => {
    const blocks = turn.blocks.flatMap(keepLatest);
    return blocks.length === 0 && turn.blocks.length > 0 ? [] : [{ ...turn, blocks }];
  });
  const losses = repeated
    .flatMap((all) => all.slice(0, -1))
    .map(({ at = 'tool-result' }): Loss => ({
      path: at,
      reason: 'a later result of the same call replaces it',
      code: 'approximated',
    }));
  return { request: { ...request, turns }, losses };
}

/**
 * Adds a call before each result that has none, since providers refuse the request otherwise:
 * in the step that the turn answers, or in a turn of its own.
 */
function addMissingCalls(turns: Turn[], orphans: ReadonlySet<Block>, losses: Loss[]): Turn[] {
  if (orphans.size === 0) return turns;
  const complete: Turn[] = [];
  /** Where the calls are that the coming results answer. */
  let step: number | undefined;
  for (const turn of turns) {
    const missing = turn.blocks.filter((block): block is Result => isResult(block) && orphans.has(block));
    const calls = missing.map(createMissingCall);
    const answered = step === undefined ? undefined : complete[step];
    if (calls.length > 0 && step !== undefined && answered)
      complete[step] = { ...answered, blocks: [...answered.blocks, ...calls] };
    else if (calls.length > 0) complete.push({ role: 'assistant', blocks: calls });
    for (const { at = 'tool-result' } of missing)
      losses.push({ path: at, reason: 'it has no call, so one is sent that says so', code: 'approximated' });
    complete.push(turn);
    if (turn.role === 'assistant') step = complete.length - 1;
    else if (!turn.blocks.some(isResult)) step = undefined;
  }
  return complete;
}

function createMissingCall({ callId: id, name = 'missing_call', custom }: Result): Block {
  return { type: 'tool-call', id, name, arguments: custom ? '' : '{}', ...(custom ? { custom } : {}) };
}

/** Splits a model turn that contains results, as Gemini allows: text and calls, results, and so on. */
function splitResults(turn: Turn): Turn[] {
  if (turn.role !== 'assistant' || !turn.blocks.some(isResult)) return [turn];
  const pieces: Turn[] = [];
  for (const block of turn.blocks) {
    const role = isResult(block) ? 'tool' : 'assistant';
    const last = pieces.at(-1);
    if (last?.role === role) last.blocks.push(block);
    else pieces.push({ ...turn, role, blocks: [block] });
  }
  return pieces;
}

/**
 * Puts results where other protocols expect them: after their calls, in a separate turn. A call without a
 * result before the next turn gets one that says so, and a result without a call gets a call, since providers
 * refuse the request otherwise.
 */
export function completeToolResults(request: CanonicalRequest): ChangedRequest {
  const losses: Loss[] = [];
  const split = request.turns.flatMap(splitResults);
  const { orphans, unanswered } = matchResults(split);
  const turns = addMissingCalls(split, orphans, losses);
  const isOpen = (block: Block): block is Call => block.type === 'tool-call' && unanswered.has(block);
  if (unanswered.size === 0)
    return {
      request: turns === split && turns.length === request.turns.length ? request : { ...request, turns },
      losses,
    };
  const complete: Turn[] = [];
  let open: Call[] = [];
  for (const turn of turns) {
    if (open.length > 0 && turn.role !== 'assistant') {
      complete.push({ role: 'tool', blocks: open.map(createMissingResult) });
      for (const { at = 'tool-call' } of open)
        losses.push({
          path: at,
          reason: 'it has no result, so one that says so is sent',
          code: 'approximated',
        });
      open = [];
    }
    complete.push(turn);
    for (const block of turn.blocks) if (isOpen(block)) open.push(block);
  }
  return { request: { ...request, turns: complete }, losses };
}

function createMissingResult({ id, name, custom }: Call): Block {
  return {
    type: 'tool-result',
    callId: id,
    name,
    content: [{ type: 'text', text: 'The call was not answered.' }],
    ...(custom ? { custom } : {}),
  };
}
