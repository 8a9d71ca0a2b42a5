/** Parts of a message or of a tool's output. */
import type { BlockOf } from '../../../core/index.ts';
import { encodeCache } from '../../shared/openai/cache-breakpoint.ts';
import { encodePart, isPlainText, type ContentBlock } from '../../shared/openai/content.ts';
import { refusePart } from '../../shared/wire-kit/losses.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { omitOwnField, type Encoding } from './encoding.ts';

/** Blocks of a message, and parts of a type that this protocol's schema does not know. */
export type SpokenBlock = ContentBlock | BlockOf<'foreign'>;

/** Usually returns one part. Returns none if it is lost, and two if a document has a context text. */
export function encodeParts(block: SpokenBlock, role: string, path: string, encoding: Encoding): Fields[] {
  if (block.type === 'media' && block.kind === 'audio') {
    if (role === 'tool')
      return refusePart(block, path, 'This model accepts no audio in the result of a tool.');
    if (!encoding.model.input.includes('audio'))
      return refusePart(block, path, 'This model accepts no audio.');
  }
  // The own fields of a message are on its first part.
  return encodePart(omitOwnField(block, 'item'), path, encoding, {
    ...(block.type === 'text' && role === 'assistant' ? { type: 'output_text' } : {}),
    prompt_cache_breakpoint: encodeMark(block, role, path, encoding),
  });
}

/** OpenAI refuses marks on what the assistant said. */
function encodeMark(block: SpokenBlock, role: string, path: string, encoding: Encoding): Fields | undefined {
  if (!block.cache || role !== 'assistant') return encodeCache(block, path, encoding);
  encoding.lose(`${path}.cache`, 'responses has cache marks on input only');
  return undefined;
}

/** Joins the parts of a message or a tool's output. One plain text becomes a string. */
export function joinParts(parts: readonly Fields[]): string | readonly Fields[] {
  const [first, ...others] = parts;
  if (!first) return '';
  return others.length === 0 && isPlainText(first) ? first.text : parts;
}
