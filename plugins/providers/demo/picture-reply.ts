/**
 * The demo model's reply on the images wire: whole as JSON, or as a stream that shows the picture in the
 * making.
 */
import { createHash } from 'node:crypto';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { crc32, deflateSync } from 'node:zlib';
import { z } from 'zod';
import type { UpstreamRequest, UpstreamResponse } from '../../../core/index.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { countTokens } from './answer.ts';
import { buildJsonResponse, buildRefusal, type ReplyContext } from './reply.ts';

/**
 * The demo model's pictures: a sun over bands of colour, all derived from the prompt, as a real PNG of the
 * size that was asked for.
 */
interface Sketch {
  readonly width: number;
  readonly height: number;
  /** The text that the colours are derived from. */
  readonly subject: string;
  readonly transparent: boolean;
  /** From 0 to 1: how much of the picture is painted already. */
  readonly progress: number;
}

type Colour = readonly [red: number, green: number, blue: number];

const bands = 24;

function deriveColours(subject: string): readonly [top: Colour, bottom: Colour, sun: Colour] {
  const hash = createHash('sha256').update(subject).digest();
  const pickColour = (at: number): Colour => [hash[at] ?? 0, hash[at + 1] ?? 0, hash[at + 2] ?? 0];
  return [pickColour(0), pickColour(3), pickColour(6)];
}

function mixColours([r1, g1, b1]: Colour, [r2, g2, b2]: Colour, share: number): Colour {
  const mix = (from: number, to: number): number => Math.round(from + (to - from) * share);
  return [mix(r1, r2), mix(g1, g2), mix(b1, b2)];
}

function buildChunk(type: string, data: Uint8Array): Buffer {
  const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type), data, Buffer.alloc(4)]);
  chunk.writeUInt32BE(data.length);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  return chunk;
}

/**
 * A PNG whose pixels are the indexes of their colours: nothing yet, a band, or the sun. A picture in full
 * colours would block the event loop for too long.
 */
function paint({ width, height, subject, transparent, progress }: Sketch): Buffer {
  const [top, bottom, sun] = deriveColours(subject);
  const sky = Array.from({ length: bands }, (_, band) => mixColours(top, bottom, band / bands));
  // A line begins with the number of its filter, which is 0.
  const data = new Uint8Array((width + 1) * height);
  const radius = Math.min(width, height) / 4;
  const dry = Math.ceil(height * progress);
  for (let y = 0; y < dry; y += 1) {
    const line = data.subarray(y * (width + 1) + 1, (y + 1) * (width + 1));
    line.fill(1 + Math.floor((y / height) * bands));
    const half = Math.sqrt(Math.max(0, radius ** 2 - (y - height / 2) ** 2));
    line.fill(1 + bands, Math.ceil(width / 2 - half), Math.ceil(width / 2 + half));
  }
  const colours: Colour[] = [[0, 0, 0], ...sky, sun];
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const opacity = colours.map((colour) => (colour === sun ? 255 : 0));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    buildChunk('IHDR', header),
    buildChunk('PLTE', Buffer.from(colours.flat())),
    ...(transparent ? [buildChunk('tRNS', Buffer.from(opacity))] : []),
    buildChunk('IDAT', deflateSync(data, { level: 1 })),
    buildChunk('IEND', Buffer.alloc(0)),
  ]);
}

const whole = z.coerce.number().int();
const usualSize = '1024x1024';

/** A field with a default. Null means that it was not set. */
function ignoreNull<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => value ?? undefined, schema);
}

/** A form has numbers and switches as text. */
const requestSchema = z.looseObject({
  model: z.string(),
  prompt: z.string().min(1),
  n: ignoreNull(whole.min(1).max(10).default(1)),
  size: ignoreNull(
    z
      .string()
      .regex(/^(auto|\d+x\d+)$/)
      .default('auto')
      .transform((size) => (size === 'auto' ? usualSize : size)),
  ),
  quality: ignoreNull(z.string().default('auto')),
  background: ignoreNull(
    z
      .string()
      .default('auto')
      .transform((background) => (background === 'auto' ? 'opaque' : background)),
  ),
  stream: ignoreNull(z.union([z.boolean(), z.literal('true').transform(() => true)]).default(false)),
  partial_images: ignoreNull(whole.min(0).max(3).default(0)),
});

type Request = z.output<typeof requestSchema>;

/** Pixels the demo model counts as one token. */
const pixelsPerToken = 4096;

/** Answers a finished request. Like a vendor, it answers 400 to one that makes no sense. */
export async function replyWithPicture(
  { url, body, headers }: UpstreamRequest,
  context: ReplyContext,
): Promise<UpstreamResponse> {
  const edit = url.endsWith('/edits');
  const { fields, images } = edit
    ? await readForm(body, headers['content-type'] ?? '')
    : { fields: parseJson(Buffer.from(body).toString('utf8')), images: 0 };
  const parsed = requestSchema.safeParse(fields);
  if (!parsed.success) return buildJsonResponse(400, buildRefusal(parsed.error));
  const request = parsed.data;
  if (request.stream)
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
      body: streamFrames(request, images, edit, context),
    };
  const data: { b64_json: string }[] = [];
  for (let index = 0; index < request.n; index += 1) {
    data.push({ b64_json: draw(request, index) });
    // Painting takes a while and blocks the event loop, so others get a turn after each picture.
    await turn(undefined, { signal: context.signal });
  }
  return buildJsonResponse(200, {
    created: context.created,
    data,
    ...describePicture(request),
    usage: computeUsage(request, images),
  });
}

async function readForm(
  body: string | Uint8Array,
  contentType: string,
): Promise<{ fields: unknown; images: number }> {
  const form = await new Response(Buffer.from(body), { headers: { 'content-type': contentType } }).formData();
  const texts = [...form].filter(([, value]) => typeof value === 'string');
  return {
    fields: Object.fromEntries(texts),
    images: [...form.keys()].filter((name) => name.startsWith('image')).length,
  };
}

function parseSize({ size }: Request): readonly [width: number, height: number] {
  const [width = 0, height = 0] = size.split('x').map(Number);
  return [width, height];
}

/** The picture in base64. Each of several is different. */
function draw(request: Request, index: number, progress = 1): string {
  const [width, height] = parseSize(request);
  const transparent = request.background === 'transparent';
  const subject = `${request.prompt} ${index}`;
  return paint({ width, height, subject, transparent, progress }).toString('base64');
}

function describePicture({ size, quality, background }: Request): object {
  return { size, quality, background, output_format: 'png' };
}

function computeUsage(request: Request, images: number): object {
  const [width, height] = parseSize(request);
  const picture = Math.ceil((width * height) / pixelsPerToken);
  const text_tokens = countTokens(request.prompt);
  const image_tokens = images * picture;
  const output_tokens = picture * request.n;
  const input_tokens = text_tokens + image_tokens;
  return {
    input_tokens,
    input_tokens_details: { text_tokens, image_tokens },
    output_tokens,
    total_tokens: input_tokens + output_tokens,
  };
}

/** Throws as soon as the signal fires. */
async function* streamFrames(
  request: Request,
  images: number,
  edit: boolean,
  { created, pace, signal }: ReplyContext,
): AsyncGenerator<Uint8Array> {
  const buildFrame = (name: string, fields: object): Uint8Array => {
    const type = `${edit ? 'image_edit' : 'image_generation'}.${name}`;
    return Buffer.from(
      `event: ${type}\n` +
        `data: ${JSON.stringify({ type, created_at: created, ...describePicture(request), ...fields })}\n\n`,
    );
  };
  for (let index = 0; index < request.partial_images; index += 1) {
    yield buildFrame('partial_image', {
      b64_json: draw(request, 0, (index + 1) / (request.partial_images + 1)),
      partial_image_index: index,
    });
    if (pace > 0) await pause(pace, undefined, { signal });
    signal.throwIfAborted();
  }
  yield buildFrame('completed', { b64_json: draw(request, 0), usage: computeUsage(request, images) });
}
