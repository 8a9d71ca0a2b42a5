/**
 * The forms of a reply: one object; chunks as events whose lines end in CRLF, without a name or an end; or
 * the same chunks as one array of JSON, element by element.
 */
import type { Frame } from '../delivery.ts';
import { staged, type SentEvent } from '../sending.ts';
import type { Candidate, Composition, Piece } from './composition.ts';
import { errorBody } from './refusals.ts';
import { usageMetadata, type Spent } from './usage.ts';

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

function content(parts: readonly object[]): object {
  return { content: { ...(parts.length ? { parts } : {}), role: 'model' } };
}

function said({ part }: Piece): object[] {
  return Object.keys(part).length ? [part] : [];
}

/** Texts of one kind that follow each other are one part. */
function joined(pieces: readonly Piece[]): object[] {
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

function blocked({ identity, scenario, prompt }: Composition): object {
  const promptFeedback = { blockReason: scenario.blocked, blockReasonMessage: 'The prompt was blocked.' };
  return { promptFeedback, ...usageMetadata(prompt, nothing, scenario), ...identity };
}

export function whole(composition: Composition): object {
  const { identity, scenario, candidates, prompt } = composition;
  if (scenario.blocked) return blocked(composition);
  const written = candidates.map(({ pieces, ending }, index) => ({
    ...content(joined(pieces)),
    ...ending,
    index,
  }));
  const spent = candidates
    .flatMap(({ pieces }) => pieces)
    .reduce((sum, piece) => add(sum, piece.spent), nothing);
  return { candidates: written, ...usageMetadata(prompt, spent, scenario), ...identity };
}

/** A candidate's chunks: its pieces, its end with the last text, or with an empty one after anything else. */
function* candidateChunks(
  { pieces, ending }: Candidate,
  endless: boolean,
): Generator<{ readonly candidate: object; readonly spent: Piece['spent'] }> {
  const last = pieces.at(-1);
  const endsInText = typeof last?.part.text === 'string' && !last.part.thought;
  for (const piece of endsInText ? pieces.slice(0, -1) : pieces)
    yield { candidate: content(said(piece)), spent: piece.spent };
  if (endless)
    for (;;) yield { candidate: content([{ text: String(last?.part.text ?? ' more') }]), spent: { text: 1 } };
  const cut = ending.finishReason !== 'STOP' && !endsInText;
  const closing = endsInText && last ? said(last) : cut ? [] : [{ text: '' }];
  yield { candidate: { ...content(closing), ...ending }, spent: endsInText && last ? last.spent : {} };
}

interface Chunk {
  readonly body: object;
  readonly tokens: number;
}

function* chunks(composition: Composition): Generator<Chunk> {
  const { identity, scenario, candidates, prompt } = composition;
  if (scenario.blocked) yield { body: blocked(composition), tokens: 0 };
  let spent = nothing;
  let open = candidates.map((candidate, index) => ({
    index,
    source: candidateChunks(candidate, scenario.endless ?? false),
  }));
  while (open.length) {
    const going: typeof open = [];
    for (const one of open) {
      const { value, done } = one.source.next();
      if (done) continue;
      spent = add(spent, value.spent);
      const { text = 0, pictures = 0, sounds = 0, thoughts = 0 } = value.spent;
      yield {
        body: {
          candidates: [{ ...value.candidate, index: one.index }],
          ...usageMetadata(prompt, spent, scenario),
          ...identity,
        },
        tokens: text + pictures + sounds + thoughts,
      };
      going.push(one);
    }
    open = going;
  }
}

function failureOf({ scenario }: Composition): object {
  return errorBody({
    code: 503,
    status: 'UNAVAILABLE',
    message: 'The model is overloaded. Please try again later.',
    ...scenario.fail?.error,
  });
}

function* events(composition: Composition): Generator<SentEvent> {
  for (const { body, tokens } of chunks(composition))
    yield { frame: `data: ${JSON.stringify(body)}\r\n\r\n`, tokens };
}

function* elements(composition: Composition): Generator<SentEvent> {
  let first = true;
  for (const { body, tokens } of chunks(composition)) {
    yield { frame: `${first ? '[' : ',\r\n'}${JSON.stringify(body, null, 2)}`, tokens };
    first = false;
  }
  yield { frame: '\n]\n', tokens: 0 };
}

export function eventFrames(composition: Composition): Generator<Frame> {
  return staged(events(composition), composition.scenario, () => [
    `data: ${JSON.stringify(failureOf(composition))}\r\n\r\n`,
  ]);
}

export function arrayFrames(composition: Composition): Generator<Frame> {
  return staged(elements(composition), composition.scenario, (sent) => [
    `${sent ? ',\r\n' : '['}${JSON.stringify(failureOf(composition), null, 2)}\n]\n`,
  ]);
}
