/** How much a call can take in and put out at most: what is reserved for it, what is believed of a vendor, and what an estimate never exceeds. */
import type { Model } from './catalog.ts';
import type { ClientCall } from './protocol.ts';

/** Tokens that the input of a call can come to: no tokeniser makes more of a text than it has bytes. */
export function inputBound({ size: { textBytes, images, mediaBytes } }: ClientCall, { capabilities }: Model): number {
  return textBytes + mediaBytes + images * capabilities.imageTokens;
}

/** The most tokens one picture of the call counts as, by the quality that is asked for; none where the model makes no pictures. */
export function pictureTokens(call: ClientCall, { capabilities }: Model): number {
  const { image } = capabilities;
  if (!image) return 0;
  const asked = call.decode().image?.quality;
  const known = asked === undefined ? undefined : image.tokens[image.qualities[asked] ?? asked];
  return known ?? Math.max(...Object.values(image.tokens));
}

/**
 * Tokens of output a candidate can have: the limit that was granted, the caller's, or the model's own, whichever is
 * lowest. A picture is made whole or not at all: no limit goes below one picture, which is all that a model without
 * text puts out.
 */
export function outputBound(call: ClientCall, model: Model, granted: number | undefined): number {
  const limit = Math.min(granted ?? Infinity, call.outputLimit ?? Infinity, model.outputLimit);
  if (!model.capabilities.image) return limit;
  const picture = pictureTokens(call, model);
  return model.output.includes('text') ? Math.min(Math.max(limit, picture), model.outputLimit) : picture;
}
