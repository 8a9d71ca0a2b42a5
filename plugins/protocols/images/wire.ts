/**
 * The fields of a call, sent as JSON to create pictures and as form fields to edit them: every documented
 * field with its type and range. As with OpenAI, unknown fields pass and `null` means unset. The catalogue
 * lists each model's qualities, sizes, formats and backgrounds.
 */
import { z } from 'zod';
import { describeOpenaiProtocol } from '../../shared/openai/foreign.ts';
import { providerObject } from '../../shared/wire-kit/provider-object.ts';
import { createBag } from '../../shared/wire-kit/vendor-bag.ts';
import { allowInteger, modelId } from '../../shared/wire-kit/wire-check.ts';

const size = '"auto", or a width and a height in pixels such as "1024x1024"';
const asData = '"b64_json", or leave it out: the gateway returns the image itself';

/** The settings of a picture. The image tool of responses has the same fields. */
export const settings = z.looseObject({
  quality: z.string().min(1).nullish(),
  size: z
    .string(size)
    .regex(/^(auto|[1-9]\d{1,4}x[1-9]\d{1,4})$/, size)
    .nullish(),
  output_format: z.string().min(1).nullish(),
  output_compression: allowInteger(0, 100).nullish(),
  background: z.string().min(1).nullish(),
  moderation: z.string().nullish(),
  input_fidelity: z.string().nullish(),
  partial_images: allowInteger(0, 3).nullish(),
});

export const request = settings.extend({
  model: modelId,
  prompt: z.string().min(1).max(32_000),
  n: allowInteger(1, 10).nullish(),
  stream: z.boolean().nullish(),
  response_format: z.literal('b64_json', asData).nullish(),
  user: z.string().nullish(),
  provider: providerObject.nullish(),
});

/** By the letter of the interface, edits have three qualities, even if the model has others. */
export const edit = request.extend({ quality: z.enum(['low', 'medium', 'high']).nullish() });

/** Edits whose quality may be left out may also ask for what is filled in. */
export const lenientEdit = request.extend({ quality: z.enum(['auto', 'low', 'medium', 'high']).nullish() });

const reference = z.strictObject({ image_url: z.string().min(1).nullish(), file_id: z.string().nullish() });
export const mostPictures = 16;

/** The pictures of an edit that is sent as JSON. */
export const references = z.looseObject({
  images: z.array(reference).min(1).max(mostPictures),
  mask: reference.nullish(),
});

export type Reference = z.output<typeof reference>;
export type Settings = z.output<typeof settings>;
export type Request = z.output<typeof request>;

export const protocolName = 'images';
export const bag = createBag(protocolName);
describeOpenaiProtocol(protocolName);
