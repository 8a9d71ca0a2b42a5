/**
 * Pictures and documents as data URLs and base64: their types, their names, and what providers accept.
 */
import { isUtf8 } from 'node:buffer';
import type { MediaBlock } from '../../../core/index.ts';
import { refusePart, type Lose } from './losses.ts';

const longestPrefix = 256;
const base64Url = /^data:([^;,]*)(?:;[^,]*)?;base64,$/i;

/**
 * Splits a base64 data URL without reading its data, which may be long; undefined for any other text. The
 * media type is in lower case, and empty if the URL names none.
 */
export function readDataUrl(url: string): { readonly data: string; readonly mediaType: string } | undefined {
  if (!/^data:/i.test(url.slice(0, 5))) return undefined;
  const comma = url.slice(0, longestPrefix).indexOf(',');
  const match = base64Url.exec(url.slice(0, comma + 1));
  if (!match) return undefined;
  return { data: url.slice(comma + 1), mediaType: (match[1] ?? '').toLowerCase() };
}

export function buildDataUrl(data: string, mediaType: string | undefined): string {
  return `data:${mediaType || 'application/octet-stream'};base64,${data}`;
}

/** Whether the text is a URL, a data URL included, and not bare base64. */
export function isUrl(text: string): boolean {
  return /^(data|https?):/i.test(text.slice(0, 6));
}

const pdfPrefix = 'JVBERi';

/** The media type that the first characters of base64 show; undefined if they show none. */
export function detectDocumentType(data: string): string | undefined {
  return data.startsWith(pdfPrefix) ? 'application/pdf' : undefined;
}

export function nameText(text: string, filename: string | undefined): string {
  return filename === undefined ? text : `${filename}:\n\n${text}`;
}

/** Whether a document of this type is text, which every protocol can carry. */
export function isTextual(mediaType: string | undefined): boolean {
  return mediaType !== undefined && (mediaType.startsWith('text/') || mediaType === 'application/json');
}

/** The text that base64 holds, in UTF-16 if a byte order mark says so. Reports characters it cannot read. */
export function decodeText(data: string, path: string, lose: Lose): string {
  const bytes = Buffer.from(data, 'base64');
  const mark = bytes.toString('hex', 0, 2);
  if (mark === 'fffe' || mark === 'feff')
    return new TextDecoder(mark === 'fffe' ? 'utf-16le' : 'utf-16be').decode(bytes);
  if (!isUtf8(bytes)) lose(path, 'not UTF-8, so some of its characters are replaced', 'approximated');
  return bytes.toString('utf8');
}

const step = 32_768;
/** Base64 is decoded into it piece by piece: the quickest check, five times quicker than a pattern. */
const scratch = new Uint8Array(step);

function canDecode(base64: string): boolean {
  try {
    for (let at = 0; at < base64.length; at += step) scratch.setFromBase64(base64.slice(at, at + step));
    return true;
  } catch {
    return false;
  }
}

/** Whether a text is base64: in either alphabet, with or without padding, with line breaks or none. */
export function isBase64(text: string): boolean {
  const padding = text.indexOf('=');
  const base64 = padding < 0 ? text : text.slice(0, padding);
  if (padding === 0 || (padding > 0 && !/^==?\s*$/.test(text.slice(padding)))) return false;
  if (canDecode(base64)) return true;
  return /^[\w+/\s-]*$/.test(base64) && base64.replace(/\s/g, '').length % 4 !== 1;
}

/** The base64 characters of a data URL or of bare base64; empty for the URL of something else. */
export function readBase64(text: string): string {
  return isUrl(text) ? (readDataUrl(text)?.data ?? '') : text;
}

/** The client's text about a document, which most protocols carry as text before it. */
export function takeContext({ context }: MediaBlock, path: string, lose: Lose): string | undefined {
  if (context !== undefined) lose(`${path}.context`, 'sent as text before the document', 'approximated');
  return context;
}

/** The name of a picture or sound, as text before it, for wires without a field for it. */
export function nameMedium({ kind, filename }: MediaBlock): string | undefined {
  return kind === 'document' || filename === undefined ? undefined : `${filename}:`;
}

const signatures = [
  ['image/png', Buffer.from('89504e470d0a1a0a', 'hex'), 0],
  ['image/jpeg', Buffer.from('ffd8ff', 'hex'), 0],
  ['image/webp', Buffer.from('WEBP'), 8],
  ['image/gif', Buffer.from('GIF8'), 0],
] as const;

/** The media type of a picture by its first bytes; undefined if it is none that providers accept or make. */
export function detectPictureType(bytes: Uint8Array): string | undefined {
  return signatures.find(([, mark, offset]) =>
    mark.equals(bytes.subarray(offset, offset + mark.length)),
  )?.[0];
}

/** Base64 characters that are enough for each signature. */
const longestSignature = 16;

/** The same for base64, of which it decodes only the first bytes. */
export function detectBase64PictureType(data: string): string | undefined {
  return detectPictureType(Buffer.from(data.slice(0, longestSignature), 'base64'));
}

const accepted: ReadonlySet<string> = new Set(signatures.map(([type]) => type));

/** A base64 picture's type by its bytes, since stated types may be wrong, or as stated. Throws for others. */
export function fitPicture(block: MediaBlock, data: string, path: string): string {
  const stated = block.mediaType?.toLowerCase();
  const type = detectBase64PictureType(data) ?? (stated === 'image/jpg' ? 'image/jpeg' : stated);
  if (type !== undefined && accepted.has(type)) return type;
  return refusePart(
    block,
    path,
    'The provider of this model takes images as JPEG, PNG, GIF or WebP; this is ' +
      `${type ?? 'of an unknown type'}.`,
  );
}
