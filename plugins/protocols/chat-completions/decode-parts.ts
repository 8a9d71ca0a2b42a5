/** Turns content parts of a message into canonical blocks. Parts of unknown types are kept unchanged. */
import type { Block, MediaBlock, ToolResult } from '../../../core/index.ts';
import { decodeCache, readCacheLeftover } from '../../shared/wire-kit/cache-breakpoint.ts';
import { toAudioType, isUrl, readFileData, readUrl, type ReadMedium } from '../../shared/wire-kit/media.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { readSignatures } from './signatures.ts';
import * as Wire from './wire-messages.ts';

/** The vendor whose file ids this protocol uses. */
export const fileVendor = 'openai';

/** `isInput`: the client wrote the content, not the model. */
export function decodeContent(content: Wire.Content, at: string, isInput: boolean): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return Wire.isKnownPart(part)
      ? { ...decodePart(part), at: place }
      : buildForeignBlock(protocolName, part, place, isInput ? 'needed' : undefined);
  });
}

/** Parts that are neither text nor media are kept unchanged, for providers that know them. */
export function decodeResultContent(content: Wire.Content, at: string): ToolResult['content'] {
  return decodeContent(content, at, false).map((block, index) =>
    block.type === 'text' || block.type === 'media' || block.type === 'foreign'
      ? block
      : buildForeignBlock(protocolName, readObject(content[index]), `${at}[${index}]`),
  );
}

function decodePart(part: Wire.Part): Block {
  if (part.type === 'text') {
    const rest = pickUnread(part, ['type', 'text', 'prompt_cache_breakpoint']);
    const sides = bag.keep({ ...rest, ...readCacheLeftover(part) });
    return { type: 'text', text: part.text, ...decodeCache(part), ...sides };
  }
  if (part.type === 'refusal')
    return { type: 'refusal', text: part.refusal, ...bag.keep(pickUnread(part, ['type', 'refusal'])) };
  if (part.type === 'thinking') {
    const text = part.thinking.map((thought) => thought.text ?? '').join('');
    return { type: 'reasoning', text, ...bag.keep(pickUnread(part, ['type', 'thinking'])) };
  }
  return { ...decodeMedia(part), ...decodeCache(part) };
}

type MediaPart = Exclude<Wire.Part, { type: 'text' | 'refusal' | 'thinking' }>;
type PartOf<Type extends MediaPart['type']> = Extract<MediaPart, { type: Type }>;

/** What a media part states, and the fields of its inner object that have no canonical name. */
interface Media extends ReadMedium, Pick<MediaBlock, 'detail' | 'filename'> {
  readonly rest?: Fields;
}

function decodeMedia(part: MediaPart): MediaBlock {
  const { rest: inside = {}, ...facts } = readMedia(part);
  const read = ['type', 'prompt_cache_breakpoint', part.type];
  if (part.type === 'document_url') read.push('document_name');
  const rest = { ...pickUnread(part, read), ...readCacheLeftover(part), ...nestFields(part.type, inside) };
  return { type: 'media', kind: kinds[part.type], ...facts, ...bag.keep(rest) };
}

const kinds = {
  image_url: 'image',
  input_audio: 'audio',
  video_url: 'video',
  document_url: 'document',
  file: 'document',
} as const;

function readMedia(part: MediaPart): Media {
  switch (part.type) {
    case 'image_url': {
      const { image_url: image } = part;
      if (typeof image === 'string') return readUrl(image);
      const detail = image.detail ?? undefined;
      return { ...readUrl(image.url), detail, rest: pickUnread(image, ['url', 'detail']) };
    }
    case 'video_url': {
      const { video_url: video } = part;
      if (typeof video === 'string') return readUrl(video);
      return { ...readUrl(video.url), rest: pickUnread(video, ['url']) };
    }
    case 'document_url':
      return { ...readUrl(part.document_url), filename: part.document_name ?? undefined };
    case 'input_audio':
      return readAudio(part.input_audio);
    default:
      return readFile(part.file);
  }
}

/** Mistral takes audio without a format: bare data, or a URL. */
function readAudio(audio: PartOf<'input_audio'>['input_audio']): Media {
  if (typeof audio !== 'string') {
    const { data, format } = audio;
    const source = { type: 'base64', data } as const;
    const rest = pickUnread(audio, ['data', 'format']);
    return { source, mediaType: toAudioType(format), rest };
  }
  if (isUrl(audio)) return readUrl(audio);
  const source = { type: 'base64', data: audio } as const;
  return { source, mediaType: detectSoundType(audio) };
}

const prefixes = [
  ['UklGR', 'audio/wav'],
  ['SUQz', 'audio/mpeg'],
  ['//', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
  ['T2dnU', 'audio/ogg'],
] as const;

/** Guesses the media type of base64 audio by its first bytes. */
function detectSoundType(data: string): string | undefined {
  return prefixes.find(([prefix]) => data.startsWith(prefix))?.[1];
}

function readFile(file: PartOf<'file'>['file']): Media {
  const { file_data: data, file_id: id } = file;
  const filename = file.filename ?? undefined;
  if (!data) {
    const source = { type: 'file', vendor: fileVendor, id: id ?? '' } as const;
    return { source, filename, rest: pickUnread(file, ['file_id', 'filename']) };
  }
  return { ...readFileData(data), filename, rest: pickUnread(file, ['file_data', 'filename']) };
}

/** Decodes an image that the model generated. Its provider may have signed it. */
export function decodeGeneratedImage({ extra_content: extra, ...part }: PartOf<'image_url'>): MediaBlock {
  const { opaque } = readSignatures(extra);
  return { ...decodeMedia(part), ...(opaque.length > 0 ? { opaque } : {}) };
}
