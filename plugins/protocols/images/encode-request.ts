/**
 * Encodes a canonical request as a call of this protocol: JSON to create a picture, or a form if there are
 * pictures to edit. What an image model does not accept is reported as lost, by its canonical path.
 */
import {
  Form,
  type CanonicalRequest,
  type EncodedRequest,
  type FormFile,
  type ImageSettings,
  type Model,
} from '../../../core/index.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { fitSettings } from '../../shared/wire-kit/image-settings.ts';
import { collectLosses, type Lose } from '../../shared/wire-kit/losses.ts';
import { overlay, pickStated, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { decodeSettings } from './decode-request.ts';
import { buildPrompt, type Prompt } from './prompt.ts';
import * as Wire from './wire.ts';

export function encodeRequest(request: CanonicalRequest, model: Model): EncodedRequest {
  const { losses, lose } = collectLosses();
  const prompt = buildPrompt(request.turns, lose);
  const settings = request.image ?? readToolSettings(request, lose);
  const { size, quality, format, background } = fitSettings(settings, model.capabilities, lose);
  loseUnsupported(request, lose);
  const fields = overlay(bag.getFields(request), {
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
  const all = [...losses, ...listForeignFields(request, protocolName)];
  return prompt.images.length > 0
    ? { body: buildForm(fields, prompt), operation: 'edit', losses: all }
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

const unsupported = [
  'toolChoice',
  'parallelToolCalls',
  'outputLimit',
  'temperature',
  'topP',
  'topK',
  'frequencyPenalty',
  'presencePenalty',
  'seed',
  'stop',
  'logprobs',
  'format',
  'verbosity',
  'reasoning',
  'metadata',
  'serviceTier',
  'cacheKey',
] as const;

function loseUnsupported(request: CanonicalRequest, lose: Lose): void {
  for (const name of unsupported) if (request[name] !== undefined) lose(name, 'images has no such field');
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
