/** Parts of a message or of a tool's output, in both directions. */
import type { BlockOf, MediaBlock, TextBlock } from '../../../core/index.ts';
import { encodeCache, type Cacheable } from '../../shared/openai/cache-breakpoint.ts';
import {
  decodeRefusal,
  encodeMedia,
  readExplanation,
  fileVendor,
  isPlainText,
  keepPart,
  openPart,
  readFileId,
  readSound,
} from '../../shared/openai/content.ts';
import { refusePart } from '../../shared/wire-kit/losses.ts';
import { readFileData, readUrl, type ReadMedium } from '../../shared/wire-kit/media.ts';
import { nestFields, overlay, trackReads, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName, type Encoding } from './encoding.ts';
import * as Wire from './wire.ts';

export type ContentBlock = TextBlock | MediaBlock | BlockOf<'refusal'>;
/** A part of a type that this protocol's schema does not know. */
export type ForeignPart = BlockOf<'foreign'>;

/** `at` is the path of the content in the client's body. */
export function decodeContent(
  content: Wire.Content,
  at: string,
  role: string,
): (ContentBlock | ForeignPart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  return content.map((part, index) => {
    const place = `${at}[${index}]`;
    return Wire.isKnownPart(part)
      ? { ...decodePart(part), at: place }
      : keepPart(part, place, protocolName, role !== 'assistant');
  });
}

function decodePart(part: Wire.Part): ContentBlock {
  switch (part.type) {
    case 'input_text': {
      const [{ text }, keepSides] = openPart(part, bag);
      return { type: 'text', text, ...keepSides() };
    }
    case 'output_text': {
      const [seen, keepSides] = openPart<typeof part & Cacheable>(part, bag);
      const { text } = seen;
      // Clients send parts of replies back with empty lists.
      for (const name of ['annotations', 'logprobs'] as const) if (part[name]?.length === 0) void seen[name];
      return { type: 'text', text, ...keepSides() };
    }
    case 'refusal':
      return decodeRefusal(part, bag);
    case 'input_image': {
      const [seen, keepSides] = openPart(part, bag);
      const { image_url: url, detail } = seen;
      const medium = url ? readUrl(url) : readFileId(seen.file_id);
      return { type: 'media', kind: 'image', ...medium, detail: detail ?? undefined, ...keepSides() };
    }
    case 'input_file': {
      const [seen, keepSides] = openPart(part, bag);
      const { filename } = seen;
      return {
        type: 'media',
        kind: 'document',
        ...readFile(seen),
        filename: filename ?? undefined,
        ...keepSides(),
      };
    }
    case 'input_audio': {
      const [seen, keepSides] = openPart(part, bag);
      const [sound, pickInner] = trackReads(seen.input_audio);
      const medium = readSound(sound);
      return {
        type: 'media',
        kind: 'audio',
        ...medium,
        ...keepSides(nestFields('input_audio', pickInner())),
      };
    }
  }
}

function readFile(part: Extract<Wire.Part, { type: 'input_file' }>): ReadMedium {
  if (part.file_data) return readFileData(part.file_data);
  return part.file_url ? readUrl(part.file_url) : readFileId(part.file_id);
}

const writers = {
  protocol: protocolName,
  writeText: (text: string) => ({ type: 'input_text', text }),
  // OpenAI's schema requires `detail`, although its API accepts images without it.
  writeImage: ({ url, id }: { readonly url?: string; readonly id?: string }, detail = 'auto') => ({
    type: 'input_image',
    detail,
    ...(url === undefined ? { file_id: id } : { image_url: url }),
  }),
  writeFile: (file: Fields) => ({ type: 'input_file', ...file }),
  takesFileUrls: true,
};

/** Usually returns one part. Returns none if it is lost, and two if a document has a context text. */
export function encodeParts(
  block: ContentBlock | ForeignPart,
  role: string,
  path: string,
  encoding: Encoding,
): Fields[] {
  const wire = encodeContent(block, role, path, encoding);
  if (!wire) return [];
  // The own fields of a message are on its first part.
  const { item: _item, ...fields } = bag.getFields(block);
  const part = overlay(fields, { ...wire, prompt_cache_breakpoint: encodeMark(block, role, path, encoding) });
  const text = readExplanation(block, path, encoding);
  return text === undefined ? [part] : [writers.writeText(text), part];
}

/** OpenAI refuses marks on what the assistant said. */
function encodeMark(
  block: ContentBlock | ForeignPart,
  role: string,
  path: string,
  encoding: Encoding,
): Fields | undefined {
  if (!block.cache || role !== 'assistant') return encodeCache(block, path, encoding, protocolName);
  encoding.lose(`${path}.cache`, 'responses has cache marks on input only');
  return undefined;
}

function encodeContent(
  block: ContentBlock | ForeignPart,
  role: string,
  path: string,
  encoding: Encoding,
): Fields | undefined {
  if (block.type === 'text')
    return { type: role === 'assistant' ? 'output_text' : 'input_text', text: block.text };
  if (block.type === 'refusal') return { type: 'refusal', refusal: block.text };
  if (block.type === 'foreign') return block.value;
  if (block.kind === 'audio' && role === 'tool')
    return refusePart(block, path, 'This model accepts no audio in the result of a tool.');
  if (block.kind === 'audio' && !encoding.model.input.includes('audio'))
    return refusePart(block, path, 'This model accepts no audio.');
  return encodeMedia(block, path, encoding, { ...writers, takesFiles: encoding.owner === fileVendor });
}

/** Joins the parts of a message or a tool's output. One plain text becomes a string. */
export function joinParts(parts: readonly Fields[]): string | readonly Fields[] {
  const [first, ...others] = parts;
  if (!first) return '';
  return others.length === 0 && isPlainText(first) ? first.text : parts;
}
