/**
 * The forms of a reply: one object; chunks as events whose lines end in CRLF, without a name or an end; or
 * the same chunks as one array of JSON, element by element.
 */
import type { Frame } from '../delivery.ts';
import { stageFrames, takeTurns, type SentEvent } from '../sending.ts';
import type { Candidate, Composition, Piece } from './composition.ts';
import { buildErrorBody } from './refusals.ts';
import { buildUsageMetadata, type Spent } from './usage.ts';

const nothing: Spent = { text: 0, pictures: 0, sounds: 0, thoughts: 0, toolUse: 0 };

function add(
  spent: Spent,
  { text = 0, pictures = 0, sounds = 0, thoughts = 0, toolUse = 0 }: Piece['spent'],
): Spent {
  return {
    text: spent.text + text,
    pictures: spent.pictures + pictures,
    sounds: spent.sounds + sounds,
    thoughts: spent.thoughts + thoughts,
    toolUse: spent.toolUse + toolUse,
  };
}

function buildContent(parts: readonly object[]): object {
  return { content: { ...(parts.length ? { parts } : {}), role: 'model' } };
}

function listParts({ part }: Piece): object[] {
  return Object.keys(part).length ? [part] : [];
}

/** Texts of one kind that follow each other are one part. */
function joinPieces(pieces: readonly Piece[]): object[] {
  const parts: Record<string, unknown>[] = [];
  for (const { part } of pieces) {
    const last = parts.at(-1);
    const { text, thought, thoughtSignature } = part;
    if (typeof text === 'string' && last && typeof last.text === 'string' && last.thought === thought) {
      last.text += text;
      if (thoughtSignature !== undefined) last.thoughtSignature = thoughtSignature;
    } else if (Object.keys(part).length) {
      parts.push({ ...part });
    }
  }
  return parts;
}

function buildBlocked({ identity, scenario, prompt }: Composition): object {
  const promptFeedback = { blockReason: scenario.blocked, blockReasonMessage: 'The prompt was blocked.' };
  return { promptFeedback, ...buildUsageMetadata(prompt, nothing, scenario), ...identity };
}

export function buildReply(composition: Composition): object {
  const { identity, scenario, candidates, prompt } = composition;
  if (scenario.blocked) return buildBlocked(composition);
  const written = candidates.map(({ pieces, ending }, index) => ({
    ...buildContent(joinPieces(pieces)),
    ...ending,
    index,
  }));
  const spent = candidates
    .flatMap(({ pieces }) => pieces)
    .reduce((sum, piece) => add(sum, piece.spent), nothing);
  return { candidates: written, ...buildUsageMetadata(prompt, spent, scenario), ...identity };
}

/** A candidate's chunks: its pieces, its end with the last text, or with an empty one after anything else. */
function* streamCandidate(
  { pieces, ending }: Candidate,
  endless: boolean,
): Generator<{ readonly candidate: object; readonly spent: Piece['spent'] }> {
  const last = pieces.at(-1);
  const endsInText = typeof last?.part.text === 'string' && !last.part.thought;
  for (const piece of endsInText ? pieces.slice(0, -1) : pieces)
    yield { candidate: buildContent(listParts(piece)), spent: piece.spent };
  if (endless)
    for (;;)
      yield { candidate: buildContent([{ text: String(last?.part.text ?? ' more') }]), spent: { text: 1 } };
  const cut = ending.finishReason !== 'STOP' && !endsInText;
  const closing = endsInText && last ? listParts(last) : cut ? [] : [{ text: '' }];
  yield { candidate: { ...buildContent(closing), ...ending }, spent: endsInText && last ? last.spent : {} };
}

interface Chunk {
  readonly body: object;
  readonly tokens: number;
}

function* streamChunks(composition: Composition): Generator<Chunk> {
  const { identity, scenario, candidates, prompt } = composition;
  if (scenario.blocked) yield { body: buildBlocked(composition), tokens: 0 };
  let spent = nothing;
  const speaking = candidates.map((candidate) => streamCandidate(candidate, scenario.endless ?? false));
  for (const { index, item } of takeTurns(speaking)) {
    spent = add(spent, item.spent);
    const { text = 0, pictures = 0, sounds = 0, thoughts = 0 } = item.spent;
    yield {
      body: {
        candidates: [{ ...item.candidate, index }],
        ...buildUsageMetadata(prompt, spent, scenario),
        ...identity,
      },
      tokens: text + pictures + sounds + thoughts,
    };
  }
}

function buildFailure({ scenario }: Composition): object {
  return buildErrorBody({
    code: 503,
    status: 'UNAVAILABLE',
    message: 'The model is overloaded. Please try again later.',
    ...scenario.fail?.error,
  });
}

function* streamEvents(composition: Composition): Generator<SentEvent> {
  for (const { body, tokens } of streamChunks(composition))
    yield { frame: `data: ${JSON.stringify(body)}\r\n\r\n`, tokens };
}

function* streamElements(composition: Composition): Generator<SentEvent> {
  let first = true;
  for (const { body, tokens } of streamChunks(composition)) {
    yield { frame: `${first ? '[' : ',\r\n'}${JSON.stringify(body, null, 2)}`, tokens };
    first = false;
  }
  yield { frame: '\n]\n', tokens: 0 };
}

export function streamEventFrames(composition: Composition): Generator<Frame> {
  return stageFrames(streamEvents(composition), composition.scenario, () => [
    `data: ${JSON.stringify(buildFailure(composition))}\r\n\r\n`,
  ]);
}

export function streamArrayFrames(composition: Composition): Generator<Frame> {
  return stageFrames(streamElements(composition), composition.scenario, (sent) => [
    `${sent ? ',\r\n' : '['}${JSON.stringify(buildFailure(composition), null, 2)}\n]\n`,
  ]);
}
