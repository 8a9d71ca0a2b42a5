/**
 * Canonical text and media as the content of a message. A part that this wire has no words for is told as lost;
 * content without which the answer would be worthless (a video, another vendor's file) refuses the call.
 */
import type { Block, Model } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { refuseFile, refusePart, type Lose } from '../../shared/wire-kit/losses.ts';
import { isTextual, contextOf, documentName, pictureUrl } from '../../shared/wire-kit/media.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { fileVendor } from './decode-messages.ts';
import { isForeign, ownMark } from './foreign-marks.ts';
import { audioFormat, shortForm, writeUrl, type MediaBlock } from './media.ts';

/** What the encoding of one request goes by. */
export interface Encoding {
  /** Whether the request was read in this protocol: then what the client wrote is restored. */
  readonly own: boolean;
  /** Whether the later additions to the wire may be used. */
  readonly extras: boolean;
  /** Whether the model takes marks for what to cache. */
  readonly marks: boolean;
  /** The owner of the model: the only one who understands state that was sealed for it. */
  readonly owner: string;
  readonly model: Model;
  /** Whether the call says that the model is not to think. */
  readonly thoughtless: boolean;
  readonly lose: Lose;
}

type TextBlock = Extract<Block, { type: 'text' }>;
export type ContentBlock = TextBlock | MediaBlock;

export function cacheMark(
  block: Pick<ContentBlock, 'cache' | 'form'>,
  path: string,
  { own, marks, lose }: Encoding,
): Fields | undefined {
  const { cache } = block;
  if (!cache || isForeign(block)) return undefined;
  if (!marks) {
    lose(`${path}.cache`, 'the model finds what to cache by itself', 'model');
    return undefined;
  }
  if (own || cache.ttl === undefined || cache.ttl === '30m') return { mode: 'explicit', ttl: cache.ttl };
  lose(`${path}.cache.ttl`, 'chat-completions has no such time to live', 'approximated');
  return { mode: 'explicit' };
}

/** Mostly one part of a message's content: none where it is lost, two where something is said of a document. */
export function encodeParts(block: ContentBlock, path: string, encoding: Encoding): Fields[] {
  if (block.opaque?.length)
    encoding.lose(`${path}.opaque`, 'sealed state is only given back to the vendor it came from', 'state');
  const wire =
    block.type === 'text' ? { type: 'text', text: block.text } : encodeMedia(block, path, encoding);
  if (!wire) return [];
  const mark = cacheMark(block, path, encoding);
  const part = overlay(
    bag.fields(block),
    mark ? { ...wire, prompt_cache_breakpoint: mark } : block.cache ? { ...wire, ...ownMark(block) } : wire,
  );
  const context = block.type === 'media' ? contextOf(block, path, encoding.lose) : undefined;
  return context === undefined ? [part] : [{ type: 'text', text: context }, part];
}

function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields | undefined {
  if (block.kind === 'video' && encoding.own) return encodeVideo(block);
  if (block.kind === 'video')
    return refusePart(block, path, 'This model is reached by a protocol that takes no video.');
  if (block.source.type === 'file') return encodeVendorFile(block, block.source, path, encoding);
  if (block.kind === 'image') return encodeImage(block, path, encoding);
  if (block.kind === 'audio') return encodeAudio(block, path, encoding);
  return encodeDocument(block, path, encoding);
}

/** Many vendors speak this wire, and of them OpenAI alone keeps the files that its ids are of. */
function encodeVendorFile(
  block: MediaBlock,
  { vendor, id }: { vendor: string; id: string },
  path: string,
  { extras }: Encoding,
): Fields {
  return vendor === fileVendor && extras
    ? { type: 'file', file: { file_id: id, filename: block.filename } }
    : refuseFile(block, path, vendor);
}

const details: ReadonlySet<string | undefined> = new Set([undefined, 'auto', 'low', 'high', 'original']);

function encodeVideo(block: MediaBlock): Fields {
  const form = bag.form(block);
  const url = writeUrl(block, form);
  return { type: 'video_url', video_url: form.includes(shortForm) ? url : { url } };
}

function encodeImage(block: MediaBlock, path: string, { own, lose, model }: Encoding): Fields | undefined {
  const url = own ? writeUrl(block, bag.form(block)) : pictureUrl(block, path);
  if (url === undefined) {
    lose(path, 'not an image chat-completions can carry');
    return undefined;
  }
  if (chatFlags(model.capabilities).shortForms && bag.form(block).includes(shortForm))
    return { type: 'image_url', image_url: url };
  if (own || details.has(block.detail))
    return { type: 'image_url', image_url: { url, detail: block.detail } };
  lose(`${path}.detail`, 'chat-completions has no such detail');
  return { type: 'image_url', image_url: { url } };
}

function encodeAudio(block: MediaBlock, path: string, { own, model }: Encoding): Fields {
  const { source, mediaType } = block;
  const form = bag.form(block);
  if (chatFlags(model.capabilities).shortForms && form.includes(shortForm)) {
    return {
      type: 'input_audio',
      input_audio: source.type === 'base64' && form.includes('bare') ? source.data : writeUrl(block, form),
    };
  }
  const format = audioFormat(mediaType) ?? (own ? mediaType?.replace(/^audio\//, '') : undefined);
  if (source.type === 'base64' && format)
    return { type: 'input_audio', input_audio: { data: source.data, format } };
  return refusePart(block, path, 'The provider of this model takes sound as WAV or MP3 data only.');
}

/** This wire's files are PDFs; a text document is said as text, under its name. */
function encodeDocument(block: MediaBlock, path: string, { own, model }: Encoding): Fields {
  const { source, mediaType, title, filename = title } = block;
  const form = bag.form(block);
  const isShort = form.includes(shortForm);
  if (isShort && chatFlags(model.capabilities).shortForms)
    return { type: 'document_url', document_url: writeUrl(block, form), document_name: filename };
  if (source.type === 'text') return textDocument(source.text, filename);
  if (source.type === 'base64' && !own && isTextual(mediaType)) {
    return textDocument(Buffer.from(source.data, 'base64').toString('utf8'), filename);
  }
  if (source.type === 'base64') {
    const data = form.includes('bare') ? source.data : writeUrl(block, form);
    return {
      type: 'file',
      file: {
        file_data: data,
        filename: filename ?? (own ? undefined : documentName(mediaType, source.data)),
      },
    };
  }
  if (own && !isShort) return { type: 'file', file: { file_data: writeUrl(block, form), filename } };
  return refusePart(
    block,
    path,
    'This model is reached by a protocol that takes documents as data only; send the content itself.',
  );
}

function textDocument(text: string, filename: string | undefined): Fields {
  return { type: 'text', text: filename === undefined ? text : `${filename}:\n\n${text}` };
}

function isPlainText(part: Fields): part is { type: 'text'; text: string } {
  return part.type === 'text' && typeof part.text === 'string' && Object.keys(part).length === 2;
}

/**
 * Parts as a message's content. Plain text is one string, which every vendor takes; parts that a client wrote as
 * parts stay so. Undefined where there are none.
 */
function joinParts(
  parts: readonly Fields[],
  form: readonly string[],
  separator: string,
): string | readonly Fields[] | undefined {
  if (form.includes('parts')) return parts;
  if (parts.length === 0) return undefined;
  return parts.every(isPlainText) ? parts.map(({ text }) => text).join(separator) : parts;
}

/** Vendors other than Mistral refuse content without parts. */
export function contentOf(
  parts: readonly Fields[],
  form: readonly string[],
  separator: string,
  { model }: Encoding,
): ReturnType<typeof joinParts> {
  return parts.length === 0 && !chatFlags(model.capabilities).shortForms
    ? undefined
    : joinParts(parts, form, separator);
}
