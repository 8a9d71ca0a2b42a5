/**
 * Reads a client's call, and collects the facts that routing and billing need. An edit is a form, whose texts
 * of numbers and booleans are converted, or JSON with pictures in data URLs. The first bytes of a picture
 * must be those of one, whatever its name is.
 */
import { type Match, type Operation, GatewayError } from '../../../core/index.ts';
import { Form, requireBytes, type FormFile } from '../../shared/forms.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { detectPictureType, readDataUrl } from '../../shared/wire-kit/media.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels, type CallFacts } from '../../shared/wire-kit/read-call.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import type { QualityOption } from './reply.ts';
import { decodeRequest } from './request.ts';
import * as Wire from './wire.ts';

export class ImageCall extends ReadCall {
  readonly operation: Operation;
  /** Whether the client sent the number of images, even if it is one. */
  readonly statesCount: boolean;
  /** The number of pictures to edit, without the mask. */
  readonly inputImages: number;

  constructor(operation: Operation, given: Wire.Request, textBytes: number, pictures: readonly Picture[]) {
    const wire = given.quality ? given : { ...given, quality: 'auto' };
    const facts: CallFacts = {
      model: wire.model,
      stream: wire.stream ?? false,
      outputLimit: undefined,
      candidates: wire.n ?? 1,
      framing: 'events',
      usageWanted: true,
      size: { textBytes, images: pictures.length, mediaBytes: 0 },
      preferences: readPreferences(wire.provider),
      carriesState: false,
      labels: readLabels(wire),
      defaulted: given.quality ? [] : ['quality'],
    };
    super(facts, () => decodeRequest(wire, pictures));
    this.operation = operation;
    this.statesCount = typeof wire.n === 'number';
    this.inputImages = pictures.filter(({ mask }) => !mask).length;
  }
}

/** Creates the reader, which throws `invalid_request`. `quality`: whether calls have to name a quality. */
export function createReader(
  quality: QualityOption,
): (body: unknown, text: string, match: Match) => ImageCall {
  const checkFields = (
    fields: unknown,
    schema: typeof Wire.request | typeof Wire.edit | typeof Wire.lenientEdit,
    qualities: string,
  ): Wire.Request => {
    const wire = checkWire(schema, fields);
    if (quality === 'required' && !wire.quality) throw buildFieldError('quality', 'is missing', qualities);
    if (wire.partial_images && !wire.stream)
      throw buildFieldError(
        'partial_images',
        'is only for streams',
        '"stream": true with it, or leave it out',
      );
    return wire;
  };
  return (body, text, { operation }) => {
    if (operation === 'edit') {
      const isForm = body instanceof Form;
      const { fields, pictures } = isForm ? readForm(body) : readEditJson(body);
      // The text of a form has no pictures in it.
      const textBytes = Buffer.byteLength(isForm ? text : JSON.stringify(fields));
      const wire = checkFields(
        fields,
        quality === 'required' ? Wire.edit : Wire.lenientEdit,
        '"low", "medium" or "high"',
      );
      return new ImageCall(operation, wire, textBytes, pictures);
    }
    if (body instanceof Form)
      throw new GatewayError('unsupported_media_type', 'Send the body as application/json.');
    const wire = checkFields(body, Wire.request, '"auto", "low", "medium", "high", "standard" or "hd"');
    return new ImageCall(operation, wire, Buffer.byteLength(text), []);
  };
}

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

/** Throws `invalid_request` with the name of the field. */
function readForm({ fields: texts, files }: Form): ReadEdit {
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
  return name === 'stream' ? readSwitch(text) : text;
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
    ...images.map((file, index) =>
      checkPicture(images.length > 1 ? `image[${index}]` : 'image', requireBytes(file), false),
    ),
    ...masks.map((file) => checkPicture('mask', requireBytes(file), true)),
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
function readEditJson(body: unknown): ReadEdit {
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

const member = /^provider\[(\w+)\](?:\[(\w*)\])?$/;
/** Matches the index of a list item, which only some clients send. */
const item = /^\d*$/;

function isProvider(name: string): boolean {
  return name === 'provider' || name.startsWith('provider[');
}

/**
 * Reads the `provider` object of a form, whose fields are all text. Clients send the object as JSON, or its
 * fields in the names, as the official SDKs do: `provider[only][]=openai`,
 * `provider[max_price][request]=0.1`. Returns undefined if the form has none. Throws `invalid_request` with
 * the name of an unreadable field.
 */
function readProvider(texts: Form['fields']): unknown {
  const own = texts.filter(([name]) => isProvider(name));
  const [first] = own;
  if (first?.[0] === 'provider' && own.length === 1) {
    const value = parseJson(first[1]);
    // Text that is not JSON stays text, which the schema refuses.
    return value === undefined ? first[1] : value;
  }
  const members = new Map<string, unknown>();
  for (const [name, text] of own) {
    const [, outer, inner] = member.exec(name) ?? [];
    if (outer === undefined)
      throw buildFieldError(
        name,
        name === 'provider' ? 'is sent twice' : 'is not known here',
        'the object once, as JSON',
      );
    if (inner === undefined && members.has(outer)) throw buildFieldError(name, 'is sent twice', 'it once');
    members.set(outer, inner === undefined ? readSwitch(text) : addMember(members.get(outer), inner, text));
  }
  return own.length === 0 ? undefined : Object.fromEntries(members);
}

function readSwitch(text: string): string | boolean {
  return text === 'true' || (text === 'false' ? false : text);
}

function addMember(before: unknown, inner: string, text: string): unknown {
  if (item.test(inner)) return [...(Array.isArray(before) ? before : []), text];
  return { ...(isObject(before) ? before : {}), [inner]: text };
}
