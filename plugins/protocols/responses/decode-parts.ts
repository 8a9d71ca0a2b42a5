/** Decodes the parts of a message or of a tool's output to canonical blocks. */
import { decodeCache, leftoverCache } from '../../shared/wire-kit/cache-breakpoint.ts';
import type { MediaBlock, BlockOf, TextBlock } from '../../shared/wire-kit/canonical-types.ts';
import { detectDocumentType, isUrl, readDataUrl, audioTypeOf } from '../../shared/wire-kit/media.ts';
import { markUnknown } from '../../shared/wire-kit/open-values.ts';
import { pickUnread, nestFields, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import { isKnownPart, type WireContent, type WirePart } from './wire.ts';

export type RefusalBlock = BlockOf<'refusal'>;
export type ContentBlock = TextBlock | MediaBlock | RefusalBlock;
/** A part of a type that this protocol's schema does not know. */
export type ForeignPart = BlockOf<'foreign'> & { form: Record<string, string[]> };

/** The usual type of a text part in a message of this role. */
export function textTypeFor(role: string): 'input_text' | 'output_text' {
  return role === 'assistant' ? 'output_text' : 'input_text';
}

/** Note on a foreign block that was a part of a message, not an item. */
export const partNote = 'part';

/** An unknown part of a user's message is marked: without it, another provider's answer is worthless. */
function foreignPart(value: Fields, at: string, role: string): ForeignPart {
  const notes = role === 'assistant' ? [] : bag.form(markUnknown(protocolName));
  return {
    type: 'foreign',
    protocol: protocolName,
    value,
    at,
    form: { [protocolName]: [...notes, partNote] },
  };
}

/** `at` is the path of the content in the client's body. */
export function decodeContent(
  content: WireContent,
  at: string,
  role: string,
): (ContentBlock | ForeignPart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return isKnownPart(part) ? { ...decodePart(part, role), at: place } : foreignPart(part, place, role);
  });
}

function decodePart(part: WirePart, role: string): ContentBlock {
  switch (part.type) {
    case 'input_text':
      return decodeInputText(part, role);
    case 'output_text':
      return decodeOutputText(part, role);
    case 'refusal':
      return { type: 'refusal', text: part.refusal, ...bag.keep(rest(part, ['refusal'])) };
    case 'input_image':
      return { ...decodeImage(part), ...decodeCache(part) };
    case 'input_file':
      return { ...decodeFile(part), ...decodeCache(part) };
    case 'input_audio': {
      const { data, format } = part.input_audio;
      const inner = nestFields('input_audio', pickUnread(part.input_audio, new Set(['data', 'format'])));
      const sides = bag.keep({ ...rest(part, ['input_audio']), ...leftoverCache(part), ...inner });
      return {
        type: 'media',
        kind: 'audio',
        source: { type: 'base64', data },
        mediaType: audioTypeOf(format),
        ...decodeCache(part),
        ...sides,
      };
    }
  }
}

function rest(part: object, known: readonly string[]): Fields {
  return pickUnread(part, new Set(['type', 'prompt_cache_breakpoint', ...known]));
}

function noteTextType(kind: string, role: string): string[] {
  return kind === textTypeFor(role) ? [] : [`kind=${kind}`];
}

const textFields = new Set(['type', 'prompt_cache_breakpoint', 'text']);

function decodeInputText(part: Extract<WirePart, { type: 'input_text' }>, role: string): TextBlock {
  const left = pickUnread(part, textFields);
  if (!part.prompt_cache_breakpoint)
    return { type: 'text', text: part.text, ...bag.keep(left, noteTextType(part.type, role)) };
  return {
    type: 'text',
    text: part.text,
    ...decodeCache(part),
    ...bag.keep({ ...left, ...leftoverCache(part) }, noteTextType(part.type, role)),
  };
}

/** Clients send parts of replies back with empty lists. As notes these are not reported as lost. */
function decodeOutputText(part: Extract<WirePart, { type: 'output_text' }>, role: string): TextBlock {
  const empty = (['annotations', 'logprobs'] as const).filter((name) => part[name]?.length === 0);
  return {
    type: 'text',
    text: part.text,
    ...bag.keep(rest(part, ['text', ...empty]), [...noteTextType(part.type, role), ...empty]),
  };
}

type ImagePart = Extract<WirePart, { type: 'input_image' }>;
type FilePart = Extract<WirePart, { type: 'input_file' }>;

function decodeImage(part: ImagePart): MediaBlock {
  const { image_url: url, file_id: id } = part;
  const detail = part.detail ?? undefined;
  const sides = (field: string, notes: readonly string[] = []): Sides =>
    bag.keep({ ...rest(part, [field, 'detail']), ...leftoverCache(part) }, notes);
  const image = { type: 'media', kind: 'image' } as const;
  return url
    ? { ...image, ...readSource(url), detail, ...sides('image_url', notePrefix(url)) }
    : { ...image, ...fileSource(id), detail, ...sides('file_id') };
}

function fileSource(id: string | null | undefined): Pick<MediaBlock, 'source'> {
  return { source: { type: 'file', vendor: nativeVendor, id: id ?? '' } };
}

function readSource(url: string): Pick<MediaBlock, 'source' | 'mediaType'> {
  const read = readDataUrl(url);
  return read
    ? { source: { type: 'base64', data: read.data }, mediaType: read.mediaType || undefined }
    : { source: { type: 'url', url } };
}

function notePrefix(url: string): string[] {
  const prefix = readDataUrl(url)?.prefix;
  return prefix === undefined ? [] : [`prefix=${prefix}`];
}

function decodeFile(part: FilePart): MediaBlock {
  const { file_data: data, file_url: url, file_id: id } = part;
  const filename = part.filename ?? undefined;
  const sides = (field: string, notes: readonly string[] = []): Sides =>
    bag.keep({ ...rest(part, [field, 'filename']), ...leftoverCache(part) }, notes);
  const document = { type: 'media', kind: 'document' } as const;
  if (data && isUrl(data))
    return {
      ...document,
      ...readSource(data),
      filename,
      ...sides('file_data', ['data', ...notePrefix(data)]),
    };
  if (data) {
    const source = { type: 'base64', data } as const;
    return {
      ...document,
      source,
      mediaType: detectDocumentType(data),
      filename,
      ...sides('file_data', ['data', 'bare']),
    };
  }
  if (url) return { ...document, ...readSource(url), filename, ...sides('file_url', notePrefix(url)) };
  return { ...document, ...fileSource(id), filename, ...sides('file_id') };
}
