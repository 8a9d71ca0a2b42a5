/** What kind of picture bytes are, by how they begin: names and stated types may say anything. */

const beginnings = [
  ['image/png', Buffer.from('89504e470d0a1a0a', 'hex'), 0],
  ['image/jpeg', Buffer.from('ffd8ff', 'hex'), 0],
  ['image/webp', Buffer.from('WEBP'), 8],
  ['image/gif', Buffer.from('GIF8'), 0],
] as const;

/** The media type; undefined where it is none of the pictures vendors take or make. */
export function pictureType(bytes: Uint8Array): string | undefined {
  return beginnings.find(([, mark, offset]) => mark.equals(bytes.subarray(offset, offset + mark.length)))?.[0];
}

/** Characters of base64 that hold every beginning above. */
const longestBeginning = 16;

/** The same of base64, of which only the beginning is read. */
export function pictureTypeOfBase64(data: string): string | undefined {
  return pictureType(Buffer.from(data.slice(0, longestBeginning), 'base64'));
}
