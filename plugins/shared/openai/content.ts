/**
 * Text and media of a message as OpenAI's two protocols hold them, in both directions. They differ in the
 * names of parts. A part that the protocol cannot express is reported as lost. If the answer would be
 * worthless without it (a video, another vendor's file), the call is refused.
 */
import type { BlockOf, MediaBlock, ReasoningBlock, TextBlock } from '../../../core/index.ts';
import { refuseFile, refusePart } from '../wire-kit/losses.ts';
import type { MediaMeter } from '../wire-kit/media-meter.ts';
import { isUrl, nameMedium, readBase64, takeContext } from '../wire-kit/media.ts';
import { buildForeignBlock } from '../wire-kit/open-values.ts';
import { readObjects, readString, readText } from '../wire-kit/values.ts';
import { isObject, overlay, type Fields, trackReads, type Tracked } from '../wire-kit/vendor-bag.ts';
import { decodeMark } from './cache-breakpoint.ts';
import type { Dialect, OpenaiEncoding } from './dialect.ts';
import {
  buildPictureUrl,
  nameAudioFormat,
  nameDocument,
  readDocumentText,
  readFileData,
  readUrl,
  toAudioType,
  writeUrl,
  type ReadMedium,
} from './media.ts';

/** The vendor whose file ids these protocols use. */
const fileVendor = 'openai';

type Foreign = BlockOf<'foreign'>;
/** What a text, a medium or a refusal of a message becomes. */
export type ContentBlock = TextBlock | MediaBlock | BlockOf<'refusal'>;

/** `isInput`: the client wrote the content, not the model. `at` is its path in the client's body. */
export function decodeContent(
  content: string | readonly Fields[],
  at: string,
  isInput: boolean,
  dialect: Dialect,
): (ContentBlock | ReasoningBlock | Foreign)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return dialect.isKnownPart(part)
      ? { ...decodePart(part, dialect), at: place }
      : buildForeignBlock(dialect.protocol, part, place, isInput ? 'needed' : undefined);
  });
}

/** The kinds of media by the types of parts, of which each protocol has some. */
const kinds: ReadonlyMap<unknown, MediaBlock['kind']> = new Map([
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['input_audio', 'audio'],
  ['video_url', 'video'],
  ['document_url', 'document'],
  ['file', 'document'],
  ['input_file', 'document'],
]);

export function decodePart(wire: Fields, dialect: Dialect): ContentBlock | ReasoningBlock {
  const part = trackReads(wire);
  const { seen } = part;
  const { type } = seen;
  const kind = kinds.get(type);
  if (kind) return decodeMedia(part, kind, dialect);
  if (type === 'refusal') return { type, text: readText(seen.refusal), ...keepSides(part, dialect) };
  if (type === 'thinking') {
    const text = readObjects(seen.thinking).map((thought) => readText(thought.text));
    return { type: 'reasoning', text: text.join(''), ...keepSides(part, dialect) };
  }
  // Clients send parts of replies back with empty lists.
  if (type === 'output_text')
    for (const name of ['annotations', 'logprobs'])
      if (Array.isArray(wire[name]) && wire[name].length === 0) void seen[name];
  return { type: 'text', text: readText(seen.text), ...keepSides(part, dialect) };
}

/** The mark of a part, and what was not read of it. */
function keepSides(part: Tracked<Fields>, dialect: Dialect): Pick<TextBlock, 'cache' | 'vendor'> {
  return { ...decodeMark(part, dialect), ...dialect.bag.keep(part.pickRest()) };
}

export function decodeMedia(part: Tracked<Fields>, kind: MediaBlock['kind'], dialect: Dialect): MediaBlock {
  const { seen } = part;
  const inner = part.open(String(seen.type))?.seen;
  const medium = readMedium(seen, isObject(inner) ? inner : seen);
  return { type: 'media', kind, ...medium, ...keepSides(part, dialect) };
}

type Medium = ReadMedium & Pick<MediaBlock, 'detail' | 'filename'>;

/** What a part says of its medium. `inner` holds its members. Mistral has bare URLs and data instead. */
function readMedium(part: Fields, inner: Fields): Medium {
  const { type } = part;
  const bare = readString(part[String(type)]);
  if (type === 'input_audio') return bare === undefined ? readSound(inner) : readBareSound(bare);
  if (type === 'document_url') return { ...readUrl(bare ?? ''), filename: readString(part.document_name) };
  if (type === 'file' || type === 'input_file') {
    const data = readString(inner.file_data);
    return { ...(data ? readFileData(data) : readStored(inner)), filename: readString(inner.filename) };
  }
  if (bare !== undefined) return readUrl(bare);
  const url = readString(type === 'input_image' ? inner.image_url : inner.url);
  const medium = url ? readUrl(url) : readStored(inner);
  return type === 'video_url' ? medium : { ...medium, detail: readString(inner.detail) };
}

/** A medium that is not in the request: at an address, or a file that OpenAI stores. */
function readStored(part: Fields): Medium {
  const url = readString(part.file_url);
  if (url) return readUrl(url);
  return { source: { type: 'file', vendor: fileVendor, id: readText(part.file_id) } };
}

function readSound({ data, format }: Fields): Medium {
  return { source: { type: 'base64', data: readText(data) }, mediaType: toAudioType(readText(format)) };
}

const prefixes = [
  ['UklGR', 'audio/wav'],
  ['SUQz', 'audio/mpeg'],
  ['//', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
  ['T2dnU', 'audio/ogg'],
] as const;

/** A URL, or base64 whose first bytes show its type. */
function readBareSound(sound: string): Medium {
  if (isUrl(sound)) return readUrl(sound);
  const mediaType = prefixes.find(([prefix]) => sound.startsWith(prefix))?.[1];
  return { source: { type: 'base64', data: sound }, mediaType };
}

export function isMedium({ type }: Fields): boolean {
  return kinds.has(type);
}

/** Adds the media of these parts up. A file that the provider fetches may have any length. */
export function measureParts(parts: readonly Fields[], meter: MediaMeter): void {
  for (const part of parts) {
    const kind = kinds.get(part.type);
    if (!kind) continue;
    const inner = part[String(part.type)];
    const { url, image_url = url, data = image_url, file_data = data } = isObject(inner) ? inner : part;
    const base64 = readBase64(readString(inner) ?? readText(file_data));
    if (kind === 'image') meter.addImage(base64.length);
    else meter.addFile(base64);
    if (kind !== 'image' && base64 === '') meter.fetched = true;
  }
}

/**
 * Usually returns one part. Returns none if the block is lost, and two if text goes before a medium.
 * `members` are those besides the content, or other than usual.
 */
export function encodePart(
  block: ContentBlock | Foreign,
  path: string,
  encoding: OpenaiEncoding,
  members: Fields,
): Fields[] {
  const wire = encodeContent(block, path, encoding);
  if (!wire) return [];
  const part = overlay(encoding.dialect.bag.getFields(block), { ...wire, ...members });
  const text = 'kind' in block ? readExplanation(block, path, encoding) : undefined;
  return text === undefined ? [part] : [writeText(text, encoding), part];
}

function encodeContent(
  block: ContentBlock | Foreign,
  path: string,
  encoding: OpenaiEncoding,
): Fields | undefined {
  if (block.type === 'text') return writeText(block.text, encoding);
  if (block.type === 'refusal') return { type: 'refusal', refusal: block.text };
  return block.type === 'foreign' ? block.value : encodeMedia(block, path, encoding);
}

function writeText(text: string, { dialect }: OpenaiEncoding): Fields {
  return { type: dialect.nests ? 'text' : 'input_text', text };
}

function writeFile(file: Fields, { dialect }: OpenaiEncoding): Fields {
  return dialect.nests ? { type: 'file', file } : { type: 'input_file', ...file };
}

function encodeMedia(block: MediaBlock, path: string, encoding: OpenaiEncoding): Fields | undefined {
  const { kind, source } = block;
  if (kind === 'video')
    return refusePart(block, path, 'This model is called through a protocol that accepts no video.');
  if (source.type === 'file' && (source.vendor !== fileVendor || !encoding.isOpenai))
    return refuseFile(block, path, source.vendor);
  if (kind === 'image') return encodeImage(block, path, encoding);
  return kind === 'audio' ? encodeSound(block, path) : encodeDocument(block, path, encoding);
}

const details: ReadonlySet<string> = new Set(['auto', 'low', 'high', 'original']);

function encodeImage(block: MediaBlock, path: string, encoding: OpenaiEncoding): Fields | undefined {
  const { source, detail: wanted } = block;
  const { dialect, lose } = encoding;
  const detail = wanted !== undefined && details.has(wanted) ? wanted : undefined;
  if (detail !== wanted) lose(`${path}.detail`, `${dialect.protocol} has no such level of detail`);
  // OpenAI's schema of responses requires `detail`, although its API accepts images without it.
  const flat = { type: 'input_image', detail: detail ?? 'auto' };
  if (source.type === 'file')
    return dialect.nests ? writeFile({ file_id: source.id }, encoding) : { ...flat, file_id: source.id };
  const url = buildPictureUrl(block, path);
  if (url !== undefined)
    return dialect.nests ? { type: 'image_url', image_url: { url, detail } } : { ...flat, image_url: url };
  lose(path, `${dialect.protocol} cannot carry this image`);
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
function encodeDocument(block: MediaBlock, path: string, encoding: OpenaiEncoding): Fields {
  const { source, mediaType, title, filename = title } = block;
  if (source.type === 'file') return writeFile({ file_id: source.id, filename }, encoding);
  const text = readDocumentText(block, path, encoding.lose);
  if (text !== undefined) return writeText(text, encoding);
  if (source.type === 'base64') {
    const name = filename ?? nameDocument(mediaType, source.data);
    return writeFile({ file_data: writeUrl(block), filename: name }, encoding);
  }
  if (source.type === 'url' && !encoding.dialect.nests)
    return writeFile({ file_url: source.url, filename }, encoding);
  return refusePart(
    block,
    path,
    'This model is called through a protocol that accepts documents as data only; send the content itself.',
  );
}

/** What to send as text before a medium, since it has no field: the client's words about it, or its name. */
function readExplanation(block: MediaBlock, path: string, { lose }: OpenaiEncoding): string | undefined {
  return takeContext(block, path, lose) ?? nameMedium(block);
}

export function isPlainText(part: Fields): part is { type: string; text: string } {
  return (
    typeof part.text === 'string' && Object.values(part).filter((value) => value !== undefined).length === 2
  );
}
