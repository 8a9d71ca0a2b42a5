/** Measures a request's input, to reserve its cost before the call. */
import type { InputSize } from '../../../core/index.ts';
import { writesBriefly } from '../../shared/wire-kit/cache-writes.ts';
import { MediaMeter } from '../../shared/wire-kit/media-meter.ts';
import { readBase64 } from '../../shared/wire-kit/media.ts';
import { splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import * as Wire from './wire-messages.ts';
import type { Request } from './wire.ts';

/** The most tokens of an audio answer. OpenAI stores the audio, and later requests hold only its id. */
const mostAudioTokens = 16_384;

/** The most tokens with which providers explain tools to a model, as Groq does to Llama. */
const tokensOfTools = 1000;

/** Computes an upper bound of the input. Base64 media is counted as media, not as text. */
export function measureInput(
  { messages, tools }: Pick<Request, 'messages' | 'tools'>,
  known: readonly Wire.Message[],
  { text, rounds }: { readonly text: string; readonly rounds: number | undefined },
): InputSize {
  const meter = new MediaMeter();
  meter.fetched = known.length < messages.length;
  for (const message of known) {
    if (hasUnknownPart(message)) meter.fetched = true;
    if (message.role === 'assistant' && message.audio) meter.addStored(mostAudioTokens);
    for (const part of listMedia(message)) {
      const base64 = readPart(part);
      if (part.type === 'image_url') meter.addImage(base64.length);
      else meter.addFile(base64);
      if (part.type !== 'image_url' && base64 === '') meter.fetched = true;
    }
  }
  const added = tools?.length ? tokensOfTools : undefined;
  return { ...meter.measure(text), added, rounds, brief: writesBriefly(text) };
}

/** Whether a message has parts of unknown types. How many tokens a provider reads for them is unknown. */
function hasUnknownPart({ role, content }: Wire.Message): boolean {
  return role !== 'assistant' && Array.isArray(content) && !content.every(Wire.isKnownPart);
}

const mediaTypes = splitNames('image_url input_audio file video_url document_url');

export function listMedia(message: Wire.Message): readonly Wire.Part[] {
  if (message.role === 'assistant') return message.images ?? [];
  return typeof message.content === 'string' || !message.content
    ? []
    : message.content.filter(Wire.isKnownPart).filter(({ type }) => mediaTypes.has(type));
}

/** The base64 of a part; empty if the provider fetches it. */
function readPart(part: Wire.Part): string {
  if (part.type === 'image_url') return readBase64(getUrl(part.image_url));
  if (part.type === 'input_audio')
    return typeof part.input_audio === 'string' ? readBase64(part.input_audio) : part.input_audio.data;
  if (part.type === 'video_url') return readBase64(getUrl(part.video_url));
  if (part.type === 'document_url') return readBase64(part.document_url);
  // OpenRouter accepts a document's URL in place of its bytes.
  return part.type === 'file' ? readBase64(part.file.file_data ?? '') : '';
}

function getUrl(media: string | { readonly url: string }): string {
  return typeof media === 'string' ? media : media.url;
}
