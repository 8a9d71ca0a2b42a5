/**
 * What a reply says of itself, in both directions: token counts and finish reasons. Corrects a reply that
 * goes to a client of this protocol as it is: most providers speak a dialect of it.
 */
import {
  toCount,
  type Usage,
  type FinishReason,
  splice,
  type CanonicalEvent,
  type EventOf,
} from '../../../core/index.ts';
import { considerCalls, readFinish, type CallsSeen } from '../../shared/vendors/finish-reason.ts';
import { decodeCacheWrites, sumCacheWrites } from '../../shared/wire-kit/cache-writes.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { readObject, keepKnown, readList, readMember, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';

/** Reads the tokens that `total_tokens` counts and neither `prompt_tokens` nor `completion_tokens` does. */
function readRest(wire: Fields): number {
  const completion = toCount(wire.completion_tokens);
  const prompt = toCount(wire.prompt_tokens);
  const total = toCount(wire.total_tokens);
  if (completion === undefined || prompt === undefined || total === undefined) return 0;
  return Math.max(0, total - prompt - completion);
}

/**
 * Reads the audio that `prompt_tokens` leave out. Mistral reports its tokens, or only its seconds; the rest
 * of the total proves that they are left out.
 */
function readOmittedAudio(wire: Fields, audio: number | undefined, reasoning = 0): number {
  const rest = readRest(wire);
  if (audio === undefined) return Number(wire.prompt_audio_seconds) > 0 ? rest : 0;
  return rest === audio || rest === audio + reasoning ? audio : 0;
}

/** Cached tokens outside the details: the names of DeepSeek, of Moonshot and Together, and of Mistral. */
function readCached({
  prompt_cache_hit_tokens: hits,
  cached_tokens: cached,
  num_cached_tokens: counted,
}: Fields): number | undefined {
  return toCount(hits) ?? toCount(cached) ?? toCount(counted);
}

function addCount(count: number | undefined, more: number): number | undefined {
  return count === undefined ? undefined : count + more;
}

/** Returns a chunk's counts. Groq sends them in `x_groq`, and Moonshot in the choice that ends. */
export function findUsage({ usage, x_groq: groq, choices }: Fields): Fields | undefined {
  if (isObject(usage)) return usage;
  if (isObject(groq) && isObject(groq.usage)) return groq.usage;
  return Array.isArray(choices) ? findChoiceUsage(choices) : undefined;
}

function findChoiceUsage(choices: readonly unknown[]): Fields | undefined {
  for (const choice of choices) if (isObject(choice) && isObject(choice.usage)) return choice.usage;
  return undefined;
}

/** Returns undefined if `wire` holds no counts. */
export function decodeUsage(wire: Fields): Usage | undefined {
  // Mistral documents both spellings.
  const prompt = readObject(wire.prompt_tokens_details ?? wire.prompt_token_details);
  const completion = readObject(wire.completion_tokens_details);
  const tools = isObject(wire.server_tool_use)
    ? wire.server_tool_use
    : readObject(wire.server_tool_use_details);
  const audio = toCount(prompt.audio_tokens);
  const reasoning = toCount(completion.reasoning_tokens) ?? toCount(wire.reasoning_tokens);
  const omitted = readOmittedAudio(wire, audio, reasoning);
  return keepKnown({
    input: addCount(toCount(wire.prompt_tokens), omitted),
    cacheRead: toCount(prompt.cached_tokens) ?? readCached(wire),
    ...decodeCacheWrites(prompt),
    inputAudio: omitted || audio,
    inputImage: toCount(prompt.image_tokens),
    output: addCount(toCount(wire.completion_tokens), readRest(wire) - omitted),
    reasoning,
    outputAudio: toCount(completion.audio_tokens),
    outputImage: toCount(completion.image_tokens),
    acceptedPrediction: toCount(completion.accepted_prediction_tokens),
    rejectedPrediction: toCount(completion.rejected_prediction_tokens),
    webSearches: toCount(tools.web_search_requests),
  });
}

export function encodeUsage(usage: Usage): Fields {
  const { input = 0, output = 0 } = usage;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: keepKnown({
      cached_tokens: usage.cacheRead,
      cache_write_tokens: sumCacheWrites(usage),
      audio_tokens: usage.inputAudio,
      image_tokens: usage.inputImage,
    }),
    completion_tokens_details: keepKnown({
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.outputAudio,
      image_tokens: usage.outputImage,
      accepted_prediction_tokens: usage.acceptedPrediction,
      rejected_prediction_tokens: usage.rejectedPrediction,
    }),
    server_tool_use: keepKnown({ web_search_requests: usage.webSearches }),
  };
}

export function decodeFinish(raw: string, calls: CallsSeen): FinishReason {
  return considerCalls(readFinish(raw), calls);
}

/**
 * A turn that paused, failed, or ended for an unknown reason is unfinished. `length` is this protocol's only
 * reason for that.
 */
const encoded: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'length',
  error: 'length',
  other: 'length',
};

export function encodeFinish(reason: FinishReason, hasCalls: boolean): string {
  return encoded[considerCalls(reason, { any: hasCalls })];
}

/** Whether this protocol has no name for a reason: `native_finish_reason` then holds the original. */
export function isApproximated(reason: FinishReason): boolean {
  return reason === 'other' || reason === 'pause' || reason === 'error' || reason === 'refusal';
}

type Reason = EventOf<'finish'>['reason'];

/** OpenAI's words. */
const ownWords = splitNames('stop length tool_calls content_filter function_call');

/**
 * Whether the reason needs another word. OpenAI itself ends with "stop" if the client has named the tool to
 * call, so calls alone do not change a word.
 */
function isMisleading({ unified, raw }: Reason): boolean {
  return !ownWords.has(raw) || (unified !== 'tool-calls' && readFinish(raw) !== unified);
}

/** Finds content in parts, not log probabilities. A quote inside a string is escaped, so no text matches. */
const parted = /(?<!"logprobs":\{)"content":\s*\[/;

export function correctReply(data: string, events: readonly CanonicalEvent[]): string {
  // Every event of a stream passes here: most need no map.
  let reasons: Map<unknown, Reason> | undefined;
  for (const event of events)
    if (event.type === 'finish' && isMisleading(event.reason))
      (reasons ??= new Map()).set(event.candidate, event.reason);
  if (!reasons && !parted.test(data)) return data;
  const choices = readList(readMember(parseJson(data), 'choices'));
  const corrected = choices.map((choice, position) =>
    isObject(choice) ? correctChoice(choice, reasons?.get(choice.index ?? position)) : choice,
  );
  const isSame = corrected.every((choice, position) => choice === choices[position]);
  return isSame ? data : splice(data, [{ path: ['choices'], value: corrected }]);
}

function correctChoice(choice: Fields, reason: Reason | undefined): Fields {
  const content = (['delta', 'message'] as const).flatMap((name) => {
    const message = choice[name];
    return isInParts(message) ? [[name, joinParts(message)]] : [];
  });
  if (content.length === 0 && !reason) return choice;
  const write = (unified: Reason['unified']): string => encodeFinish(unified, unified === 'tool-calls');
  const native = choice.native_finish_reason ?? reason?.raw;
  return {
    ...choice,
    ...Object.fromEntries(content),
    ...(reason ? { finish_reason: write(reason.unified), native_finish_reason: native } : {}),
  };
}

function isInParts(message: unknown): message is Fields {
  return isObject(message) && Array.isArray(message.content);
}

/** Mistral sends parts if the content holds reasoning or references. References stay as parts. */
function joinParts({ content, ...message }: Fields): Fields {
  const parts = readList(content);
  const { text, reasoning } = Object.groupBy(readParts(parts), ([kind]) => kind);
  const join = (pieces: typeof text = []): string => pieces.map(([, piece]) => piece).join('');
  const others = parts.filter(
    (part) => readMember(part, 'text') === undefined && !readMember(part, 'thinking'),
  );
  return {
    ...message,
    content: join(text),
    ...(reasoning ? { reasoning_content: join(reasoning) } : {}),
    ...(others.length > 0 ? { content_parts: others } : {}),
  };
}

/** Reads content that comes in parts. Mistral sends parts if the content holds reasoning. */
export function* readParts(
  parts: readonly unknown[],
): Generator<readonly [kind: 'text' | 'reasoning', text: string]> {
  for (const { text, thinking } of readObjects(parts)) {
    if (typeof text === 'string') yield ['text', text];
    for (const thought of readObjects(thinking))
      if (typeof thought.text === 'string') yield ['reasoning', thought.text];
  }
}
