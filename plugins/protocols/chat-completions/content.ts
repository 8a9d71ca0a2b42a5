/** Content parts of a message, in both directions. Parts of unknown types are kept unchanged. */
import type { Block, MediaBlock, TextBlock, ToolResult } from '../../../core/index.ts';
import { encodeCache, type Cacheable } from '../../shared/openai/cache-breakpoint.ts';
import {
  decodeRefusal,
  encodeMedia,
  readExplanation,
  isPlainText,
  keepPart,
  openPart,
  readFileId,
  readSound,
} from '../../shared/openai/content.ts';
import { loseSeal } from '../../shared/wire-kit/losses.ts';
import { isUrl, readFileData, readUrl, type ReadMedium } from '../../shared/wire-kit/media.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { nestFields, overlay, trackReads, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, encodeForeignMark, protocolName, type Encoding } from './encoding.ts';
import { readSignatures } from './reasoning.ts';
import * as Wire from './wire.ts';

/** `isInput`: the client wrote the content, not the model. */
export function decodeContent(content: Wire.Content, at: string, isInput: boolean): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return Wire.isKnownPart(part)
      ? { ...decodePart(part), at: place }
      : keepPart(part, place, protocolName, isInput);
  });
}

/** Parts that are neither text nor media are kept unchanged, for providers that know them. */
export function decodeResultContent(content: Wire.Content, at: string): ToolResult['content'] {
  return decodeContent(content, at, false).map((block, index) =>
    block.type === 'text' || block.type === 'media' || block.type === 'foreign'
      ? block
      : buildForeignBlock(protocolName, readObject(content[index]), `${at}[${index}]`),
  );
}

function decodePart(part: Wire.Part): Block {
  if (part.type === 'refusal') return decodeRefusal(part, bag);
  if (part.type === 'thinking') {
    const [{ thinking }, keepSides] = openPart<typeof part & Cacheable>(part, bag);
    return { type: 'reasoning', text: thinking.map(({ text }) => text ?? '').join(''), ...keepSides() };
  }
  if (part.type !== 'text') return decodeMedia(part);
  const [{ text }, keepSides] = openPart(part, bag);
  return { type: 'text', text, ...keepSides() };
}

type MediaPart = Exclude<Wire.Part, { type: 'text' | 'refusal' | 'thinking' }>;

const kinds = {
  image_url: 'image',
  input_audio: 'audio',
  video_url: 'video',
  document_url: 'document',
  file: 'document',
} as const;

function decodeMedia(part: MediaPart): MediaBlock {
  const [seen, keepSides] = openPart(part, bag);
  const [facts, pickInner] = readMedia(seen);
  const inside = pickInner ? nestFields(part.type, pickInner()) : {};
  return { type: 'media', kind: kinds[part.type], ...facts, ...keepSides(inside) };
}

type Medium = ReadMedium & Pick<MediaBlock, 'detail' | 'filename'>;

/** Returns what a media part states, and a function that picks the unread fields of its inner object. */
function readMedia(part: MediaPart): readonly [Medium, pickInner?: () => Fields] {
  switch (part.type) {
    case 'image_url': {
      if (typeof part.image_url === 'string') return [readUrl(part.image_url)];
      const [{ url, detail }, pickInner] = trackReads(part.image_url);
      return [{ ...readUrl(url), detail: detail ?? undefined }, pickInner];
    }
    case 'video_url': {
      if (typeof part.video_url === 'string') return [readUrl(part.video_url)];
      const [{ url }, pickInner] = trackReads(part.video_url);
      return [readUrl(url), pickInner];
    }
    case 'document_url':
      return [{ ...readUrl(part.document_url), filename: part.document_name ?? undefined }];
    case 'input_audio': {
      const { input_audio: audio } = part;
      // Mistral takes audio without a format: bare data, or a URL.
      if (typeof audio === 'string')
        return [
          isUrl(audio)
            ? readUrl(audio)
            : { source: { type: 'base64', data: audio }, mediaType: detectSoundType(audio) },
        ];
      const [sound, pickInner] = trackReads(audio);
      return [readSound(sound), pickInner];
    }
    case 'file': {
      const [file, pickInner] = trackReads(part.file);
      const { file_data: data, filename } = file;
      const medium = data ? readFileData(data) : readFileId(file.file_id);
      return [{ ...medium, filename: filename ?? undefined }, pickInner];
    }
  }
}

const prefixes = [
  ['UklGR', 'audio/wav'],
  ['SUQz', 'audio/mpeg'],
  ['//', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
  ['T2dnU', 'audio/ogg'],
] as const;

/** Guesses the media type of base64 audio by its first bytes. */
function detectSoundType(data: string): string | undefined {
  return prefixes.find(([prefix]) => data.startsWith(prefix))?.[1];
}

/** Decodes an image that the model generated. Its provider may have signed it. */
export function decodeGeneratedImage({
  extra_content: extra,
  ...part
}: Extract<Wire.Part, { type: 'image_url' }>): MediaBlock {
  const { opaque } = readSignatures(extra);
  return { ...decodeMedia(part), ...(opaque.length > 0 ? { opaque } : {}) };
}

/** Encodes the mark of a part, under the name that the client used. */
export function encodeMark(block: Pick<TextBlock, 'cache'>, path: string, encoding: Encoding): Fields {
  if (encoding.marksLike === 'anthropic') return encodeForeignMark(block);
  const mark = encodeCache(block, path, encoding, protocolName);
  return mark ? { prompt_cache_breakpoint: mark } : {};
}

const writers = {
  protocol: protocolName,
  writeText: (text: string) => ({ type: 'text', text }),
  writeImage: ({ url, id }: { readonly url?: string; readonly id?: string }, detail?: string) =>
    url === undefined ? writeFile({ file_id: id }) : { type: 'image_url', image_url: { url, detail } },
  writeFile,
};

function writeFile(file: Fields): Fields {
  return { type: 'file', file };
}

/** Usually returns one part. Returns none if the block is lost, and two if a document has a context text. */
export function encodeParts(block: TextBlock | MediaBlock, path: string, encoding: Encoding): Fields[] {
  if (block.opaque?.length) loseSeal(path, encoding.lose);
  const wire =
    block.type === 'text'
      ? writers.writeText(block.text)
      : encodeMedia(block, path, encoding, { ...writers, takesFiles: encoding.extras });
  if (!wire) return [];
  const part = overlay(bag.getFields(block), { ...wire, ...encodeMark(block, path, encoding) });
  const text = readExplanation(block, path, encoding);
  return text === undefined ? [part] : [writers.writeText(text), part];
}

/** Joins plain text to one string, which every provider accepts. Returns undefined if there are no parts. */
export function joinParts(
  parts: readonly Fields[],
  separator: string,
): string | readonly Fields[] | undefined {
  if (parts.length === 0) return undefined;
  return parts.every((part) => part.type === 'text' && isPlainText(part))
    ? parts.map(({ text }) => text).join(separator)
    : parts;
}
