/**
 * Text and media of a message in both directions. Parts of unknown types are kept unchanged. A part that this
 * protocol cannot express is reported as lost. If the answer would be worthless without it (a video, another
 * vendor's file), the call is refused.
 */
import type { Block, MediaBlock, ToolResult, TextBlock } from '../../../core/index.ts';
import { decodeCache, readCacheLeftover, encodeCache } from '../../shared/wire-kit/cache-breakpoint.ts';
import { loseSeal, refuseFile, refusePart } from '../../shared/wire-kit/losses.ts';
import {
  toAudioType,
  isUrl,
  readFileData,
  readUrl,
  type ReadMedium,
  takeContext,
  nameDocument,
  nameMedium,
  buildDataUrl,
  buildPictureUrl,
  nameAudioFormat,
  readDocumentText,
} from '../../shared/wire-kit/media.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { pickUnread, nestFields, type Fields, overlay } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName, encodeForeignMark, type Encoding } from './encoding.ts';
import { readSignatures } from './reasoning.ts';
import * as Wire from './wire.ts';

/** The vendor whose file ids this protocol uses. */
const fileVendor = 'openai';

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

export type ContentBlock = TextBlock | MediaBlock;

/** Encodes the mark of a part, under the name that the client used. */
export function encodeMark(block: Pick<ContentBlock, 'cache'>, path: string, encoding: Encoding): Fields {
  if (encoding.marksLike === 'anthropic') return encodeForeignMark(block);
  const mark = encodeCache(block, path, encoding, protocolName);
  return mark ? { prompt_cache_breakpoint: mark } : {};
}

/** Usually returns one part. Returns none if the block is lost, and two if a document has a context text. */
export function encodeParts(block: ContentBlock, path: string, encoding: Encoding): Fields[] {
  if (block.opaque?.length) loseSeal(path, encoding.lose);
  const wire =
    block.type === 'text' ? { type: 'text', text: block.text } : encodeMedia(block, path, encoding);
  if (!wire) return [];
  const part = overlay(bag.getFields(block), { ...wire, ...encodeMark(block, path, encoding) });
  if (block.type !== 'media') return [part];
  const text = takeContext(block, path, encoding.lose) ?? nameMedium(block);
  return text === undefined ? [part] : [{ type: 'text', text }, part];
}

function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields | undefined {
  if (block.kind === 'video')
    return refusePart(block, path, 'This model is called through a protocol that accepts no video.');
  if (block.source.type === 'file') {
    const { vendor, id } = block.source;
    // Of the providers with this protocol, only OpenAI stores files.
    if (vendor !== fileVendor || !encoding.extras) return refuseFile(block, path, vendor);
    return { type: 'file', file: { file_id: id, filename: block.filename } };
  }
  if (block.kind === 'image') return encodeImage(block, path, encoding);
  if (block.kind === 'audio') return encodeAudio(block, path);
  return encodeDocument(block, path, encoding);
}

const details: ReadonlySet<string | undefined> = new Set([undefined, 'auto', 'low', 'high', 'original']);

function encodeImage(block: MediaBlock, path: string, { lose }: Encoding): Fields | undefined {
  const url = buildPictureUrl(block, path);
  if (url === undefined) {
    lose(path, 'chat-completions cannot carry this image');
    return undefined;
  }
  if (details.has(block.detail)) return { type: 'image_url', image_url: { url, detail: block.detail } };
  lose(`${path}.detail`, 'chat-completions has no such level of detail');
  return { type: 'image_url', image_url: { url } };
}

function encodeAudio(block: MediaBlock, path: string): Fields {
  const { source, mediaType } = block;
  const format = nameAudioFormat(mediaType);
  if (source.type === 'base64' && format)
    return { type: 'input_audio', input_audio: { data: source.data, format } };
  return refusePart(block, path, 'The provider of this model accepts audio as WAV or MP3 data only.');
}

/** Files are usually PDFs here. A text document becomes a text part that begins with its name. */
function encodeDocument(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { source, mediaType, title, filename = title } = block;
  const text = readDocumentText(block, path, encoding.lose);
  if (text !== undefined) return { type: 'text', text };
  if (source.type === 'base64') {
    const name = filename ?? nameDocument(mediaType, source.data);
    return { type: 'file', file: { file_data: buildDataUrl(source.data, mediaType), filename: name } };
  }
  return refusePart(
    block,
    path,
    'This model is called through a protocol that accepts documents as data only; send the content itself.',
  );
}

function isPlainText(part: Fields): part is { type: 'text'; text: string } {
  return part.type === 'text' && typeof part.text === 'string' && Object.keys(part).length === 2;
}

/** Joins plain text to one string, which every provider accepts. Returns undefined if there are no parts. */
export function joinParts(
  parts: readonly Fields[],
  separator: string,
): string | readonly Fields[] | undefined {
  if (parts.length === 0) return undefined;
  return parts.every(isPlainText) ? parts.map(({ text }) => text).join(separator) : parts;
}
