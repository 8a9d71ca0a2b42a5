/**
 * The reply as a stream: the chunks in the vendor's order (role, words, calls, finish, usage, `[DONE]`), each
 * with the padding field the vendor adds, and then whatever the scenario slips in between or breaks off with.
 */
import type { Frame } from '../delivery.ts';
import type { Scenario, Sound } from '../scenario.ts';
import { stageFrames, takeTurns, type SentEvent } from '../sending.ts';
import { streamCallFragments, type Speech, type SpokenCall } from '../speech.ts';
import { expiry } from './completion.ts';
import {
  buildAnnotations,
  buildLogprobs,
  buildTrailer,
  getFinishReason,
  type Composition,
} from './composition.ts';
import { serverError } from './refusals.ts';

interface Delta {
  readonly delta: object;
  readonly finish?: string;
  /** The text whose log probabilities ride on the same chunk. */
  readonly text?: string;
  /** Tokens of output this delta delivers. */
  readonly tokens: number;
}

function buildCallHead({ id, freeform, name }: SpokenCall, index: number): Delta {
  const empty = freeform
    ? { type: 'custom', custom: { name, input: '' } }
    : { type: 'function', function: { name, arguments: '' } };
  return { delta: { tool_calls: [{ index, id, ...empty }] }, tokens: 1 };
}

function buildCallFragment({ freeform }: SpokenCall, index: number, fragment: string): Delta {
  const said = freeform ? { custom: { input: fragment } } : { function: { arguments: fragment } };
  return { delta: { tool_calls: [{ index, ...said }] }, tokens: 1 };
}

/** One call after the other; interleaved ones all begin before any of them goes on. */
function* streamCallDeltas(calls: readonly SpokenCall[], interleaved: boolean): Generator<Delta> {
  const open = [...calls.entries()];
  for (const group of interleaved ? [open] : open.map((one) => [one])) {
    for (const [index, call] of group) yield buildCallHead(call, index);
    const spoken = streamCallFragments(
      group.map(([, call]) => call),
      true,
    );
    for (const { index: place, fragment } of spoken) {
      const [index, call] = group[place] ?? [];
      if (index !== undefined && call) yield buildCallFragment(call, index, fragment);
    }
  }
}

/** A sound's name and words first, then its samples, then how long it is kept. */
function* streamSoundDeltas({ data, transcript }: Sound): Generator<Delta> {
  yield { delta: { audio: { id: 'audio_fake', transcript } }, tokens: 0 };
  for (const piece of data) yield { delta: { audio: { data: piece } }, tokens: 25 };
  yield { delta: { audio: { expires_at: expiry } }, tokens: 0 };
}

function* streamDeltas(speech: Speech, { endless = false, interleaved = false }: Scenario): Generator<Delta> {
  const { reasoning, text, refusal, calls, sound } = speech;
  yield { delta: { role: 'assistant', content: text ? '' : null, refusal: null }, tokens: 0 };
  for (const piece of reasoning) yield { delta: { reasoning_content: piece }, tokens: 1 };
  for (const piece of text ?? []) yield { delta: { content: piece }, text: piece, tokens: 1 };
  if (endless) for (;;) yield { delta: { content: text?.at(-1) ?? ' more' }, tokens: 1 };
  if (sound) yield* streamSoundDeltas(sound);
  for (const piece of refusal) yield { delta: { refusal: piece }, tokens: 1 };
  for (const annotation of buildAnnotations(speech))
    yield { delta: { annotations: [annotation] }, tokens: 0 };
  yield* streamCallDeltas(calls, interleaved);
  yield { delta: {}, finish: getFinishReason(speech), tokens: 0 };
}

interface Chunk {
  readonly body: object;
  readonly tokens: number;
}

function* streamChunks(composition: Composition): Generator<Chunk> {
  const { identity, request, usage } = composition;
  const head = {
    id: identity.id,
    object: 'chat.completion.chunk',
    created: identity.created,
    model: identity.model,
  };
  const tail = buildTrailer(composition);
  const asked = request.stream_options?.include_usage ?? false;
  const padded = request.stream_options?.include_obfuscation ?? true;
  let number = 0;
  const buildPadding = (): object => {
    number += 1;
    return padded ? { obfuscation: 'Rk3vT0xQ9bLw2ZsY'.slice((number * 7) % 16) } : {};
  };
  const speaking = composition.speeches.map((speech) => streamDeltas(speech, composition.scenario));
  for (const { index, item } of takeTurns(speaking)) {
    const { delta, finish, text, tokens } = item;
    const choices = [
      {
        index,
        delta,
        ...buildLogprobs(composition, text === undefined ? [] : [text]),
        finish_reason: finish ?? null,
      },
    ];
    yield {
      body: { ...head, ...tail, choices, ...(asked ? { usage: null } : {}), ...buildPadding() },
      tokens,
    };
  }
  if (asked && usage) yield { body: { ...head, ...tail, choices: [], usage, ...buildPadding() }, tokens: 0 };
}

function buildFrame(data: string): string {
  return `data: ${data}\n\n`;
}

function* streamFailure(
  { as = 'data', error = { ...serverError } }: NonNullable<Scenario['fail']>,
  { identity }: Composition,
): Generator<string> {
  if (as === 'data') yield buildFrame(JSON.stringify({ error }));
  if (as === 'event')
    yield `event: error\n${buildFrame(JSON.stringify({ error: { ...error, status_code: 400 } }))}`;
  if (as !== 'chunk') return;
  const choices = [
    { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null, logprobs: null },
  ];
  yield buildFrame(JSON.stringify({ ...identity, object: 'chat.completion.chunk', error, choices }));
  yield buildFrame('[DONE]');
}

function* streamEvents(composition: Composition): Generator<SentEvent> {
  for (const { body, tokens } of streamChunks(composition))
    yield { frame: buildFrame(JSON.stringify(body)), tokens };
  yield { frame: buildFrame('[DONE]'), tokens: 0 };
}

/** The frames of a streamed reply, in order. */
export function streamFrames(composition: Composition): Generator<Frame> {
  const { scenario } = composition;
  return stageFrames(streamEvents(composition), scenario, () =>
    scenario.fail ? [...streamFailure(scenario.fail, composition)] : [],
  );
}
