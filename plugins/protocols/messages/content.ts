/**
 * Content blocks in both directions: text, media, reasoning, tool calls and their results. A block that this
 * protocol cannot express is reported as lost. If the answer would be worthless without it (a video, another
 * vendor's file), the call is refused.
 */
import type {
  MediaBlock,
  Block,
  ReasoningBlock,
  TextBlock,
  ToolResult,
  ToolCall,
} from '../../../core/index.ts';
import { unseal } from '../../shared/wire-kit/envelope.ts';
import {
  refuseFile,
  refusePart,
  encodeForeign,
  loseSeal,
  loseThoughts,
} from '../../shared/wire-kit/losses.ts';
import {
  decodeText,
  detectDocumentType,
  isTextual,
  fitPicture,
  nameMedium,
} from '../../shared/wire-kit/media.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { encodeArguments } from '../../shared/wire-kit/tool-arguments.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import {
  type Fields,
  isObject,
  nestFields,
  overlay,
  pickStated,
  splitNames,
  trackReads,
} from '../../shared/wire-kit/vendor-bag.ts';
import {
  bag,
  decodeSides,
  nativeVendor,
  type Encoding,
  protocolName,
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
  const { source, kind } = block;
  if (source.type === 'file') {
    if (source.vendor === nativeVendor) return { type: 'file', file_id: source.id };
    return refuseFile(block, path, source.vendor);
  }
  if (source.type !== 'url') return undefined;
  const isFetched = kind !== 'image' || model.capabilities.imageUrls;
  if (isFetched && /^https:/i.test(source.url)) return { type: 'url', url: source.url };
  const problem = isFetched
    ? 'only fetches https URLs; send the content itself as base64.'
    : 'does not fetch images; send the image itself as base64.';
  return refusePart(block, path, `The provider of this model ${problem}`);
}

function encodeImageSource(block: MediaBlock, path: string, encoding: Encoding): Fields {
  const { source, detail } = block;
  if (detail !== undefined && detail !== 'auto')
    encoding.lose(`${path}.detail`, 'messages has no image detail');
  const reference = encodeReference(block, path, encoding);
  if (reference) return reference;
  if (source.type !== 'base64') return refusePart(block, path, 'An image cannot be sent as text.');
  const { data } = source;
  return { type: 'base64', media_type: fitPicture(block, data, path), data };
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

/** Returns the canonical blocks of one block: several for a document made of texts and pictures. */
export function decodeBlocks(block: Wire.KnownBlock, at: string, exact: unknown): Block[] {
  return decodeParts(block, at) ?? [decodeBlock(block, at, exact)];
}

const sourceFields = splitNames('type content');
const documentFields = splitNames('type source');

function decodeParts(document: Wire.KnownBlock, at: string): Block[] | undefined {
  if (document.type !== 'document' || !Wire.isKnownMedia(document)) return undefined;
  const { source } = document;
  if (source.type !== 'content' || Object.keys(pickStated(source, sourceFields)).length > 0) return undefined;
  const { content } = source;
  if (typeof content === 'string' || readPlainTexts(content)) return undefined;
  const parts = content.flatMap((part) => {
    const isPart =
      Wire.isKnownBlock(part) && (part.type === 'image' || (part.type === 'text' && part.text.trim() !== ''));
    return isPart ? [decodeBlock(part, at)] : [];
  });
  const [first] = parts;
  // The first part carries the document's own fields (its title too), so it must not have any itself.
  if (parts.length < content.length || !first || first.vendor || first.cache) return undefined;
  return [{ ...first, ...decodeSides(pickStated(document, documentFields)) }, ...parts.slice(1)];
}

/** `exact`: the block with the digits of its numbers. */
function decodeBlock(wire: Wire.KnownBlock, at: string, exact?: unknown): Block {
  const { seen, pickRest, keep } = trackReads(wire);
  switch (seen.type) {
    case 'text':
      return { type: 'text', text: seen.text, ...decodeSides(pickRest()), at };
    case 'image':
    case 'document':
      if (!Wire.isKnownMedia(seen)) return keepForeign(wire, `${at}.source.type`, true);
      return decodeMedia(seen, pickRest, at) ?? buildForeignBlock(protocolName, wire, at);
    case 'search_result': {
      // Only this protocol has a field for its source.
      const texts = readPlainTexts(seen.content);
      if (!texts) return buildForeignBlock(protocolName, wire, at);
      const source = { type: 'text', text: texts.join(textBreak) } as const;
      return { type: 'media', kind: 'document', source, title: seen.title, ...decodeSides(pickRest()), at };
    }
    case 'thinking':
    case 'redacted_thinking':
      return { type: 'reasoning', ...decodeThinking(seen), ...decodeSides(pickRest()), at };
    case 'tool_use': {
      const { id, name, input, caller } = seen;
      // The model made the call, not code that it wrote: other protocols only have such calls.
      const isDirect = isObject(caller) && caller.type === 'direct' && Object.keys(caller).length === 1;
      if (!isDirect) keep('caller');
      const text = JSON.stringify(readMember(exact, 'input') ?? input);
      return { type: 'tool-call', id, name, arguments: text, ...decodeSides(pickRest()), at };
    }
    case 'tool_result': {
      const { tool_use_id: callId, content, is_error: isError } = seen;
      const parts: ToolResult['content'] =
        typeof content === 'string'
          ? [{ type: 'text', text: content, at: `${at}.content` }]
          : (content ?? []).map((part, index) => decodeResultPart(part, `${at}.content[${index}]`));
      const result = { callId, isError: isError ?? undefined, content: parts };
      return { type: 'tool-result', ...result, ...decodeSides(pickRest()), at };
    }
  }
}

/** Returns undefined for a document with blocks that are more than plain text. */
function decodeMedia(seen: Wire.KnownMedia, pickRest: () => Fields, at: string): MediaBlock | undefined {
  const { seen: source, pickRest: pickSource, keep } = trackReads(seen.source);
  const read = readSource(source);
  if (!read) return undefined;
  // A text has no media type in other protocols.
  if (read.source.type === 'text' && read.mediaType !== 'text/plain') keep('media_type');
  const { type: kind } = seen;
  const about =
    kind === 'document' ? { title: seen.title ?? undefined, context: seen.context ?? undefined } : {};
  const rest = { ...pickRest(), ...nestFields('source', pickSource()) };
  return { type: 'media', kind, ...about, ...read, ...decodeSides(rest), at };
}

/** Returns undefined for blocks that are more than plain text. */
function readSource(seen: Wire.KnownMedia['source']): Pick<MediaBlock, 'source' | 'mediaType'> | undefined {
  switch (seen.type) {
    case 'base64':
      return { source: { type: 'base64', data: seen.data }, mediaType: seen.media_type };
    case 'text':
      return { source: { type: 'text', text: seen.data }, mediaType: seen.media_type };
    case 'url':
      return { source: { type: 'url', url: seen.url } };
    case 'file':
      return { source: { type: 'file', vendor: nativeVendor, id: seen.file_id } };
    case 'content': {
      const { content } = seen;
      const texts = typeof content === 'string' ? [content] : readPlainTexts(content);
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

function decodeThinking(seen: Wire.Thinking): Pick<ReasoningBlock, 'text' | 'opaque'> {
  if (seen.type === 'redacted_thinking')
    return { text: '', opaque: [{ vendor: nativeVendor, kind: 'encrypted', value: seen.data }] };
  const { thinking: text, signature } = seen;
  if (!signature) return { text };
  return {
    text,
    opaque: [unseal(signature) ?? { vendor: nativeVendor, kind: 'signature', value: signature }],
  };
}

function decodeResultPart(part: Wire.ResultContent, at: string): ToolResult['content'][number] {
  // Other protocols offer all tools from the start, so there a text tells the model that it found the tool.
  if (Wire.isToolReference(part)) {
    const { seen, pickRest } = trackReads(part);
    const { type: _type, tool_name: name } = seen;
    return { type: 'text', text: `Found the tool ${name}.`, ...decodeSides(pickRest()), at };
  }
  const decoded = Wire.isKnownBlock(part) ? decodeBlock(part, at) : undefined;
  return decoded?.type === 'text' || decoded?.type === 'media'
    ? decoded
    : buildForeignBlock(protocolName, part, at);
}

/** Decodes a block that other providers may not know. */
export function decodeOther(wire: Fields, at: string, fromUser: boolean): Block {
  const { seen, pickRest } = trackReads(wire);
  const { type, content } = seen;
  // A summary takes the place of the messages before it, so other providers get it as text.
  return type === 'compaction' && typeof content === 'string' && content.trim() !== ''
    ? { type: 'text', text: content, ...decodeSides(pickRest()), at }
    : keepForeign(wire, at, fromUser);
}

/** Usually returns one wire block. Returns none if the block is lost, and several if it has several seals. */
export function encodeBlock(block: Block, path: string, encoding: Encoding): Fields[] {
  switch (block.type) {
    case 'text':
      return encodeText(block, path, encoding);
    case 'media': {
      loseState(block, path, encoding);
      const name = nameMedium(block);
      const medium = addSides(block, path, encoding, encodeMedia(block, path, encoding));
      return name === undefined ? medium : [{ type: 'text', text: name }, ...medium];
    }
    case 'refusal':
      return encodeText({ ...block, type: 'text' }, path, encoding);
    case 'reasoning':
      return encodeReasoning(block, path, encoding);
    case 'tool-call':
      return addSides(block, path, encoding, encodeCall(block, path, encoding));
    case 'tool-result':
      return addSides(block, path, encoding, encodeResult(block, path, encoding));
    case 'foreign':
      return encodeForeign(block, path, protocolName, encoding.lose);
  }
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
  { opaque = [] }: TextBlock | MediaBlock | ToolCall,
  path: string,
  { lose }: Encoding,
): void {
  if (opaque.length > 0) loseSeal(path, lose);
}

/** Omits empty and blank text, because Anthropic refuses it. Other protocols write it beside calls. */
function encodeText(block: TextBlock, path: string, encoding: Encoding): Fields[] {
  loseState(block, path, encoding);
  if (block.text.trim() !== '') return addSides(block, path, encoding, { type: 'text', text: block.text });
  if (block.cache) encoding.lose(`${path}.cache`, 'an empty text cannot be marked');
  return [];
}

/** Sends reasoning only to the vendor that sealed it. Anthropic refuses reasoning without its own seal. */
function encodeReasoning(block: ReasoningBlock, path: string, { owner, inPlace, lose }: Encoding): Fields[] {
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
  return opaque.map(({ kind, value }) =>
    overlay(
      fields,
      kind === 'encrypted'
        ? { type: 'redacted_thinking', data: value }
        : { type: 'thinking', thinking: text, signature: value },
    ),
  );
}

function encodeCall(block: ToolCall, path: string, encoding: Encoding): Fields {
  const { id, name } = block;
  const input = encodeArguments(block, path, protocolName, encoding.lose);
  loseState(block, path, encoding);
  return { type: 'tool_use', id: fitCallId(id), name: fitName(name), input };
}

function encodeResult(block: ToolResult, path: string, encoding: Encoding): Fields {
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
