/** Replays a folder of recorded exchanges through a gateway, and says what differs. */
import { compare, type Difference } from './compare.ts';
import { readRecordings } from './recordings.ts';
import { createReplyCheck, type ReplyCheck } from './reply-schemas.ts';
import { openStage, type Outcome, type Stage, type Trial } from './stage.ts';
import { buildTrials } from './trials.ts';

export interface Replay {
  readonly recordings: number;
  readonly trials: number;
  readonly differences: readonly Difference[];
}

/** Names that the gateway makes up, and times: no two calls have the same. */
function redactChance({ text, model }: Outcome): string {
  return text
    .replaceAll(model, 'recorded/0')
    .replaceAll(/"(id|item_id|responseId|call_id|request_id|tool_use_id)":\s*"[^"]*"/g, '"$1":""')
    .replaceAll(/"(created|created_at|completed_at|createTime)":\s*("[^"]*"|[\d.]+)/g, '"$1":0');
}

/** A reply that came in pieces has to give what the same reply gives at once. */
export function comparePieces(
  { recording: { name, protocol }, client }: Trial,
  whole: Outcome,
  pieces: Outcome,
): Difference[] {
  const [one, other] = [redactChance(whole), redactChance(pieces)];
  // A stream is translated as it arrives: what it says counts, and not into how many events it is cut.
  if (whole.status === pieces.status && (one === other || client !== protocol)) return [];
  return [
    {
      class: 'pieces-differ',
      recording: name,
      protocol,
      client,
      detail: `${whole.status} ${one.length} bytes became ${pieces.status} ${other.length} bytes`,
    },
  ];
}

async function replayOne(stage: Stage, trials: readonly Trial[], check: ReplyCheck): Promise<Difference[]> {
  const differences: Difference[] = [];
  let whole: Outcome | undefined;
  for (const trial of trials) {
    const outcome = await stage.perform(trial);
    differences.push(...compare(trial, outcome, check));
    if (trial.inPieces && whole) differences.push(...comparePieces(trial, whole, outcome));
    whole = trial.inPieces ? undefined : outcome;
  }
  return differences;
}

/** How many recordings are replayed at once: some wait for a retry. */
const atOnce = 4;

export async function replayFolder(folder: string): Promise<Replay> {
  const groups = readRecordings(folder).map(buildTrials);
  const stage = await openStage(groups.flat());
  try {
    const check = await createReplyCheck(stage.url);
    const waiting = [...groups.entries()];
    const found: Difference[][] = [];
    const replayWaiting = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        found[next[0]] = await replayOne(stage, next[1], check);
    };
    await Promise.all(Array.from({ length: atOnce }, replayWaiting));
    return { recordings: groups.length, trials: groups.flat().length, differences: found.flat() };
  } finally {
    await stage.close();
  }
}
