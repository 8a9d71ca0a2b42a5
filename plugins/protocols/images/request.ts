/**
 * A call in both directions. A client's is one turn of the user, with the pictures to edit before the prompt.
 * A provider's is JSON to create a picture, or a form if there are pictures to edit; what an image model does
 * not accept is reported as lost, by its canonical path.
 */
import {
  type Block,
  type CanonicalRequest,
  type ImageSettings,
  type EncodedRequest,
  type Model,
  GatewayError,
  type Turn,
  type MediaBlock,
} from '../../../core/index.ts';
import { encodeForm, Form, type FormFile } from '../../shared/forms.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { fitSettings } from '../../shared/wire-kit/image-settings.ts';
import { collectLosses, type Lose } from '../../shared/wire-kit/losses.ts';
import { detectBase64PictureType } from '../../shared/wire-kit/media.ts';
import {
  trackReads,
  overlay,
  pickStated,
  splitNames,
  type Fields,
} from '../../shared/wire-kit/vendor-bag.ts';
import type { Picture } from './call.ts';
import * as Wire from './wire.ts';

export function decodeRequest(wire: Wire.Request, pictures: readonly Picture[]): CanonicalRequest {
  const { seen, pickRest } = trackReads(wire);
  // `response_format` only allows what the gateway does anyway.
  const { provider: _preferences, response_format: _format, prompt } = seen;
  return {
    model: seen.model,
    stream: seen.stream ?? false,
    turns: [
      {
        role: 'user',
        at: 'prompt',
        blocks: [...pictures.map(decodePicture), { type: 'text', text: prompt, at: 'prompt' }],
      },
    ],
    candidates: seen.n ?? undefined,
    modalities: ['image'],
    image: decodeSettings(seen),
    user: seen.user ?? undefined,
    ...Wire.bag.keep(pickRest()),
  };
}

function decodePicture({ at, source, mediaType, mask }: Picture): Block {
  return {
    type: 'media',
    kind: 'image',
    source:
      'url' in source
        ? { type: 'url', url: source.url }
        : {
            type: 'base64',
            data: Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString('base64'),
          },
    mediaType,
    at,
    ...(mask ? { mask: true } : {}),
  };
}

/** The fields of settings, by their canonical names. */
export const settingFields = {
  size: 'size',
  quality: 'quality',
  format: 'output_format',
  compression: 'output_compression',
  background: 'background',
  partials: 'partial_images',
  moderation: 'moderation',
  fidelity: 'input_fidelity',
} as const satisfies Record<keyof ImageSettings, string>;

/** Decodes the settings of a call, or of the image tool of responses, which has the same fields. */
function decodeSettings(wire: Wire.Settings): ImageSettings {
  const rows = Object.entries(settingFields).map(
    ([name, field]) => [name, wire[field] ?? undefined] as const,
  );
  return Object.fromEntries(rows.filter(([, value]) => value !== undefined));
}

/**
 * Turns a conversation into the input of an image model: one prompt and some pictures. The texts of users
 * and instructions become the prompt, in order; pictures of users and of the model are those to edit.
 */
interface Prompt {
  readonly text: string;
  readonly images: readonly Omit<FormFile, 'name'>[];
  readonly mask: Omit<FormFile, 'name'> | undefined;
}

const endings: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
};

/** Throws if there is nothing to draw, or a picture cannot be sent. */
function buildPrompt(turns: readonly Turn[], lose: Lose): Prompt {
  const texts: string[] = [];
  const images: Omit<FormFile, 'name'>[] = [];
  let mask: Prompt['mask'];
  for (const [index, turn] of turns.entries()) {
    if (turn.name !== undefined) lose(`turns[${index}].name`, 'images has no names for participants');
    for (const [place, block] of turn.blocks.entries()) {
      const path = `turns[${index}].blocks[${place}]`;
      if (block.type === 'text' && turn.role !== 'assistant' && turn.role !== 'tool') texts.push(block.text);
      else if (block.type !== 'media') lose(path, 'an image model accepts only a prompt and pictures');
      else if (block.mask) mask = buildFile(block, path, 'mask');
      else images.push(buildFile(block, path, `image-${images.length + 1}`));
      if ('cache' in block && block.cache) lose(`${path}.cache`, 'images has no cache marks');
    }
  }
  const text = texts.filter((each) => each.trim() !== '').join('\n\n');
  if (text === '')
    throw new GatewayError('invalid_request', 'No text describes what to draw: send a prompt.', {
      param: turns[0]?.at,
    });
  return { text, images, mask };
}

function buildFile({ kind, source, at }: MediaBlock, path: string, name: string): Omit<FormFile, 'name'> {
  const mediaType =
    kind === 'image' && source.type === 'base64' ? detectBase64PictureType(source.data) : undefined;
  const ending = mediaType === undefined ? undefined : endings[mediaType];
  if (source.type === 'base64' && mediaType !== undefined && ending !== undefined) {
    return { filename: `${name}.${ending}`, mediaType, bytes: Buffer.from(source.data, 'base64') };
  }
  throw new GatewayError(
    'unsupported_parameter',
    source.type === 'url'
      ? 'This model accepts pictures as data only, and the gateway fetches none from a URL: send a data URL.'
      : 'This model accepts pictures as PNG, JPEG or WebP data, and nothing else besides its prompt.',
    { param: at ?? path },
  );
}

export function encodeRequest(request: CanonicalRequest, model: Model): EncodedRequest {
  const { losses, lose } = collectLosses();
  const prompt = buildPrompt(request.turns, lose);
  const settings = request.image ?? readToolSettings(request, lose);
  const { size, quality, format, background } = fitSettings(settings, model.capabilities, lose);
  loseUnsupported(request, lose);
  const fields = overlay(Wire.bag.getFields(request), {
    model: model.upstream,
    prompt: prompt.text,
    n: request.candidates,
    size,
    quality,
    background,
    output_format: format,
    output_compression: settings.compression,
    moderation: settings.moderation,
    input_fidelity: settings.fidelity,
    ...encodeStream(request, settings, lose),
    user: request.user,
  });
  const all = [...losses, ...listForeignFields(request, Wire.protocolName)];
  return prompt.images.length > 0
    ? { ...encodeForm(buildForm(fields, prompt)), operation: 'edit', losses: all }
    : { body: fields, operation: 'generate', losses: all };
}

/** Several pictures are not streamed: OpenAI's events do not name the picture that they belong to. */
function encodeStream(request: CanonicalRequest, { partials }: ImageSettings, lose: Lose): Fields {
  if (!request.stream) return {};
  if ((request.candidates ?? 1) === 1) return { stream: true, partial_images: partials };
  if (partials) lose('image.partials', 'unfinished versions are only sent for a single picture');
  return {};
}

/** Reads the settings of the image tool in a responses request. All other tools are lost. */
function readToolSettings({ tools = [] }: CanonicalRequest, lose: Lose): ImageSettings {
  let settings: ImageSettings = {};
  for (const [index, tool] of tools.entries()) {
    const value = tool.type === 'hosted' && tool.value.type === 'image_generation' ? tool.value : undefined;
    const wire = Wire.settings.safeParse(value);
    if (!wire.success) {
      lose(`tools[${index}]`, 'an image model calls no tools');
      continue;
    }
    settings = decodeSettings(wire.data);
    for (const name of Object.keys(pickStated(wire.data, toolFields)))
      lose(`tools[${index}].${name}`, 'images has no such field');
  }
  return settings;
}

const toolFields = new Set(['type', ...Object.keys(Wire.settings.shape)]);

/** What is encoded, or reported, elsewhere. */
const supported = splitNames('model stream turns tools candidates modalities image user names vendor');

function loseUnsupported(request: CanonicalRequest, lose: Lose): void {
  for (const [name, value] of Object.entries(request))
    if (value !== undefined && !supported.has(name)) lose(name, 'images has no such field');
}

function buildForm(fields: Fields, { images, mask }: Prompt): Form {
  const texts = Object.entries(fields).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === null
      ? []
      : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]],
  );
  const files: FormFile[] = images.map((file) => ({
    ...file,
    name: images.length > 1 ? 'image[]' : 'image',
  }));
  return new Form(texts, mask ? [...files, { ...mask, name: 'mask' }] : files);
}
