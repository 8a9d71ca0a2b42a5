/**
 * What the vendor accepts for making a picture (JSON) or editing one (a form): every field it knows, and no
 * other.
 */
import { z } from 'zod';
import { complain, readJson, reject, type Complaint } from '../chat-completions/refusals.ts';

const settings = {
  model: z.string(),
  prompt: z.string().min(1).max(32_000),
  n: z.int().min(1).max(10).optional(),
  size: z.string().optional(),
  quality: z.enum(['auto', 'low', 'medium', 'high']).optional(),
  background: z.enum(['auto', 'transparent', 'opaque']).optional(),
  output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
  output_compression: z.int().min(0).max(100).optional(),
  stream: z.boolean().optional(),
  partial_images: z.int().min(0).max(3).optional(),
  user: z.string().optional(),
};

export const generationSchema = z.strictObject({
  ...settings,
  moderation: z.enum(['auto', 'low']).optional(),
});
export const editSchema = z.strictObject({ ...settings, input_fidelity: z.enum(['high', 'low']).optional() });

export type ImageRequest = z.output<typeof generationSchema> & z.output<typeof editSchema>;

export interface UploadedFile {
  readonly field: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

export interface ReadCall {
  readonly fields: unknown;
  readonly files: readonly UploadedFile[];
}

const numbers = new Set(['n', 'output_compression', 'partial_images']);

function readValue(name: string, text: string): unknown {
  if (numbers.has(name)) return Number(text);
  return name === 'stream' ? text === 'true' : text;
}

/** A form taken apart by the platform's own parser, so that it is a form by more than the gateway's word. */
async function readForm(body: Buffer, contentType: string): Promise<ReadCall> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => undefined);
  if (!form) return reject(complain('Could not parse multipart form.'));
  const fields: Record<string, unknown> = {};
  const files: UploadedFile[] = [];
  for (const [name, value] of form) {
    if (typeof value !== 'string')
      files.push({
        field: name,
        name: value.name,
        type: value.type,
        bytes: Buffer.from(await value.arrayBuffer()),
      });
    else if (Object.hasOwn(fields, name))
      reject(complain(`Duplicate parameter: '${name}'.`, name, 'duplicate_parameter'));
    else fields[name] = readValue(name, value);
  }
  return { fields, files };
}

export async function readCall(body: Buffer, contentType: string, edit: boolean): Promise<ReadCall> {
  return edit ? readForm(body, contentType) : { fields: readJson(body), files: [] };
}

const png = Buffer.from('89504e470d0a1a0a', 'hex');
const jpeg = Buffer.from('ffd8ff', 'hex');

function isPicture({ bytes, type }: UploadedFile): boolean {
  if (bytes.subarray(0, 8).equals(png)) return type === 'image/png';
  return bytes.subarray(0, 3).equals(jpeg) && type === 'image/jpeg';
}

/** What is wrong with the files of an edit, if anything. */
export function checkFiles(files: readonly UploadedFile[]): Complaint | undefined {
  const images = files.filter(({ field }) => field === 'image' || field === 'image[]');
  const masks = files.filter(({ field }) => field === 'mask');
  const stranger = files.find(({ field }) => !['image', 'image[]', 'mask'].includes(field));
  if (stranger)
    return complain(`Unknown parameter: '${stranger.field}'.`, stranger.field, 'unknown_parameter');
  if (images.length === 0)
    return complain("Missing required parameter: 'image'.", 'image', 'missing_required_parameter');
  if (images.length > 1 && images.some(({ field }) => field === 'image')) {
    const message = "Duplicate parameter: 'image'. To send several, use 'image[]'.";
    return complain(message, 'image', 'duplicate_parameter');
  }
  if (images.length > 16) {
    const message = "Invalid 'image': array too long. Expected at most 16 items.";
    return complain(message, 'image', 'array_above_max_length');
  }
  if (masks.length > 1) return complain("Duplicate parameter: 'mask'.", 'mask', 'duplicate_parameter');
  const bad = files.find((file) => !isPicture(file) || !/\.(png|jpe?g)$/.test(file.name));
  return (
    bad &&
    complain(
      `Invalid file '${bad.name}': unsupported mimetype ('${bad.type}').`,
      bad.field,
      'unsupported_file_mimetype',
    )
  );
}

/** What takes two fields to see. */
export function checkCombination({
  stream,
  partial_images,
  output_compression,
  output_format,
  background,
}: ImageRequest): Complaint | undefined {
  if (partial_images !== undefined && !stream) {
    const message = "'partial_images' is only supported when 'stream' is true.";
    return complain(message, 'partial_images', 'invalid_value');
  }
  if (output_compression !== undefined && output_compression < 100 && (output_format ?? 'png') === 'png') {
    const message = 'Compression less than 100 is not supported for PNG output format.';
    return complain(message, 'output_compression', 'invalid_value');
  }
  return background === 'transparent' && output_format === 'jpeg'
    ? complain(
        'Transparent background is not supported for JPEG output format.',
        'background',
        'invalid_value',
      )
    : undefined;
}
