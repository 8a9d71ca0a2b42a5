/**
 * What a call used, in tokens. A figure that is not known is absent, never zero. `input` and `output` are
 * whole: they include their cached, audio and reasoning parts, whatever a vendor's own wire leaves out.
 */
import { z } from 'zod';

const count = z.int().nonnegative();

export const usageSchema = z.strictObject({
  input: count.optional(),
  cacheRead: count.optional(),
  /** Of what was read from the cache; `inputAudio` counts it as well. */
  cacheReadAudio: count.optional(),
  cacheWrite5m: count.optional(),
  cacheWrite1h: count.optional(),
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
  /** In files that the vendor keeps. */
  fileSearches: count.optional(),
  /** Opened to run code in. */
  containers: count.optional(),
  /** Pictures made, where they are priced apiece. */
  images: count.optional(),
  /** How the vendor served the call, where that has rates of its own, or was asked for; "usual" where it was not served so. */
  mode: z.string().optional(),
});

export type Usage = z.infer<typeof usageSchema>;

/** A wire's count if it is one: a float, a string, a negative or an absurd number is unknown, not believed. */
export function knownCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
