/** Describes the endpoints for the OpenAPI document. Fields that providers add pass too. */
import { z } from 'zod';
import type { CallDescription } from '../../../core/index.ts';
import { count, errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import type { QualityOption } from './reply.ts';
import * as Wire from './wire.ts';

const usage = z.looseObject({
  input_tokens: count,
  input_tokens_details: z
    .looseObject({ text_tokens: count.optional(), image_tokens: count.optional() })
    .nullish(),
  output_tokens: count,
  total_tokens: count,
  num_input_images: count.optional().meta({ description: 'The number of pictures in an edit.' }),
});

const result = z
  .looseObject({
    created: z.number(),
    data: z.array(z.looseObject({ b64_json: z.string(), index: count.optional() })),
    model: z.string(),
    size: z.string().optional(),
    quality: z.string().optional(),
    usage: usage.optional(),
  })
  .meta({ title: 'ImageResult' });

const event = z
  .looseObject({
    type: z.string(),
    created_at: z.number().optional(),
    b64_json: z.string().optional(),
    partial_image_index: count.optional(),
    usage: usage.optional(),
  })
  .meta({
    title: 'ImageEvent',
    description: 'An unfinished picture, or the finished one if the type ends in `.completed`.',
  });

const file = z.file();

/** What generations and edits may hold, by the letter of the interface or as clients send it. */
function describeBodies(isRequired: boolean): Record<'generation' | 'edit' | 'jsonEdit', z.ZodType> {
  const qualities = z.string().meta({
    description: '`auto`, `low`, `medium`, `high`, `standard`, `hd`, or another that the model supports.',
    examples: ['auto', 'high'],
  });
  const settings = {
    size: z.string().optional().meta({
      description: '`auto`, or a width and height in pixels that the model supports, such as `1024x1024`.',
    }),
    output_format: z
      .string()
      .optional()
      .meta({ description: '`png`, `jpeg`, `webp`, or another that the model supports.' }),
    background: z
      .string()
      .optional()
      .meta({ description: '`transparent`, `opaque`, `auto`, or another that the model supports.' }),
  };
  const wire = Wire.request.extend({
    ...settings,
    quality: isRequired ? qualities : qualities.optional(),
  });
  const edit = wire.extend({
    quality: isRequired ? Wire.edit.shape.quality.unwrap().unwrap() : Wire.lenientEdit.shape.quality,
  });
  const files = {
    image: z
      .union([file, z.array(file)])
      .meta({ description: 'At most 16 PNG or JPEG files; several as `image[]`.' }),
    mask: file.optional().meta({ description: 'PNG with transparent parts.' }),
  };
  const example = { model: 'demo/paint', prompt: 'A lighthouse', quality: 'auto', size: '512x512' };
  const editExample = { ...example, prompt: 'At night', quality: 'low' };
  return {
    generation: wire.meta({ title: 'ImageGenerationRequest', examples: [example] }),
    edit: edit.extend(files).meta({ title: 'ImageEditForm', examples: [editExample] }),
    jsonEdit: edit.extend(Wire.references.shape).meta({
      title: 'ImageEditRequest',
      description: 'Pictures are data URLs.',
      examples: [{ ...editExample, images: [{ image_url: 'data:image/png;base64,iVBORw0KGgo=' }] }],
    }),
  };
}

export function describeCalls(quality: QualityOption): CallDescription[] {
  const { generation, edit, jsonEdit } = describeBodies(quality === 'required');
  const shared = {
    method: 'POST',
    // An error ends a stream that began well.
    replies: { 200: { 'application/json': result, 'text/event-stream': z.union([event, errorSchema]) } },
    error: errorSchema,
  } as const;
  return [
    {
      ...shared,
      path: '/v1/images/generations',
      summary: 'Create pictures',
      body: { 'application/json': generation },
    },
    {
      ...shared,
      path: '/v1/images/edits',
      summary: 'Edit pictures',
      body: { 'multipart/form-data': edit, 'application/json': jsonEdit },
    },
  ];
}
