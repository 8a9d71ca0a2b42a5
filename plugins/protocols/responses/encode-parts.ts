/**
 * Encodes canonical text and media as parts of a message or of a tool's output. A part that this protocol
 * cannot express is reported as lost. If the answer would be worthless without it (a video, another vendor's
 * file), the call is refused.
 */
import type { MediaBlock } from '../../../core/index.ts';
import { encodeCache } from '../../shared/wire-kit/cache-breakpoint.ts';
import { refuseFile, refusePart } from '../../shared/wire-kit/losses.ts';
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
import { bag, nativeVendor, protocolName } from './bag.ts';
import { getTextType, type ForeignPart, type ContentBlock } from './decode-parts.ts';
import type { Encoding } from './encoding.ts';

/** Usually returns one part. Returns none if it is lost, and two if a document has a context text. */
export function encodeParts(
  block: ContentBlock | ForeignPart,
  role: string,
  path: string,
  encoding: Encoding,
): Fields[] {
  const wire = encodeContent(block, role, path, encoding);
  if (!wire) return [];
  // The own fields of a message are on its first part.
  const { item: _item, ...fields } = bag.getFields(block);
  const part = overlay(fields, {
    ...wire,
    prompt_cache_breakpoint: encodeMark(block, role, path, encoding),
  });
  if (block.type !== 'media') return [part];
  const text = takeContext(block, path, encoding.lose) ?? nameMedium(block);
  return text === undefined ? [part] : [{ type: 'input_text', text }, part];
}

/** OpenAI refuses marks on what the assistant said. */
function encodeMark(
  block: ContentBlock | ForeignPart,
  role: string,
  path: string,
  encoding: Encoding,
): Fields | undefined {
  if (!block.cache || role !== 'assistant') return encodeCache(block, path, encoding, protocolName);
  encoding.lose(`${path}.cache`, 'responses has cache marks on input only');
  return undefined;
}

function encodeContent(
  block: ContentBlock | ForeignPart,
  role: string,
  path: string,
  encoding: Encoding,
): Fields | undefined {
  if (block.type === 'text') return { type: getTextType(role), text: block.text };
  if (block.type === 'refusal') return { type: 'refusal', refusal: block.text };
  if (block.type === 'foreign') return block.value;
  if (role === 'tool' && block.kind === 'audio')
    return refusePart(block, path, 'This model accepts no audio in the result of a tool.');
  return encodeMedia(block, path, encoding);
}

function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields | undefined {
  const { kind, source } = block;
  if (kind === 'video')
    return refusePart(block, path, 'This model is called through a protocol that accepts no video.');
  if (source.type === 'file' && (source.vendor !== nativeVendor || encoding.owner !== nativeVendor))
    return refuseFile(block, path, source.vendor);
  if (kind === 'image') return encodeImage(block, path, encoding);
  return kind === 'audio' ? encodeAudio(block, path, encoding) : encodeDocument(block, path, encoding);
}

const details: ReadonlySet<string> = new Set(['auto', 'low', 'high', 'original']);

function encodeImage(block: MediaBlock, path: string, { lose }: Encoding): Fields | undefined {
  const { source, detail } = block;
  const known = detail === undefined || details.has(detail);
  if (!known) lose(`${path}.detail`, 'responses has no such level of detail');
  // OpenAI's schema requires `detail`, although its API accepts images without it.
  const head = { type: 'input_image', detail: known ? (detail ?? 'auto') : 'auto' };
  if (source.type === 'file') return { ...head, file_id: source.id };
  const url = buildPictureUrl(block, path);
  if (url !== undefined) return { ...head, image_url: url };
  lose(path, 'responses cannot carry this image');
  return undefined;
}

function encodeAudio(block: MediaBlock, path: string, { model }: Encoding): Fields {
  const { source, mediaType } = block;
  const format = nameAudioFormat(mediaType);
  if (source.type !== 'base64' || !format)
    return refusePart(
      block,
      path,
      'This model is called through a protocol that accepts audio as WAV or MP3 data only.',
    );
  if (!model.input.includes('audio')) return refusePart(block, path, 'This model accepts no audio.');
  return { type: 'input_audio', input_audio: { data: source.data, format } };
}

/** Files are usually PDFs here. A text document becomes a text part that begins with its name. */
function encodeDocument(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { source, mediaType, title, filename = title } = block;
  if (source.type === 'file') return { type: 'input_file', file_id: source.id, filename };
  const text = readDocumentText(block, path, encoding.lose);
  if (text !== undefined) return { type: 'input_text', text };
  if (source.type !== 'base64') return { type: 'input_file', file_url: writeUrl(block), filename };
  return {
    type: 'input_file',
    file_data: writeUrl(block),
    filename: filename ?? nameDocument(mediaType, source.data),
  };
}

function isPlainText(part: Fields): part is { type: string; text: string } {
  return (
    typeof part.text === 'string' && Object.values(part).filter((value) => value !== undefined).length === 2
  );
}

/** Joins the parts of a message or a tool's output. One plain text becomes a string. */
export function joinParts(parts: readonly Fields[]): string | readonly Fields[] {
  const [first, ...others] = parts;
  if (!first) return '';
  return others.length === 0 && isPlainText(first) ? first.text : parts;
}
