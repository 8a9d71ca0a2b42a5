/**
 * URLs that contain their data. They are taken apart without reading the data, which may be many megabytes. A URL
 * written in an unusual way (parameters, upper case) keeps its own beginning.
 */

const longestPrefix = 256;
const base64Url = /^data:([^;,]*)(?:;[^,]*)?;base64,$/i;

export interface DataUrl {
  readonly data: string;
  /** Lower case; empty where the URL names none. */
  readonly mediaType: string;
  /** Everything before the data, where `dataUrl` would write it differently. */
  readonly prefix: string | undefined;
}

function usualPrefix(mediaType: string): string {
  return `data:${mediaType};base64,`;
}

/** What a base64 data URL holds; undefined for any other text. */
export function readDataUrl(url: string): DataUrl | undefined {
  if (!/^data:/i.test(url.slice(0, 5))) return undefined;
  const comma = url.slice(0, longestPrefix).indexOf(',');
  const prefix = url.slice(0, comma + 1);
  const match = base64Url.exec(prefix);
  if (!match) return undefined;
  const mediaType = (match[1] ?? '').toLowerCase();
  return {
    data: url.slice(comma + 1),
    mediaType,
    prefix: mediaType !== '' && prefix === usualPrefix(mediaType) ? undefined : prefix,
  };
}

export function dataUrl(data: string, mediaType: string | undefined, prefix?: string): string {
  return (prefix ?? usualPrefix(mediaType || 'application/octet-stream')) + data;
}

/** Whether a file's data is an address. It can also be a data URL or bare base64. */
export function isUrl(text: string): boolean {
  return /^(data|https?):/i.test(text.slice(0, 6));
}

const pdfBeginning = 'JVBERi';

/** The type of base64 that came without one, as far as its beginning shows. */
export function documentType(data: string): string | undefined {
  return data.startsWith(pdfBeginning) ? 'application/pdf' : undefined;
}

/** Whether a document of this type is text, which every protocol can carry. */
export function isTextual(mediaType: string | undefined): boolean {
  return mediaType !== undefined && (mediaType.startsWith('text/') || mediaType === 'application/json');
}

/** How many characters of base64 a text holds, as a data URL or bare. */
export function base64Length(text: string): number {
  return isUrl(text) ? (readDataUrl(text)?.data.length ?? 0) : text.length;
}
