/**
 * Converts token counts, in both directions. Totals include their parts, with two exceptions that would lose
 * money. xAI and Google's chat endpoint omit reasoning from `completion_tokens`, and Mistral omits audio from
 * `prompt_tokens`; both count it only in `total_tokens`.
 */
import { toCount, type Usage } from '../../../core/index.ts';
import { decodeCacheWrites, sumCacheWrites } from '../../shared/wire-kit/cache-writes.ts';
import { readObject, keepKnown } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

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
