/** Decodes the content blocks of messages: text, media, reasoning, tool calls and their results. */
import type { Block, MediaBlock, TextBlock, ToolResult } from '../../../core/index.ts';
import { unseal } from '../../shared/wire-kit/envelope.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import {
  isObject,
  pickUnread,
  nestFields,
  type Fields,
  type Sides,
} from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import { decodeMark, readMarkLeftover, type Marked } from './cache.ts';
import { textBreak } from './media.ts';
import * as Wire from './wire.ts';

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
  const { source, type: _type, ...about } = document;
  if (source.type !== 'content' || typeof source.content === 'string' || readPlainTexts(source.content))
    return undefined;
  const parts = source.content.flatMap((part): Block[] => {
    const isPart =
      Wire.isKnownBlock(part) && (part.type === 'image' || (part.type === 'text' && part.text.trim() !== ''));
    return isPart ? [setPlace(decodeBlock(part, at), at)] : [];
  });
  const [first] = parts;
  const isWhole =
    parts.length === source.content.length && Object.keys(pickUnread(source, sourceFields)).length === 0;
  // The first part carries the document's own fields (its title too), so it must not have any itself.
  if (!isWhole || !first || first.vendor || first.cache) return undefined;
  return [Object.assign({}, first, keepSides({ ...about }, [])), ...parts.slice(1)];
}

function decodeBlock(block: Wire.KnownBlock, at: string, exact?: unknown): Block {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, ...keepSides(block, ['text']) };
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
      return decodeCall(block, readMember(exact, 'input') ?? block.input);
    case 'tool_result':
      return decodeResult(block, at);
  }
}

type BlockSides = Sides & ReturnType<typeof decodeMark>;

/** Returns a block's cache mark, notes on its spelling, and its fields except those in `read`. */
function keepSides(block: Marked & object, read: readonly string[], rest?: Fields): BlockSides {
  const left = pickUnread(block, ['type', 'cache_control', ...read]);
  if (!block.cache_control) return bag.keep(rest ? { ...left, ...rest } : left);
  return { ...decodeMark(block), ...bag.keep({ ...left, ...readMarkLeftover(block), ...rest }) };
}

function decodeCall(block: Wire.ToolUse, input: unknown): Block {
  const { id, name } = block;
  const caller: unknown = block.caller;
  // The model made the call, not code that it wrote: other protocols only have such calls.
  const isDirect = isObject(caller) && caller.type === 'direct' && Object.keys(caller).length === 1;
  return {
    type: 'tool-call',
    id,
    name,
    arguments: JSON.stringify(input),
    ...keepSides(block, ['id', 'name', 'input', ...(isDirect ? ['caller'] : [])]),
  };
}

const untypedSource = ['type', 'data', 'url', 'file_id', 'content'];
const sourceFields = [...untypedSource, 'media_type'];

/** Returns undefined for a document with blocks that are more than plain text. */
function decodeMedia(block: Wire.KnownMedia): MediaBlock | undefined {
  const { source } = block;
  // A text has no media type in other protocols.
  const isPlain = source.type !== 'text' || source.media_type === 'text/plain';
  const rest = nestFields('source', pickUnread(source, isPlain ? sourceFields : untypedSource));
  const about =
    block.type === 'document' ? { title: block.title ?? undefined, context: block.context ?? undefined } : {};
  const read = readSource(source);
  return (
    read && {
      type: 'media',
      kind: block.type,
      ...about,
      source: read.source,
      mediaType: read.mediaType,
      ...keepSides(block, ['source', ...Object.keys(about)], rest),
    }
  );
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
  const texts = readPlainTexts(block.content);
  if (!texts) return { type: 'foreign', protocol: protocolName, value: block };
  return {
    type: 'media',
    kind: 'document',
    source: { type: 'text', text: texts.join(textBreak) },
    title: block.title,
    ...keepSides(block, ['title', 'content']),
  };
}

function decodeThinking(block: Wire.Thinking): Block {
  if (block.type === 'redacted_thinking') {
    const opaque = [{ vendor: nativeVendor, kind: 'encrypted', value: block.data }];
    return { type: 'reasoning', text: '', opaque, ...keepSides(block, ['data']) };
  }
  const { thinking: text, signature } = block;
  const sides = keepSides(block, ['thinking', 'signature']);
  if (!signature) return { type: 'reasoning', text, ...sides };
  return {
    type: 'reasoning',
    text,
    opaque: [unseal(signature) ?? { vendor: nativeVendor, kind: 'signature', value: signature }],
    ...sides,
  };
}

function decodeResult(block: Wire.ToolResult, at: string): Block {
  const { tool_use_id: callId, content, is_error: isError } = block;
  const result = { type: 'tool-result' as const, callId, isError: isError ?? undefined };
  const read = ['tool_use_id', 'content', 'is_error'];
  const sides = keepSides(block, read);
  if (content === undefined || content === null) return { ...result, content: [], ...sides };
  if (typeof content === 'string')
    return { ...result, content: [{ type: 'text', text: content, at: `${at}.content` }], ...sides };
  const parts = content.map((part, index) => decodeResultPart(part, `${at}.content[${index}]`));
  return { ...result, content: parts, ...sides };
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
  const { type, content } = block;
  if (type !== 'compaction' || typeof content !== 'string' || content.trim() === '') return undefined;
  return { type: 'text', text: content, ...keepSides(block, ['content']) };
}

/** Other protocols offer all tools from the start, so there a text tells the model that it found the tool. */
function decodeReference(block: Wire.ToolReference): TextBlock {
  const { tool_name: name } = block;
  return { type: 'text', text: `Found the tool ${name}.`, ...keepSides(block, ['tool_name']) };
}
