/** Content of a message, in both directions. Parts of unknown types are kept unchanged. */
import type { BlockOf, MediaBlock, TextBlock, ToolResult } from '../../../core/index.ts';
import { encodeCache } from '../../shared/openai/cache-breakpoint.ts';
import { decodeContent, decodeMedia, encodePart, isPlainText } from '../../shared/openai/content.ts';
import { loseSeal } from '../../shared/wire-kit/losses.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { type Fields, trackReads } from '../../shared/wire-kit/vendor-bag.ts';
import { dialect, encodeForeignMark, protocolName, type Encoding } from './encoding.ts';
import { readSignatures } from './reasoning.ts';
import type * as Wire from './wire.ts';

/** Parts that are neither text nor media are kept unchanged, for providers that know them. */
export function decodeResultContent(content: Wire.Content, at: string): ToolResult['content'] {
  return decodeContent(content, at, false, dialect).map((block, index) =>
    block.type === 'text' || block.type === 'media' || block.type === 'foreign'
      ? block
      : buildForeignBlock(protocolName, readObject(content[index]), `${at}[${index}]`),
  );
}

/** Decodes an image that the model generated. Its provider may have signed it. */
export function decodeGeneratedImage(image: Fields): MediaBlock {
  const part = trackReads(image);
  const { opaque } = readSignatures(part.seen.extra_content);
  return { ...decodeMedia(part, 'image', dialect), ...(opaque.length > 0 ? { opaque } : {}) };
}

/** Encodes the mark of a part, under the name that the client used. */
export function encodeMark(block: Pick<TextBlock, 'cache'>, path: string, encoding: Encoding): Fields {
  if (encoding.marksLike === 'anthropic') return encodeForeignMark(block);
  const mark = encodeCache(block, path, encoding);
  return mark ? { prompt_cache_breakpoint: mark } : {};
}

export function encodeParts(
  block: TextBlock | MediaBlock | BlockOf<'refusal'>,
  path: string,
  encoding: Encoding,
): Fields[] {
  if ('opaque' in block && block.opaque?.length) loseSeal(path, encoding.lose);
  return encodePart(block, path, encoding, encodeMark(block, path, encoding));
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
