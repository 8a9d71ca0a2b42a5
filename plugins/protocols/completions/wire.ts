/**
 * The fields of OpenAI's completions: a text that a model continues, or with `suffix` fills in. Unknown
 * fields pass, `null` means unset.
 */
import { z } from 'zod';
import { mostTexts, readTexts } from '../../shared/openai/texts.ts';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, allowNumber, modelId } from '../../shared/wire-kit/wire-check.ts';

export const protocolName = 'completions';
export const bag = createBag(protocolName);

const promptText =
  `a text, an array of at most ${mostTexts} texts, the numbers of the tokens of one text, or an array of ` +
  'such arrays';

const stop = z.union(
  [z.string(), z.array(z.string()).max(16)],
  'a string, or an array of at most 16 strings',
);

export const request = z.looseObject({
  model: modelId,
  prompt: z.unknown().refine((value) => readTexts(value) !== undefined, promptText),
  suffix: z.string().nullish(),
  max_tokens: allowInteger(0, Number.MAX_SAFE_INTEGER).nullish(),
  temperature: allowNumber(0, 2).nullish(),
  top_p: allowNumber(0, 1).nullish(),
  n: allowInteger(1, 128).nullish(),
  best_of: allowInteger(1, 128).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: allowInteger(0, 20).nullish(),
  echo: z.boolean().nullish(),
  stop: stop.nullish(),
  frequency_penalty: allowNumber(-2, 2).nullish(),
  presence_penalty: allowNumber(-2, 2).nullish(),
  seed: z.int().nullish(),
  user: z.string().nullish(),
  provider: providerObject.nullish(),
});

export type Request = z.output<typeof request>;
