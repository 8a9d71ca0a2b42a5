/**
 * Encodes canonical blocks as content blocks. A block that this protocol cannot express is reported as lost.
 * If the answer would be worthless without it (a video, another vendor's file), the call is refused.
 */
import type { Block, BlockOf } from '../../../core/index.ts';
import { loseForeign, loseSeal, loseThoughts } from '../../shared/wire-kit/losses.ts';
import { nameMedium } from '../../shared/wire-kit/media.ts';
import { parseArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import type { Encoding } from './encoding.ts';
import { encodeMedia } from './media.ts';
import { fitCallId, fitName } from './tool-names.ts';

/** Usually returns one wire block. Returns none if the block is lost, and several if it has several seals. */
export function encodeBlock(block: Block, path: string, encoding: Encoding): Fields[] {
  switch (block.type) {
    case 'text':
      return encodeText(block, path, encoding);
    case 'media':
      loseState(block, path, encoding);
      return [...encodeName(block), ...addSides(block, path, encoding, encodeMedia(block, path, encoding))];
    case 'refusal':
      return encodeText({ ...block, type: 'text' }, path, encoding);
    case 'reasoning':
      return encodeReasoning(block, path, encoding);
    case 'tool-call':
      return addSides(block, path, encoding, encodeCall(block, path, encoding));
    case 'tool-result':
      return addSides(block, path, encoding, encodeResult(block, path, encoding));
    case 'foreign':
      if (block.protocol === protocolName) return [block.value];
      loseForeign(block, path, encoding.lose);
      return [];
  }
}

function encodeName(block: BlockOf<'media'>): Fields[] {
  const text = nameMedium(block);
  return text === undefined ? [] : [{ type: 'text', text }];
}

/** Adds the block's own fields and its cache mark. */
function addSides(block: Block, path: string, { mark }: Encoding, wire: Fields): Fields[] {
  const { title: _title, context: _context, citations, ...fields } = bag.getFields(block);
  // The first part of a document has the document's own fields, which Anthropic refuses outside of one.
  const isPart = wire.type !== 'document' && isObject(citations);
  const cited = citations === undefined || isPart ? fields : { ...fields, citations };
  return [overlay(cited, { ...wire, cache_control: mark(block.cache, path) })];
}

/** Anthropic seals only reasoning, so the sealed state of any other block is lost. */
function loseState(
  { opaque = [] }: BlockOf<'text' | 'media' | 'tool-call'>,
  path: string,
  { lose }: Encoding,
): void {
  if (opaque.length > 0) loseSeal(path, lose);
}

/** Omits empty and blank text, because Anthropic refuses it. Other protocols write it beside calls. */
function encodeText(block: BlockOf<'text'>, path: string, encoding: Encoding): Fields[] {
  loseState(block, path, encoding);
  if (block.text.trim() !== '') return addSides(block, path, encoding, { type: 'text', text: block.text });
  if (block.cache) encoding.lose(`${path}.cache`, 'an empty text cannot be marked');
  return [];
}

/** Sends reasoning only to the vendor that sealed it. Anthropic refuses reasoning without its own seal. */
function encodeReasoning(
  block: BlockOf<'reasoning'>,
  path: string,
  { owner, inPlace, lose }: Encoding,
): Fields[] {
  const { text, opaque = [] } = block;
  const fields = bag.getFields(block);
  // What another vendor that speaks this protocol seals looks like Anthropic's, or has no seal.
  const trustsSeals = inPlace && owner !== nativeVendor;
  const native = opaque.every(({ vendor }) => vendor === owner || (trustsSeals && vendor === nativeVendor));
  if (!native || (opaque.length === 0 && !trustsSeals)) {
    loseThoughts(path, lose);
    return [];
  }
  if (opaque.length === 0) return [overlay(fields, { type: 'thinking', thinking: text })];
  return opaque.map(({ kind, value }) => {
    if (kind === 'encrypted') return overlay(fields, { type: 'redacted_thinking', data: value });
    return overlay(fields, { type: 'thinking', thinking: text, signature: value });
  });
}

function encodeCall(block: BlockOf<'tool-call'>, path: string, encoding: Encoding): Fields {
  const { lose } = encoding;
  const { id, name, arguments: text, custom, namespace } = block;
  if (namespace !== undefined) lose(`${path}.namespace`, 'messages has no namespaces for tools');
  loseState(block, path, encoding);
  const parsed = custom ? { input: text } : parseArguments(text);
  if (!parsed) lose(`${path}.arguments`, 'not a JSON object; sent as text in "_raw"', 'approximated');
  return { type: 'tool_use', id: fitCallId(id), name: fitName(name), input: parsed ?? { _raw: text } };
}

function encodeResult(block: BlockOf<'tool-result'>, path: string, encoding: Encoding): Fields {
  const result = { type: 'tool_result', tool_use_id: fitCallId(block.callId), is_error: block.isError };
  const parts = block.content.flatMap((part, index) =>
    encodeBlock(part, `${path}.content[${index}]`, encoding),
  );
  const [first, ...others] = parts;
  if (!first) return result;
  const isPlain =
    others.length === 0 &&
    first.type === 'text' &&
    Object.values(first).filter((value) => value !== undefined).length === 2;
  return { ...result, content: isPlain ? first.text : parts };
}
