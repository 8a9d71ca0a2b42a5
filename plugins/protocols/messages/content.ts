/**
 * Content blocks in both directions: text, media, reasoning, tool calls and their results. A block that this
 * protocol cannot express is reported as lost. If the answer would be worthless without it (a video, another
 * vendor's file), the call is refused.
 */
import type { MediaBlock, Block, TextBlock, ToolResult, BlockOf } from '../../../core/index.ts';
import { unseal } from '../../shared/wire-kit/envelope.ts';
import { refuseFile, refusePart, loseForeign, loseSeal, loseThoughts } from '../../shared/wire-kit/losses.ts';
import {
  decodeText,
  detectDocumentType,
  isTextual,
  fitPicture,
  nameMedium,
} from '../../shared/wire-kit/media.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { parseArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import {
  type Fields,
  isObject,
  trackReads,
  nestFields,
  type Sides,
  overlay,
} from '../../shared/wire-kit/vendor-bag.ts';
import {
  bag,
  nativeVendor,
  type Encoding,
  protocolName,
  decodeMark,
  readMarkLeftover,
  type Marked,
  fitCallId,
  fitName,
} from './encoding.ts';
import * as Wire from './wire.ts';

function encodeMedia(block: MediaBlock, path: string, encoding: Encoding): Fields {
  if (block.kind === 'image') return { type: 'image', source: encodeImageSource(block, path, encoding) };
  if (block.kind === 'document') return encodeDocument(block, path, encoding);
  return refusePart(block, path, `This model is called through a protocol that accepts no ${block.kind}.`);
}

/** Encodes a file or URL, alike for images and documents. Returns undefined for other sources. */
function encodeReference(block: MediaBlock, path: string, { model }: Encoding): Fields | undefined {
  const { source } = block;
  if (source.type === 'file') {
    if (source.vendor === nativeVendor) return { type: 'file', file_id: source.id };
    return refuseFile(block, path, source.vendor);
  }
  if (source.type !== 'url') return undefined;
  if (block.kind === 'image' && !model.capabilities.imageUrls)
    return refusePart(
      block,
      path,
      'The provider of this model does not fetch images; send the image itself as base64.',
    );
  if (/^https:/i.test(source.url)) return { type: 'url', url: source.url };
  return refusePart(
    block,
    path,
    'The provider of this model only fetches https URLs; send the content itself as base64.',
  );
}

function encodeImageSource(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { source, detail } = block;
  if (detail !== undefined && detail !== 'auto')
    encoding.lose(`${path}.detail`, 'messages has no image detail');
  const reference = encodeReference(block, path, encoding);
  if (reference) return reference;
  if (source.type !== 'base64') return refusePart(block, path, 'An image cannot be sent as text.');
  return {
    type: 'base64',
    media_type: fitPicture(block, source.data, path),
    data: source.data,
  };
}

/** Separates the texts of a document in the canonical text. */
const textBreak = '\n\n';

function encodeDocument(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { source, title, context, filename } = block;
  // Only a result of a search has its source beside its text.
  if (source.type === 'text' && typeof bag.getFields(block).source === 'string')
    return { type: 'search_result', title, content: [{ type: 'text', text: source.text }] };
  return {
    type: 'document',
    source: encodeReference(block, path, encoding) ?? encodeDocumentSource(block, path, encoding),
    title: title ?? filename,
    context,
  };
}

function encodeDocumentSource(block: MediaBlock, path: string, { lose }: Encoding): Fields {
  const { source, mediaType } = block;
  if (source.type === 'text') return { type: 'text', media_type: 'text/plain', data: source.text };
  if (source.type === 'base64') {
    const { data } = source;
    const isPdf = (detectDocumentType(data) ?? mediaType) === 'application/pdf';
    if (isPdf) return { type: 'base64', media_type: 'application/pdf', data };
    if (isTextual(mediaType))
      return { type: 'text', media_type: 'text/plain', data: decodeText(data, path, lose) };
  }
  return refusePart(
    block,
    path,
    'The provider of this model accepts documents as PDF or text, and this one is ' +
      `${mediaType ?? 'of an unknown type'}.`,
  );
}

/**
 * Keeps content that only this protocol has. If a user's message holds it, a call to another protocol is
 * refused, unless the content is known to be the vendor's own state.
 */
export function keepForeign(value: Readonly<Record<string, unknown>>, at: string, fromUser: boolean): Block {
  const isState = typeof value.type === 'string' && Wire.isVendorState(value.type);
  return buildForeignBlock(protocolName, value, at, fromUser && !isState ? 'needed' : undefined);
}

/** Records the path of a new block in the client's body. */
function setPlace<Kind extends Block>(block: Kind, at: string): Kind {
  block.at = at;
  return block;
}

/** Returns the canonical blocks of one block: several for a document made of texts and pictures. */
export function decodeBlocks(block: Wire.KnownBlock, at: string, exact: unknown): Block[] {
  const parts = block.type === 'document' ? decodeParts(block, at) : undefined;
  return parts ?? [setPlace(decodeBlock(block, at, exact), at)];
}

function decodeParts(document: Wire.Media, at: string): Block[] | undefined {
  if (!Wire.isKnownMedia(document)) return undefined;
  const { source: written, type: _type, ...about } = document;
  const [source, pickSource] = trackReads(written);
  if (source.type !== 'content' || typeof source.content === 'string' || readPlainTexts(source.content))
    return undefined;
  const parts = source.content.flatMap((part): Block[] => {
    const isPart =
      Wire.isKnownBlock(part) && (part.type === 'image' || (part.type === 'text' && part.text.trim() !== ''));
    return isPart ? [setPlace(decodeBlock(part, at), at)] : [];
  });
  const [first] = parts;
  const isWhole = parts.length === source.content.length && Object.keys(pickSource()).length === 0;
  // The first part carries the document's own fields (its title too), so it must not have any itself.
  if (!isWhole || !first || first.vendor || first.cache) return undefined;
  return [Object.assign({}, first, openBlock<Fields & Marked>(about)[1]()), ...parts.slice(1)];
}

function decodeBlock(block: Wire.KnownBlock, at: string, exact?: unknown): Block {
  switch (block.type) {
    case 'text':
      return decodeTextBlock(block);
    case 'image':
    case 'document':
      if (!Wire.isKnownMedia(block)) return keepForeign(block, `${at}.source.type`, true);
      return decodeMedia(block) ?? { type: 'foreign', protocol: protocolName, value: block };
    case 'search_result':
      return decodeSearchResult(block);
    case 'thinking':
    case 'redacted_thinking':
      return decodeThinking(block);
    case 'tool_use':
      return decodeCall(block, readMember(exact, 'input'));
    case 'tool_result':
      return decodeResult(block, at);
  }
}

type BlockSides = Sides & ReturnType<typeof decodeMark>;

/** A block to decode, and a function that returns its cache mark and the fields that were not read. */
function openBlock<Kind extends Marked & { readonly type?: unknown }>(
  block: Kind,
): readonly [seen: Kind, keepSides: (rest?: Fields) => BlockSides] {
  const [seen, pickRest] = trackReads(block);
  const { type: _type, cache_control: _mark } = seen;
  return [
    seen,
    (rest) => ({ ...decodeMark(block), ...bag.keep({ ...pickRest(), ...readMarkLeftover(block), ...rest }) }),
  ];
}

function decodeCall(block: Wire.ToolUse, exact: unknown): Block {
  const [{ id, name, input, caller }, keepSides] = openBlock(block);
  // The model made the call, not code that it wrote: other protocols only have such calls.
  const isDirect = isObject(caller) && caller.type === 'direct' && Object.keys(caller).length === 1;
  const sides = keepSides(caller === undefined || isDirect ? {} : { caller });
  return { type: 'tool-call', id, name, arguments: JSON.stringify(exact ?? input), ...sides };
}

/** Returns undefined for a document with blocks that are more than plain text. */
function decodeMedia(block: Wire.KnownMedia): MediaBlock | undefined {
  const [seen, keepSides] = openBlock(block);
  const [source, pickSource] = trackReads(seen.source);
  const read = readSource(source);
  if (!read) return undefined;
  const about =
    seen.type === 'document' ? { title: seen.title ?? undefined, context: seen.context ?? undefined } : {};
  // A text has no media type in other protocols.
  const isTyped = source.type === 'text' && source.media_type !== 'text/plain';
  const rest = { ...pickSource(), ...(isTyped ? { media_type: source.media_type } : {}) };
  return { type: 'media', kind: block.type, ...about, ...read, ...keepSides(nestFields('source', rest)) };
}

function decodeTextBlock(block: Wire.Text): TextBlock {
  const [{ text }, keepSides] = openBlock(block);
  return { type: 'text', text, ...keepSides() };
}

/** Returns undefined for blocks that are more than plain text. */
function readSource(source: Wire.KnownMedia['source']): Pick<MediaBlock, 'source' | 'mediaType'> | undefined {
  switch (source.type) {
    case 'base64':
      return { source: { type: 'base64', data: source.data }, mediaType: source.media_type };
    case 'text':
      return { source: { type: 'text', text: source.data }, mediaType: source.media_type };
    case 'url':
      return { source: { type: 'url', url: source.url } };
    case 'file':
      return { source: { type: 'file', vendor: nativeVendor, id: source.file_id } };
    case 'content': {
      if (typeof source.content === 'string') return { source: { type: 'text', text: source.content } };
      const texts = readPlainTexts(source.content);
      return texts && { source: { type: 'text', text: texts.join(textBreak) } };
    }
  }
}

/** Returns the texts of blocks, or undefined if a block holds anything else. */
function readPlainTexts(blocks: readonly Fields[]): string[] | undefined {
  const texts = blocks.flatMap(({ type, text, ...rest }) => {
    const isPlain = type === 'text' && Object.keys(rest).length === 0;
    return isPlain && typeof text === 'string' ? [text] : [];
  });
  return texts.length === blocks.length ? texts : undefined;
}

/** Decodes a search result as a text document. Only this protocol has a field for its source. */
function decodeSearchResult(block: Wire.SearchResult): Block {
  const [{ content, title }, keepSides] = openBlock(block);
  const texts = readPlainTexts(content);
  if (!texts) return { type: 'foreign', protocol: protocolName, value: block };
  const source = { type: 'text', text: texts.join(textBreak) } as const;
  return { type: 'media', kind: 'document', source, title, ...keepSides() };
}

function decodeThinking(block: Wire.Thinking): Block {
  const [seen, keepSides] = openBlock(block);
  if (seen.type === 'redacted_thinking') {
    const opaque = [{ vendor: nativeVendor, kind: 'encrypted', value: seen.data }];
    return { type: 'reasoning', text: '', opaque, ...keepSides() };
  }
  const { thinking: text, signature } = seen;
  if (!signature) return { type: 'reasoning', text, ...keepSides() };
  const opaque = [unseal(signature) ?? { vendor: nativeVendor, kind: 'signature', value: signature }];
  return { type: 'reasoning', text, opaque, ...keepSides() };
}

function decodeResult(block: Wire.ToolResult, at: string): Block {
  const [{ tool_use_id: callId, content, is_error: isError }, keepSides] = openBlock(block);
  const parts: ToolResult['content'] =
    typeof content === 'string'
      ? [{ type: 'text', text: content, at: `${at}.content` }]
      : (content ?? []).map((part, index) => decodeResultPart(part, `${at}.content[${index}]`));
  return { type: 'tool-result', callId, isError: isError ?? undefined, content: parts, ...keepSides() };
}

function decodeResultPart(part: Wire.ResultContent, at: string): ToolResult['content'][number] {
  if (Wire.isToolReference(part)) return setPlace(decodeReference(part), at);
  const decoded = Wire.isKnownBlock(part) ? decodeBlock(part, at) : undefined;
  return decoded?.type === 'text' || decoded?.type === 'media'
    ? setPlace(decoded, at)
    : buildForeignBlock(protocolName, part, at);
}

/** A summary takes the place of the messages before it, so other providers get it as text. */
export function decodeSummary(block: Fields): TextBlock | undefined {
  if (block.type !== 'compaction') return undefined;
  const [{ content }, keepSides] = openBlock<Fields & Marked>(block);
  if (typeof content !== 'string' || content.trim() === '') return undefined;
  return { type: 'text', text: content, ...keepSides() };
}

/** Other protocols offer all tools from the start, so there a text tells the model that it found the tool. */
function decodeReference(block: Wire.ToolReference): TextBlock {
  const [{ tool_name: name }, keepSides] = openBlock(block);
  return { type: 'text', text: `Found the tool ${name}.`, ...keepSides() };
}

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
