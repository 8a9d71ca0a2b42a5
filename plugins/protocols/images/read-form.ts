/**
 * Reads the form of an edit as fields and files, and converts texts of numbers and booleans. The first bytes
 * of a file must be those of a picture, whatever its name is.
 */
import { GatewayError, type Form, type FormFile } from '../../../core/index.ts';
import { detectPictureType } from '../../shared/wire-kit/media.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';
import { isProvider, readProvider } from './form-provider.ts';

export interface Picture {
  /** The field in errors: `image`, or `image[2]` if there are several. */
  readonly at: string;
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly mask: boolean;
}

interface ReadForm {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly pictures: readonly Picture[];
}

const mostPictures = 16;
const imageFields = new Set(['image', 'image[]']);
const fileFields = new Set([...imageFields, 'mask', 'mask[]']);
const numbers = new Set(['n', 'output_compression', 'partial_images']);
const switches: Readonly<Record<string, boolean>> = { true: true, false: false };

/** Throws `invalid_request` with the name of the field. */
export function readForm({ fields: texts, files }: Form): ReadForm {
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
  if (images.length > mostPictures)
    throw buildFieldError('image', `holds ${images.length} files`, `${mostPictures} at most`);
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
    return { at, bytes, mediaType, mask };
  const types = mask ? 'PNG' : 'PNG or JPEG';
  throw buildFieldError(
    at,
    bytes.length === 0 ? 'is an empty file' : `is not a ${types} file`,
    mask ? 'a PNG file with transparent parts' : 'a PNG or JPEG file',
  );
}

/** Builds the error for a form instead of JSON, or JSON instead of a form. */
export function buildBodyError(send: string): GatewayError {
  return new GatewayError('unsupported_media_type', `Send the body as ${send}.`);
}
