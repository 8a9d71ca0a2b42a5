/**
 * The usage of a call in tokens. An unknown figure is absent, never zero. `input` and `output` include their
 * cached, audio and reasoning parts, even if the provider reports them separately.
 */
import { z } from 'zod';

const count = z.int().nonnegative();

export const usageSchema = z.strictObject({
  input: count.optional(),
  cacheRead: count.optional(),
  /** Audio read from the cache; also part of `inputAudio`. */
  cacheReadAudio: count.optional(),
  cacheWrite5m: count.optional(),
  cacheWrite30m: count.optional(),
  cacheWrite1h: count.optional(),
  cacheWrite12h: count.optional(),
  inputAudio: count.optional(),
  inputImage: count.optional(),
  toolPrompt: count.optional(),
  output: count.optional(),
  reasoning: count.optional(),
  outputAudio: count.optional(),
  outputImage: count.optional(),
  acceptedPrediction: count.optional(),
  rejectedPrediction: count.optional(),
  webSearches: count.optional(),
  /** Searches by the preview tool, if the call offered it. Core sets it: replies do not tell them apart. */
  previewSearches: count.optional(),
  /** Searches in files that the provider stores. */
  fileSearches: count.optional(),
  /** Containers opened to run code. */
  containers: count.optional(),
  /** Pictures produced, if they are priced apiece. */
  images: count.optional(),
  /**
   * The service mode of the call, if it has its own rates or was asked for; "usual" if it was not applied.
   */
  mode: z.string().optional(),
  /**
   * The names of the price rules that applied, the rule of the time first. Core sets it; decoders do not.
   */
  rule: z.string().optional(),
});

export type Usage = z.infer<typeof usageSchema>;

/** Returns a count from a provider. A fraction, a string, or a negative or unsafe number is unknown. */
export function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
