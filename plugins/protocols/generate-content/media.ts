/** Converts media, as bytes or by URL, between this protocol and the canonical form. */
import type { MediaBlock } from '../../../core/index.ts';
import { refuseFile, refusePart } from '../../shared/wire-kit/losses.ts';
import { detectBase64PictureType, nameText } from '../../shared/wire-kit/media.ts';
import { pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { vendorName } from './bag.ts';
import { convertBase64 } from './signature.ts';
import type * as Wire from './wire.ts';

const byExtension: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  pdf: 'application/pdf',
  txt: 'text/plain',
  csv: 'text/csv',
  html: 'text/html',
  md: 'text/markdown',
};

/** Google accepts these URLs without a media type. */
const videoPage = /^https?:\/\/((www\.|m\.)?youtube\.com|youtu\.be)\//i;
/** Files stored at Google. Other vendors cannot read them. */
const keptFile = /^(https:\/\/generativelanguage\.googleapis\.com\/|gs:\/\/|files\/)/i;

export function guessMediaType(url: string): string | undefined {
  const extension = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url)?.[1];
  return extension === undefined ? undefined : byExtension[extension.toLowerCase()];
}

function readKind(mediaType: string | undefined, url: string): MediaBlock['kind'] {
  const type = mediaType ?? guessMediaType(url) ?? '';
  const kind = (['image', 'audio', 'video'] as const).find((each) =>
    type.toLowerCase().startsWith(`${each}/`),
  );
  return kind ?? (videoPage.test(url) ? 'video' : 'document');
}

export interface ReadMedia {
  readonly block: MediaBlock;
  readonly rest: Fields;
}

const blobFields = new Set(['mimeType', 'data', 'displayName']);
const fileFields = new Set(['mimeType', 'fileUri', 'displayName']);

export function readBlob(blob: Wire.Blob): ReadMedia {
  const data = convertBase64(blob.data);
  const { mimeType: mediaType, displayName } = blob;
  const block: MediaBlock = {
    type: 'media',
    kind: readKind(mediaType, ''),
    source: { type: 'base64', data },
    mediaType,
    filename: displayName ?? undefined,
  };
  return { block, rest: nestFields('inlineData', pickUnread(blob, blobFields)) };
}

export function readFile(file: Wire.File): ReadMedia {
  const { fileUri: url, displayName } = file;
  const mediaType = file.mimeType ?? undefined;
  const source: MediaBlock['source'] = keptFile.test(url)
    ? { type: 'file', vendor: vendorName, id: url }
    : { type: 'url', url };
  const block: MediaBlock = {
    type: 'media',
    kind: readKind(mediaType, url),
    source,
    mediaType,
    filename: displayName ?? undefined,
  };
  return { block, rest: nestFields('fileData', pickUnread(file, fileFields)) };
}

/** Writes the part that holds a medium. */
export function writeMedia(block: MediaBlock, path: string): Fields {
  const { source, mediaType, title, filename = title } = block;
  if (source.type === 'text') return { text: nameText(source.text, filename) };
  if (source.type === 'base64') {
    const mimeType = block.kind !== 'image' ? mediaType : (detectBase64PictureType(source.data) ?? mediaType);
    if (mimeType === undefined)
      return refusePart(
        block,
        path,
        'The provider of this model requires a media type: send the file as a data URL that names one.',
      );
    return { inlineData: { mimeType, data: source.data } };
  }
  if (source.type === 'url' && /^data:/i.test(source.url))
    return refusePart(block, path, 'A data URL must hold base64.');
  if (source.type === 'url')
    return {
      fileData: {
        mimeType: mediaType ?? guessMediaType(source.url),
        fileUri: source.url,
      },
    };
  if (source.vendor === vendorName) return { fileData: { mimeType: mediaType, fileUri: source.id } };
  return refuseFile(block, path, source.vendor);
}
