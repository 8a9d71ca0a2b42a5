/**
 * Media as OpenAI's protocols hold them: URLs, data URLs, base64 with a file's name, and OpenAI's names of
 * audio formats.
 */
import type { MediaBlock } from '../../../core/index.ts';
import { refusePart, type Lose } from '../wire-kit/losses.ts';
import {
  buildDataUrl,
  decodeText,
  detectDocumentType,
  fitPicture,
  isTextual,
  isUrl,
  nameText,
  readDataUrl,
} from '../wire-kit/media.ts';

/** A medium as a URL or as base64. */
export type ReadMedium = Pick<MediaBlock, 'source' | 'mediaType'>;

/** A URL as a source. A data URL in base64 becomes its data. */
export function readUrl(url: string): ReadMedium {
  const read = readDataUrl(url);
  if (!read) return { source: { type: 'url', url } };
  const { data, mediaType } = read;
  return { source: { type: 'base64', data }, mediaType: mediaType || undefined };
}

/** The content of a file: a data URL, or base64 alone. */
export function readFileData(data: string): ReadMedium {
  if (isUrl(data)) return readUrl(data);
  return { source: { type: 'base64', data }, mediaType: detectDocumentType(data) };
}

/** The URL of a medium; undefined for a vendor's file or plain text, which have none. */
export function writeUrl({ source, mediaType }: MediaBlock): string | undefined {
  if (source.type === 'url') return source.url;
  return source.type === 'base64' ? buildDataUrl(source.data, mediaType) : undefined;
}

const audioFormats: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
]);

/** OpenAI's name for a type of audio. Undefined for types that it does not take. */
export function nameAudioFormat(mediaType = ''): string | undefined {
  return audioFormats.get(mediaType.toLowerCase());
}

export function toAudioType(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`;
}

/** A document of text as text under its name; undefined for any other. */
export function readDocumentText(block: MediaBlock, path: string, lose: Lose): string | undefined {
  const { source, mediaType, title, filename = title } = block;
  if (source.type === 'text') return nameText(source.text, filename);
  if (source.type !== 'base64' || !isTextual(mediaType)) return undefined;
  return nameText(decodeText(source.data, path, lose), filename);
}

const office = 'application/vnd.openxmlformats-officedocument.';

const extensions: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['application/msword', 'doc'],
  [`${office}wordprocessingml.document`, 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  [`${office}spreadsheetml.sheet`, 'xlsx'],
  ['application/vnd.ms-powerpoint', 'ppt'],
  [`${office}presentationml.presentation`, 'pptx'],
  ['application/vnd.oasis.opendocument.text', 'odt'],
  ['application/rtf', 'rtf'],
  ['application/epub+zip', 'epub'],
  ['application/xml', 'xml'],
]);

/**
 * A file name for a document without one. OpenAI requires a name, and recognises the type by the extension.
 * The extension follows the stated type, or else the data; a document of unknown type gets none.
 */
export function nameDocument(mediaType: string | undefined, data: string): string {
  const extension = extensions.get(mediaType?.toLowerCase() ?? detectDocumentType(data) ?? '');
  return extension === undefined ? 'document' : `document.${extension}`;
}

/** A picture's URL, http or data; undefined if the picture has neither. */
export function buildPictureUrl(block: MediaBlock, path: string): string | undefined {
  const { source } = block;
  if (source.type === 'base64') return buildDataUrl(source.data, fitPicture(block, source.data, path));
  if (source.type !== 'url') return undefined;
  if (/^https?:/i.test(source.url)) return source.url;
  return refusePart(
    block,
    path,
    'The provider of this model fetches http and https addresses only; send the picture itself as base64.',
  );
}
