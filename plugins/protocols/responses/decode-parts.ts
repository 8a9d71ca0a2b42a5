/** Decodes the parts of a message or of a tool's output to canonical blocks. */
import type { MediaBlock, BlockOf, TextBlock } from '../../../core/index.ts';
import { decodeCache, readCacheLeftover } from '../../shared/wire-kit/cache-breakpoint.ts';
import { toAudioType, readFileData, readUrl, type ReadMedium } from '../../shared/wire-kit/media.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import * as Wire from './wire.ts';

type RefusalBlock = BlockOf<'refusal'>;
export type ContentBlock = TextBlock | MediaBlock | RefusalBlock;
/** A part of a type that this protocol's schema does not know. */
export type ForeignPart = BlockOf<'foreign'> & { at: string };

/** Returns the usual type of a text part in a message of this role. */
export function getTextType(role: string): 'input_text' | 'output_text' {
  return role === 'assistant' ? 'output_text' : 'input_text';
}

function keepForeign(value: Fields, at: string, role: string): ForeignPart {
  const mark = role === 'assistant' ? undefined : 'needed';
  return { ...buildForeignBlock(protocolName, value, at, mark), at };
}

/** `at` is the path of the content in the client's body. */
export function decodeContent(
  content: Wire.Content,
  at: string,
  role: string,
): (ContentBlock | ForeignPart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return Wire.isKnownPart(part) ? { ...decodePart(part), at: place } : keepForeign(part, place, role);
  });
}

function decodePart(part: Wire.Part): ContentBlock {
  switch (part.type) {
    case 'input_text':
      return decodeInputText(part);
    case 'output_text':
      return decodeOutputText(part);
    case 'refusal':
      return { type: 'refusal', text: part.refusal, ...bag.keep(pickUnread(part, ['type', 'refusal'])) };
    case 'input_image':
      return decodeMedia(part, readImage(part), { detail: part.detail ?? undefined });
    case 'input_file':
      return decodeMedia(part, readFile(part), { filename: part.filename ?? undefined });
    case 'input_audio':
      return decodeMedia(part, readAudio(part), {});
  }
}

function decodeInputText(part: Extract<Wire.Part, { type: 'input_text' }>): TextBlock {
  const left = pickUnread(part, ['type', 'prompt_cache_breakpoint', 'text']);
  const fields = part.prompt_cache_breakpoint ? { ...left, ...readCacheLeftover(part) } : left;
  return { type: 'text', text: part.text, ...decodeCache(part), ...bag.keep(fields) };
}

/** Clients send parts of replies back with empty lists. */
function decodeOutputText(part: Extract<Wire.Part, { type: 'output_text' }>): TextBlock {
  const empty = ['annotations', 'logprobs'].filter((name) => Object.keys(Object(part[name])).length === 0);
  return { type: 'text', text: part.text, ...bag.keep(pickUnread(part, ['type', 'text', ...empty])) };
}

type MediaPart = Extract<Wire.Part, { type: 'input_image' | 'input_file' | 'input_audio' }>;

const kinds = { input_image: 'image', input_file: 'document', input_audio: 'audio' } as const;

function decodeMedia(
  part: MediaPart,
  { field, rest, ...medium }: Medium,
  about: Pick<MediaBlock, 'detail' | 'filename'>,
): MediaBlock {
  const read = ['type', 'prompt_cache_breakpoint', field, ...Object.keys(about)];
  const fields = { ...pickUnread(part, read), ...readCacheLeftover(part), ...rest };
  return {
    type: 'media',
    kind: kinds[part.type],
    ...medium,
    ...about,
    ...decodeCache(part),
    ...bag.keep(fields),
  };
}

/** A medium, the field that holds it, and what it does not express of that field. */
type Medium = ReadMedium & { readonly field: string; readonly rest?: Fields };

function readAudio({ input_audio: audio }: Extract<MediaPart, { type: 'input_audio' }>): Medium {
  const field = 'input_audio';
  const rest = nestFields(field, pickUnread(audio, ['data', 'format']));
  const source = { type: 'base64', data: audio.data } as const;
  return { source, mediaType: toAudioType(audio.format), field, rest };
}

function readImage({ image_url: url, file_id: id }: Extract<MediaPart, { type: 'input_image' }>): Medium {
  return url ? { ...readUrl(url), field: 'image_url' } : readFileId(id);
}

function readFile(part: Extract<MediaPart, { type: 'input_file' }>): Medium {
  const { file_data: data, file_url: url, file_id: id } = part;
  if (!data) return url ? { ...readUrl(url), field: 'file_url' } : readFileId(id);
  return { ...readFileData(data), field: 'file_data' };
}

function readFileId(id: string | null | undefined): Medium {
  return { source: { type: 'file', vendor: nativeVendor, id: id ?? '' }, field: 'file_id' };
}
