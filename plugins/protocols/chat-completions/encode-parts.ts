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
  buildPictureUrl,
  nameAudioFormat,
  readDocumentText,
  writeUrl,
} from '../../shared/wire-kit/media.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { fileVendor, shortForm } from './decode-parts.ts';
import { isForeign, encodeOwnMark } from './foreign-marks.ts';

export interface Encoding extends BaseEncoding {
  /** Whether the provider supports OpenAI's later additions to the protocol. */
  readonly extras: boolean;
  readonly marks: boolean;
  readonly flags: ReturnType<typeof chatFlags>;
  /** Whether the call turns reasoning off. */
  readonly reasoningOff: boolean;
}

export type ContentBlock = TextBlock | MediaBlock;

type Markable = Pick<ContentBlock, 'cache' | 'form'>;

export function encodeMark(block: Markable, path: string, encoding: Encoding): Fields | undefined {
  return isForeign(block) ? undefined : encodeCache(block, path, encoding, protocolName);
}

/** Usually returns one part. Returns none if the block is lost, and two if a document has a context text. */
export function encodeParts(block: ContentBlock, path: string, encoding: Encoding): Fields[] {
  if (block.opaque?.length) loseSeal(path, encoding.lose);
  const wire =
    block.type === 'text' ? { type: 'text', text: block.text } : encodeMedia(block, path, encoding);
  if (!wire) return [];
  const mark = encodeMark(block, path, encoding);
  const marks = mark ? { prompt_cache_breakpoint: mark } : encodeOwnMark(block);
  const part = overlay(bag.getFields(block), { ...wire, ...marks });
  if (block.type !== 'media') return [part];
  const text = takeContext(block, path, encoding.lose) ?? nameMedium(block);
  return text === undefined ? [part] : [{ type: 'text', text }, part];
}

function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields | undefined {
  if (block.kind === 'video' && encoding.own) return encodeVideo(block);
  if (block.kind === 'video')
    return refusePart(block, path, 'This model is called through a protocol that accepts no video.');
  if (block.source.type === 'file') {
    const { vendor, id } = block.source;
    // Of the providers with this protocol, only OpenAI stores files.
    if (vendor !== fileVendor || !encoding.extras) return refuseFile(block, path, vendor);
    return { type: 'file', file: { file_id: id, filename: block.filename } };
  }
  if (block.kind === 'image') return encodeImage(block, path, encoding);
  if (block.kind === 'audio') return encodeAudio(block, path, encoding);
  return encodeDocument(block, path, encoding);
}

const details: ReadonlySet<string | undefined> = new Set([undefined, 'auto', 'low', 'high', 'original']);

function encodeVideo(block: MediaBlock): Fields {
  const form = bag.getForm(block);
  const url = writeUrl(block, form);
  return { type: 'video_url', video_url: form.includes(shortForm) ? url : { url } };
}

function encodeImage(block: MediaBlock, path: string, { own, lose, flags }: Encoding): Fields | undefined {
  const url = own ? writeUrl(block, bag.getForm(block)) : buildPictureUrl(block, path);
  if (url === undefined) {
    lose(path, 'chat-completions cannot carry this image');
    return undefined;
  }
  if (flags.shortForms && bag.has(block, shortForm)) return { type: 'image_url', image_url: url };
  if (own || details.has(block.detail))
    return { type: 'image_url', image_url: { url, detail: block.detail } };
  lose(`${path}.detail`, 'chat-completions has no such level of detail');
  return { type: 'image_url', image_url: { url } };
}

function encodeAudio(block: MediaBlock, path: string, { own, flags }: Encoding): Fields {
  const { source, mediaType } = block;
  const form = bag.getForm(block);
  if (flags.shortForms && form.includes(shortForm)) {
    return {
      type: 'input_audio',
      input_audio: source.type === 'base64' && form.includes('bare') ? source.data : writeUrl(block, form),
    };
  }
  const format = nameAudioFormat(mediaType, own);
  if (source.type === 'base64' && format)
    return { type: 'input_audio', input_audio: { data: source.data, format } };
  return refusePart(block, path, 'The provider of this model accepts audio as WAV or MP3 data only.');
}

/** Files are usually PDFs here. A text document becomes a text part that begins with its name. */
function encodeDocument(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { own, flags } = encoding;
  const { source, mediaType, title, filename = title } = block;
  const form = bag.getForm(block);
  const isShort = form.includes(shortForm);
  if (isShort && flags.shortForms)
    return { type: 'document_url', document_url: writeUrl(block, form), document_name: filename };
  const text = readDocumentText(block, path, encoding);
  if (text !== undefined) return { type: 'text', text };
  if (source.type === 'base64') {
    const data = form.includes('bare') ? source.data : writeUrl(block, form);
    const name = filename ?? (own ? undefined : nameDocument(mediaType, source.data));
    return { type: 'file', file: { file_data: data, filename: name } };
  }
  if (own && !isShort) return { type: 'file', file: { file_data: writeUrl(block, form), filename } };
  return refusePart(
    block,
    path,
    'This model is called through a protocol that accepts documents as data only; send the content itself.',
  );
}

function isPlainText(part: Fields): part is { type: 'text'; text: string } {
  return part.type === 'text' && typeof part.text === 'string' && Object.keys(part).length === 2;
}

/**
 * Joins plain text to one string, which every provider accepts. If the client wrote parts, they stay parts.
 * Returns undefined if there are no parts.
 */
export function joinParts(
  parts: readonly Fields[],
  form: readonly string[],
  separator: string,
  { flags }: Encoding,
): string | readonly Fields[] | undefined {
  const isKept = form.includes('parts');
  // Providers other than Mistral refuse an empty list of parts.
  if (parts.length === 0) return isKept && flags.shortForms ? parts : undefined;
  return !isKept && parts.every(isPlainText) ? parts.map(({ text }) => text).join(separator) : parts;
}
