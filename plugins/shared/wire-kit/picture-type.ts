/** Recognises the type of a picture by its first bytes, since file names and stated types may be wrong. */
import { refusePart } from './refuse-part.ts';

const beginnings = [
  ['image/png', Buffer.from('89504e470d0a1a0a', 'hex'), 0],
  ['image/jpeg', Buffer.from('ffd8ff', 'hex'), 0],
  ['image/webp', Buffer.from('WEBP'), 8],
  ['image/gif', Buffer.from('GIF8'), 0],
] as const;

/** The media type; undefined where it is no type of picture that vendors take or make. */
export function pictureType(bytes: Uint8Array): string | undefined {
  return beginnings.find(([, mark, offset]) =>
    mark.equals(bytes.subarray(offset, offset + mark.length)),
  )?.[0];
}

/** So many characters of base64 hold each of the beginnings above. */
const longestBeginning = 16;

/** The same for base64, of which only the beginning is decoded. */
export function pictureTypeOfBase64(data: string): string | undefined {
  return pictureType(Buffer.from(data.slice(0, longestBeginning), 'base64'));
}

const taken: ReadonlySet<string> = new Set(beginnings.map(([type]) => type));

interface Picture {
  readonly mediaType?: string | undefined;
  readonly at?: string | undefined;
}

/** The type of a picture in base64: by its first bytes, or else as stated. Throws where vendors do not read such pictures. */
export function fitPicture({ mediaType, at }: Picture, data: string, path: string): string {
  const stated = mediaType?.toLowerCase();
  const type = pictureTypeOfBase64(data) ?? (stated === 'image/jpg' ? 'image/jpeg' : stated);
  if (type !== undefined && taken.has(type)) return type;
  return refusePart(
    { at },
    path,
    `The provider of this model takes images as JPEG, PNG, GIF or WebP; this is ${type ?? 'of an unknown type'}.`,
  );
}
