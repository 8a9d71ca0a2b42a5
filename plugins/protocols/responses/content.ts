/**
 * Text and media of a message or of a tool's output, in both directions. A part that this protocol cannot
 * express is reported as lost. If the answer would be worthless without it (a video, another vendor's file),
 * the call is refused.
 */
import type { MediaBlock, BlockOf, TextBlock } from '../../../core/index.ts';
import { decodeCache, readCacheLeftover, encodeCache } from '../../shared/wire-kit/cache-breakpoint.ts';
import { refuseFile, refusePart } from '../../shared/wire-kit/losses.ts';
import {
  toAudioType,
  readFileData,
  readUrl,
  type ReadMedium,
  takeContext,
  nameDocument,
  nameMedium,
  buildPictureUrl,
  nameAudioFormat,
  readDocumentText,
  writeUrl,
} from '../../shared/wire-kit/media.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { pickUnread, nestFields, type Fields, overlay } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName, type Encoding } from './encoding.ts';
import * as Wire from './wire.ts';

type RefusalBlock = BlockOf<'refusal'>;
export type ContentBlock = TextBlock | MediaBlock | RefusalBlock;
/** A part of a type that this protocol's schema does not know. */
export type ForeignPart = BlockOf<'foreign'> & { at: string };

/** Returns the usual type of a text part in a message of this role. */
function getTextType(role: string): 'input_text' | 'output_text' {
  return role === 'assistant' ? 'output_text' : 'input_text';
}

function keepForeign(value: Fields, at: string, role: string): ForeignPart {
  const mark = role === 'assistant' ? undefined : 'needed';
  return { ...buildForeignBlock(protocolName, value, at, mark), at };
}

/** `at` is the path of the content in the client's body. */
export function decodeContent(
  content: Wire.Content,
  at: string,
  role: string,
): (ContentBlock | ForeignPart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return Wire.isKnownPart(part) ? { ...decodePart(part), at: place } : keepForeign(part, place, role);
  });
}

function decodePart(part: Wire.Part): ContentBlock {
  switch (part.type) {
    case 'input_text':
      return decodeInputText(part);
    case 'output_text':
      return decodeOutputText(part);
    case 'refusal':
      return { type: 'refusal', text: part.refusal, ...bag.keep(pickUnread(part, ['type', 'refusal'])) };
    case 'input_image':
      return decodeMedia(part, readImage(part), { detail: part.detail ?? undefined });
    case 'input_file':
      return decodeMedia(part, readFile(part), { filename: part.filename ?? undefined });
    case 'input_audio':
      return decodeMedia(part, readAudio(part), {});
  }
}

function decodeInputText(part: Extract<Wire.Part, { type: 'input_text' }>): TextBlock {
  const left = pickUnread(part, ['type', 'prompt_cache_breakpoint', 'text']);
  const fields = part.prompt_cache_breakpoint ? { ...left, ...readCacheLeftover(part) } : left;
  return { type: 'text', text: part.text, ...decodeCache(part), ...bag.keep(fields) };
}

/** Clients send parts of replies back with empty lists. */
function decodeOutputText(part: Extract<Wire.Part, { type: 'output_text' }>): TextBlock {
  const empty = ['annotations', 'logprobs'].filter((name) => Object.keys(Object(part[name])).length === 0);
  return { type: 'text', text: part.text, ...bag.keep(pickUnread(part, ['type', 'text', ...empty])) };
}

type MediaPart = Extract<Wire.Part, { type: 'input_image' | 'input_file' | 'input_audio' }>;

const kinds = { input_image: 'image', input_file: 'document', input_audio: 'audio' } as const;

function decodeMedia(
  part: MediaPart,
  { field, rest, ...medium }: Medium,
  about: Pick<MediaBlock, 'detail' | 'filename'>,
): MediaBlock {
  const read = ['type', 'prompt_cache_breakpoint', field, ...Object.keys(about)];
  const fields = { ...pickUnread(part, read), ...readCacheLeftover(part), ...rest };
  return {
    type: 'media',
    kind: kinds[part.type],
    ...medium,
    ...about,
    ...decodeCache(part),
    ...bag.keep(fields),
  };
}

/** A medium, the field that holds it, and what it does not express of that field. */
type Medium = ReadMedium & { readonly field: string; readonly rest?: Fields };

function readAudio({ input_audio: audio }: Extract<MediaPart, { type: 'input_audio' }>): Medium {
  const field = 'input_audio';
  const rest = nestFields(field, pickUnread(audio, ['data', 'format']));
  const source = { type: 'base64', data: audio.data } as const;
  return { source, mediaType: toAudioType(audio.format), field, rest };
}

function readImage({ image_url: url, file_id: id }: Extract<MediaPart, { type: 'input_image' }>): Medium {
  return url ? { ...readUrl(url), field: 'image_url' } : readFileId(id);
}

function readFile(part: Extract<MediaPart, { type: 'input_file' }>): Medium {
  const { file_data: data, file_url: url, file_id: id } = part;
  if (!data) return url ? { ...readUrl(url), field: 'file_url' } : readFileId(id);
  return { ...readFileData(data), field: 'file_data' };
}

function readFileId(id: string | null | undefined): Medium {
  return { source: { type: 'file', vendor: nativeVendor, id: id ?? '' }, field: 'file_id' };
}

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
