/** Converts usage, in both directions. Output tokens without a breakdown are image tokens. */
import { toCount, type Usage } from '../../../core/index.ts';
import { readObject, keepKnown } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

/** Returns undefined if `wire` holds no counts. */
export function decodeUsage(wire: Fields): Usage | undefined {
  const input = readObject(wire.input_tokens_details);
  const output = readObject(wire.output_tokens_details);
  return keepKnown({
    input: toCount(wire.input_tokens),
    cacheRead: toCount(input.cached_tokens),
    inputImage: toCount(input.image_tokens),
    output: toCount(wire.output_tokens),
    outputImage: toCount(output.image_tokens) ?? toCount(wire.output_tokens),
  });
}

function subtract(whole: number | undefined, part: number | undefined): number | undefined {
  return whole === undefined ? undefined : Math.max(0, whole - (part ?? 0));
}

/** What the operator chooses: the interface to the letter (`required`), or what today's clients need. */
export type QualityOption = 'required' | 'optional';

/**
 * `inputImages` is the number of pictures in an edit. By the letter of the interface only edits report
 * `image_tokens` of the input. LiteLLM's client cannot read a reply without it.
 */
export function encodeUsage(usage: Usage, inputImages: number | undefined, quality: QualityOption): Fields {
  const { input, inputImage, cacheRead, output, outputImage } = usage;
  const edit = inputImages !== undefined;
  return {
    input_tokens: input,
    input_tokens_details: {
      text_tokens: subtract(input, inputImage),
      ...(edit || quality === 'optional' ? { image_tokens: inputImage ?? 0 } : {}),
      ...(cacheRead ? { cached_tokens: cacheRead } : {}),
    },
    output_tokens: output,
    ...(outputImage === undefined
      ? {}
      : { output_tokens_details: { image_tokens: outputImage, text_tokens: subtract(output, outputImage) } }),
    total_tokens: input === undefined || output === undefined ? undefined : input + output,
    ...(edit ? { num_input_images: inputImages } : {}),
  };
}
