/**
 * Converts token counts, in both directions. Totals include their parts, with one exception that would lose
 * money: xAI and Google's chat endpoint omit reasoning from `completion_tokens`, and count it only in
 * `total_tokens`.
 */
import { toCount, type Usage } from '../../../core/index.ts';
import { decodeCacheWrites, sumCacheWrites } from '../../shared/wire-kit/cache-writes.ts';
import { readObject, keepKnown } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

function readOutput(wire: Fields): number | undefined {
  const completion = toCount(wire.completion_tokens);
  const prompt = toCount(wire.prompt_tokens);
  const total = toCount(wire.total_tokens);
  if (completion === undefined || prompt === undefined || total === undefined) return completion;
  return Math.max(completion, total - prompt);
}

/** Returns a chunk's counts. Groq sends them in `x_groq`. */
export function findUsage({ usage, x_groq: groq }: Fields): Fields | undefined {
  if (isObject(usage)) return usage;
  return isObject(groq) && isObject(groq.usage) ? groq.usage : undefined;
}

/** Returns undefined if `wire` holds no counts. */
export function decodeUsage(wire: Fields): Usage | undefined {
  const prompt = readObject(wire.prompt_tokens_details);
  const completion = readObject(wire.completion_tokens_details);
  const tools = isObject(wire.server_tool_use)
    ? wire.server_tool_use
    : readObject(wire.server_tool_use_details);
  return keepKnown({
    input: toCount(wire.prompt_tokens),
    // DeepSeek's own name is older than OpenAI's.
    cacheRead: toCount(prompt.cached_tokens) ?? toCount(wire.prompt_cache_hit_tokens),
    ...decodeCacheWrites(prompt),
    inputAudio: toCount(prompt.audio_tokens),
    inputImage: toCount(prompt.image_tokens),
    output: readOutput(wire),
    reasoning: toCount(completion.reasoning_tokens),
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
