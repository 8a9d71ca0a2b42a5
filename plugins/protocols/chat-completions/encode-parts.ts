/**
 * Turns canonical text and media into the content of a message. A part that this protocol cannot express is
 * reported as lost. If the answer would be worthless without it (a video, another vendor's file), the call is
 * refused.
 */
import type { TextBlock, MediaBlock } from '../../../core/index.ts';
import { encodeCache } from '../../shared/wire-kit/cache-breakpoint.ts';
import type { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import type { Encoding as BaseEncoding } from '../../shared/wire-kit/encoding.ts';
import { loseSeal, refuseFile, refusePart } from '../../shared/wire-kit/losses.ts';
import {
  takeContext,
  nameDocument,
  nameMedium,
  buildDataUrl,
  buildPictureUrl,
  nameAudioFormat,
  readDocumentText,
} from '../../shared/wire-kit/media.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { fileVendor } from './decode-parts.ts';
import { encodeForeignMark } from './foreign-marks.ts';

export interface Encoding extends BaseEncoding {
  /** Whether the provider supports OpenAI's later additions to the protocol. */
  readonly extras: boolean;
  readonly marks: boolean;
  /** Under which vendor's name the client marks what to cache. */
  readonly marksLike: 'openai' | 'anthropic';
  readonly flags: ReturnType<typeof chatFlags>;
  /** Whether the call turns reasoning off. */
  readonly reasoningOff: boolean;
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
