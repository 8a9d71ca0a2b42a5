/**
 * Reads an edit: a form as fields and files, with texts of numbers and booleans converted, or JSON with
 * pictures in data URLs. The first bytes of a picture must be those of one, whatever its name is.
 */
import { GatewayError, type Form, type FormFile } from '../../../core/index.ts';
import { detectPictureType, readDataUrl } from '../../shared/wire-kit/media.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { isProvider, readProvider } from './form-provider.ts';
import * as Wire from './wire.ts';

export interface Picture {
  /** The field in errors: `image`, or `image[2]` if there are several. */
  readonly at: string;
  /** A picture named by its address. */
  readonly source: Uint8Array | { readonly url: string };
  readonly mediaType: string | undefined;
  readonly mask: boolean;
}

interface ReadEdit {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly pictures: readonly Picture[];
}

const imageFields = new Set(['image', 'image[]']);
const fileFields = new Set([...imageFields, 'mask', 'mask[]']);
const numbers = new Set(['n', 'output_compression', 'partial_images']);
const switches: Readonly<Record<string, boolean>> = { true: true, false: false };

/** Throws `invalid_request` with the name of the field. */
export function readForm({ fields: texts, files }: Form): ReadEdit {
  const fields: Record<string, unknown> = { provider: readProvider(texts) };
  for (const [name, text] of texts.filter(([each]) => !isProvider(each))) {
    if (fileFields.has(name)) throw buildFieldError(name, 'is a text', 'a PNG or JPEG file, not a URL');
    if (Object.hasOwn(fields, name)) throw buildFieldError(name, 'is sent twice', 'it once');
    if (text !== '') Object.defineProperty(fields, name, { value: readValue(name, text), enumerable: true });
  }
  return { fields, pictures: readPictures(files) };
}

function readValue(name: string, text: string): unknown {
  if (numbers.has(name) && /^-?\d+$/.test(text)) return Number(text);
  return name === 'stream' && Object.hasOwn(switches, text) ? switches[text] : text;
}

function readPictures(files: readonly FormFile[]): Picture[] {
  const unknown = files.find(({ name }) => !fileFields.has(name));
  if (unknown) throw buildFieldError(unknown.name, 'is a file', 'files as "image", "image[]" or "mask" only');
  const images = files.filter(({ name }) => imageFields.has(name));
  const masks = files.filter(({ name }) => !imageFields.has(name));
  if (images.length === 0) throw buildFieldError('image', 'is missing', 'a PNG or JPEG file');
  if (images.length > Wire.mostPictures)
    throw buildFieldError('image', `holds ${images.length} files`, `${Wire.mostPictures} at most`);
  if (masks.length > 1) throw buildFieldError('mask', `holds ${masks.length} files`, 'one');
  return [
    ...images.map(({ bytes }, index) =>
      checkPicture(images.length > 1 ? `image[${index}]` : 'image', bytes, false),
    ),
    ...masks.map(({ bytes }) => checkPicture('mask', bytes, true)),
  ];
}

function checkPicture(at: string, bytes: Uint8Array, mask: boolean): Picture {
  const mediaType = detectPictureType(bytes);
  if (mediaType === 'image/png' || (mediaType === 'image/jpeg' && !mask))
    return { at, source: bytes, mediaType, mask };
  const types = mask ? 'PNG' : 'PNG or JPEG';
  throw buildFieldError(
    at,
    bytes.length === 0 ? 'is an empty file' : `is not a ${types} file`,
    mask ? 'a PNG file with transparent parts' : 'a PNG or JPEG file',
  );
}

/** Reads OpenAI's JSON form of an edit. Throws `invalid_request` with the name of the field. */
export function readEditJson(body: unknown): ReadEdit {
  const { images, mask, ...fields } = checkWire(Wire.references, body);
  const stray = [...imageFields].find((name) => Object.hasOwn(fields, name));
  if (stray !== undefined)
    throw buildFieldError(stray, 'is for forms only', 'data URLs as "images": [{ "image_url": … }]');
  const pictures = images.map((each, index) => readReference(each, `images[${index}]`, false));
  return { fields, pictures: mask ? [...pictures, readReference(mask, 'mask', true)] : pictures };
}

function readReference(
  { image_url: url, file_id: id }: Wire.Reference,
  place: string,
  mask: boolean,
): Picture {
  if (!url && id)
    throw new GatewayError(
      'unsupported_parameter',
      `"${place}.file_id" names a file that a vendor stores, and the gateway stores none: send the picture ` +
        'itself as a data URL in "image_url".',
      { param: `${place}.file_id` },
    );
  const at = `${place}.image_url`;
  if (url && /^https?:/i.test(url)) return { at, source: { url }, mediaType: undefined, mask };
  const data = readDataUrl(url ?? '')?.data;
  if (data === undefined)
    throw buildFieldError(at, url ? 'is not a data URL in base64' : 'is missing', 'a picture as a data URL');
  return checkPicture(at, Buffer.from(data, 'base64'), mask);
}

/** Builds the error for a form instead of JSON, or JSON instead of a form. */
export function buildBodyError(send: string): GatewayError {
  return new GatewayError('unsupported_media_type', `Send the body as ${send}.`);
}
