/** What the vendor answers: pictures of its own, how they were made, and the tokens they count as. */
import { crc32, deflateSync } from 'node:zlib';
import type { Scenario } from '../scenario.ts';
import type { SentEvent } from '../sending.ts';
import type { ImageRequest } from './request.ts';

/** Tokens of a square picture, by its quality. */
const outputTokens = { auto: 1056, low: 272, medium: 1056, high: 4160 } as const;
const tokensPerInput = 323;

export interface Composition {
  readonly request: ImageRequest;
  readonly scenario: Scenario;
  readonly edit: boolean;
  /** Pictures that came in, the mask among them. */
  readonly inputs: number;
}

function buildChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** A PNG of one pixel, distinguished by its shade. */
export function pixel(shade: number): string {
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
  const png = [
    buildChunk('IHDR', header),
    buildChunk('IDAT', deflateSync(Buffer.from([0, shade]))),
    buildChunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...png]).toString('base64');
}

function listPictures({ request, scenario }: Composition): string[] {
  return (
    scenario.pictures?.map(({ data }) => data) ??
    Array.from({ length: request.n ?? 1 }, (_, index) => pixel(index + 1))
  );
}

function describeSettings({
  background = 'auto',
  output_format = 'png',
  quality = 'auto',
  size = 'auto',
}: ImageRequest): object {
  return {
    background: background === 'auto' ? 'opaque' : background,
    output_format,
    quality: quality === 'auto' ? 'medium' : quality,
    size: size === 'auto' ? '1024x1024' : size,
  };
}

export interface Bill {
  readonly text: number;
  readonly image: number;
  readonly output: number;
}

export function computeBill(composition: Composition): Bill {
  const { prompt, quality = 'auto', n = 1, partial_images: partials = 0 } = composition.request;
  return {
    text: Math.ceil(prompt.length / 4),
    image: composition.inputs * tokensPerInput,
    output: outputTokens[quality] * n + partials * 100,
  };
}

function buildUsage(composition: Composition): object {
  const { scenario } = composition;
  if (scenario.usage === 'missing') return {};
  const { text, image, output } = computeBill(composition);
  const usage = {
    input_tokens: text + image,
    input_tokens_details: { text_tokens: text, image_tokens: image },
    output_tokens: output,
    total_tokens: text + image + output,
  };
  return { usage: { ...usage, ...scenario.usage } };
}

export function buildResult(composition: Composition): object {
  const data = listPictures(composition).map((b64_json) => ({ b64_json }));
  return {
    created: 1_790_000_000,
    ...describeSettings(composition.request),
    data,
    ...buildUsage(composition),
  };
}

export function* streamEvents(composition: Composition): Generator<SentEvent> {
  const { request, edit } = composition;
  const [picture = pixel(1)] = listPictures(composition);
  const buildEvent = (name: string, fields: object, tokens = 0): SentEvent => {
    const type = `${edit ? 'image_edit' : 'image_generation'}.${name}`;
    const data = { type, created_at: 1_790_000_000, ...describeSettings(request), ...fields };
    return { frame: `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`, tokens };
  };
  for (let index = 0; index < (request.partial_images ?? 0); index += 1)
    yield buildEvent('partial_image', { b64_json: pixel(200 + index), partial_image_index: index });
  const { output } = computeBill(composition);
  yield buildEvent('completed', { b64_json: picture, ...buildUsage(composition) }, output);
}
