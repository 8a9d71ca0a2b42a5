/**
 * Text and media of a message as OpenAI's two protocols hold them, in both directions. They differ in the
 * names of parts. A part that the protocol cannot express is reported as lost. If the answer would be
 * worthless without it (a video, another vendor's file), the call is refused.
 */
import type { BlockOf, MediaBlock } from '../../../core/index.ts';
import type { Encoding } from '../wire-kit/encoding.ts';
import { refuseFile, refusePart } from '../wire-kit/losses.ts';
import {
  buildPictureUrl,
  nameAudioFormat,
  nameDocument,
  nameMedium,
  readDocumentText,
  takeContext,
  toAudioType,
  writeUrl,
  type ReadMedium,
} from '../wire-kit/media.ts';
import { buildForeignBlock } from '../wire-kit/open-values.ts';
import { trackReads, type Bag, type Fields, type Sides } from '../wire-kit/vendor-bag.ts';
import { decodeCache, readCacheLeftover, type Cacheable } from './cache-breakpoint.ts';

/** The vendor whose file ids these protocols use. */
export const fileVendor = 'openai';

/** A part to decode, and a function that returns its cache mark and the fields that were not read. */
export function openPart<Part extends Cacheable & { readonly type?: unknown }>(
  part: Part,
  bag: Bag,
): readonly [seen: Part, keepSides: (rest?: Fields) => Sides & ReturnType<typeof decodeCache>] {
  const [seen, pickRest] = trackReads(part);
  const { type: _type, prompt_cache_breakpoint: _mark } = seen;
  return [
    seen,
    (rest) => ({ ...decodeCache(part), ...bag.keep({ ...pickRest(), ...readCacheLeftover(part), ...rest }) }),
  ];
}

export function decodeRefusal(
  part: { readonly type: string; readonly refusal: string },
  bag: Bag,
): BlockOf<'refusal'> {
  const [{ refusal: text }, keepSides] = openPart<typeof part & Cacheable>(part, bag);
  return { type: 'refusal', text, ...keepSides() };
}

/** A part of an unknown type. `isInput`: the client wrote it, not the model. */
export function keepPart(part: Fields, at: string, protocol: string, isInput: boolean): BlockOf<'foreign'> {
  return buildForeignBlock(protocol, part, at, isInput ? 'needed' : undefined);
}

export function readSound({ data, format }: { readonly data: string; readonly format: string }): ReadMedium {
  return { source: { type: 'base64', data }, mediaType: toAudioType(format) };
}

export function readFileId(id: string | null | undefined): ReadMedium {
  return { source: { type: 'file', vendor: fileVendor, id: id ?? '' } };
}

/** How a protocol writes media. */
interface MediaWriters {
  readonly protocol: string;
  /** Whether the provider stores files. Only OpenAI does. */
  readonly takesFiles: boolean;
  readonly writeText: (text: string) => Fields;
  /** The image is a URL, or else a stored file. */
  readonly writeImage: (image: { readonly url?: string; readonly id?: string }, detail?: string) => Fields;
  readonly writeFile: (file: Fields) => Fields;
  readonly takesFileUrls?: boolean;
}

export function encodeMedia(
  block: MediaBlock,
  path: string,
  { lose }: Encoding,
  writers: MediaWriters,
): Fields | undefined {
  const { kind, source } = block;
  if (kind === 'video')
    return refusePart(block, path, 'This model is called through a protocol that accepts no video.');
  if (source.type === 'file' && (source.vendor !== fileVendor || !writers.takesFiles))
    return refuseFile(block, path, source.vendor);
  if (kind === 'image') return encodeImage(block, path, lose, writers);
  return kind === 'audio' ? encodeSound(block, path) : encodeDocument(block, path, lose, writers);
}

const details: ReadonlySet<string> = new Set(['auto', 'low', 'high', 'original']);

function encodeImage(
  block: MediaBlock,
  path: string,
  lose: Encoding['lose'],
  { protocol, writeImage }: MediaWriters,
): Fields | undefined {
  const { source, detail } = block;
  const known = detail === undefined || details.has(detail) ? detail : undefined;
  if (known !== detail) lose(`${path}.detail`, `${protocol} has no such level of detail`);
  if (source.type === 'file') return writeImage({ id: source.id }, known);
  const url = buildPictureUrl(block, path);
  if (url !== undefined) return writeImage({ url }, known);
  lose(path, `${protocol} cannot carry this image`);
  return undefined;
}

function encodeSound(block: MediaBlock, path: string): Fields {
  const { source, mediaType } = block;
  const format = nameAudioFormat(mediaType);
  if (source.type === 'base64' && format)
    return { type: 'input_audio', input_audio: { data: source.data, format } };
  return refusePart(
    block,
    path,
    'This model is called through a protocol that accepts audio as WAV or MP3 data only.',
  );
}

/** Files are usually PDFs here. A text document becomes a text part that begins with its name. */
function encodeDocument(
  block: MediaBlock,
  path: string,
  lose: Encoding['lose'],
  { writeText, writeFile, takesFileUrls }: MediaWriters,
): Fields {
  const { source, mediaType, title, filename = title } = block;
  if (source.type === 'file') return writeFile({ file_id: source.id, filename });
  const text = readDocumentText(block, path, lose);
  if (text !== undefined) return writeText(text);
  if (source.type === 'base64')
    return writeFile({
      file_data: writeUrl(block),
      filename: filename ?? nameDocument(mediaType, source.data),
    });
  if (source.type === 'url' && takesFileUrls) return writeFile({ file_url: source.url, filename });
  return refusePart(
    block,
    path,
    'This model is called through a protocol that accepts documents as data only; send the content itself.',
  );
}

/** What to send as text before a medium, since it has no field: the client's words about it, or its name. */
export function readExplanation(
  block: { readonly type: string } | MediaBlock,
  path: string,
  { lose }: Encoding,
): string | undefined {
  return 'kind' in block ? (takeContext(block, path, lose) ?? nameMedium(block)) : undefined;
}

export function isPlainText(part: Fields): part is { type: string; text: string } {
  return (
    typeof part.text === 'string' && Object.values(part).filter((value) => value !== undefined).length === 2
  );
}
