/**
 * The reply as a stream: the chunks in the vendor's order (role, words, calls, finish, usage, `[DONE]`), each
 * with the padding field the vendor adds, and then whatever the scenario slips in between or breaks off with.
 */
import type { Frame } from '../delivery.ts';
import type { Sound } from '../scenario.ts';
import { stageFrames, type SentEvent } from '../sending.ts';
import { expiry } from './completion.ts';
import { buildLogprobs, buildTrailer, type Composition } from './composition.ts';
import type { Scenario, StreamFailure } from './scenario.ts';
import type { Call, Speech } from './speech.ts';

interface Delta {
  readonly delta: object;
  readonly finish?: string;
  /** The text whose log probabilities ride on the same chunk. */
  readonly text?: string;
  /** Tokens of output this delta delivers. */
  readonly tokens: number;
}

function buildCallHead({ id, type, name }: Call, index: number): Delta {
  const empty = type === 'function' ? { function: { name, arguments: '' } } : { custom: { name, input: '' } };
  return { delta: { tool_calls: [{ index, id, type, ...empty }] }, tokens: 1 };
}

function buildCallFragment({ type }: Call, index: number, fragment: string): Delta {
  const said = type === 'function' ? { function: { arguments: fragment } } : { custom: { input: fragment } };
  return { delta: { tool_calls: [{ index, ...said }] }, tokens: 1 };
}

function* streamCallDeltas(calls: readonly Call[], interleaved: boolean): Generator<Delta> {
  if (!interleaved) {
    for (const [index, call] of calls.entries()) {
      yield buildCallHead(call, index);
      for (const fragment of call.fragments) yield buildCallFragment(call, index, fragment);
    }
    return;
  }
  for (const [index, call] of calls.entries()) yield buildCallHead(call, index);
  const rounds = Math.max(0, ...calls.map(({ fragments }) => fragments.length));
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, call] of calls.entries()) {
      const fragment = call.fragments[round];
      if (fragment !== undefined) yield buildCallFragment(call, index, fragment);
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
  const { reasoning, text, refusal, calls, annotations, sound, finish } = speech;
  yield { delta: { role: 'assistant', content: text ? '' : null, refusal: null }, tokens: 0 };
  for (const piece of reasoning) yield { delta: { reasoning_content: piece }, tokens: 1 };
  for (const piece of text ?? []) yield { delta: { content: piece }, text: piece, tokens: 1 };
  if (endless) for (;;) yield { delta: { content: text?.at(-1) ?? ' more' }, tokens: 1 };
  if (sound) yield* streamSoundDeltas(sound);
  for (const piece of refusal) yield { delta: { refusal: piece }, tokens: 1 };
  for (const annotation of annotations) yield { delta: { annotations: [annotation] }, tokens: 0 };
  yield* streamCallDeltas(calls, interleaved);
  yield { delta: {}, finish, tokens: 0 };
}

/** The deltas of all candidates in turn, as a vendor that works on them at once sends them. */
function* interleaveDeltas(composition: Composition): Generator<Delta & { readonly index: number }> {
  let open = composition.speeches.map((speech, index) => ({
    index,
    source: streamDeltas(speech, composition.scenario),
  }));
  while (open.length) {
    const going: typeof open = [];
    for (const candidate of open) {
      const { value, done } = candidate.source.next();
      if (done) continue;
      yield { ...value, index: candidate.index };
      going.push(candidate);
    }
    open = going;
  }
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
  for (const { index, delta, finish, text, tokens } of interleaveDeltas(composition)) {
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

const usualError = {
  message: 'The server had an error while processing your request.',
  type: 'server_error',
  param: null,
  code: null,
};

function* streamFailure(
  { as = 'data', error: said }: StreamFailure,
  { identity }: Composition,
): Generator<string> {
  const error = said ?? usualError;
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
