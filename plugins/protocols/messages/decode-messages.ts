/** The system prompt and the messages to canonical turns, block for block. */
import type { Block, Turn } from '../../../core/index.ts';
import { unseal } from '../../shared/wire-kit/envelope.ts';
import { markUnknown, oneOfKnown } from '../../shared/wire-kit/open-values.ts';
import { holdsNumber, parseExactly } from '../../shared/wire-kit/tool-arguments.ts';
import { isObject, leftover, nested, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import { decodeMark, markLeft, type Marked } from './cache.ts';
import { apart } from './composed-document.ts';
import { UnsealedBlocks } from './sealed.ts';
import { isKnownBlock, isKnownMedia, isVendorState } from './wire.ts';
import type {
  WireContent,
  WireKnownBlock,
  WireKnownMedia,
  WireMedia,
  WireMessage,
  WireRequest,
  WireResultContent,
} from './wire.ts';
import type { WireSearchResult, WireText, WireThinking, WireToolResult, WireToolUse } from './wire.ts';

type TextBlock = Extract<Block, { type: 'text' }>;
type MediaBlock = Extract<Block, { type: 'media' }>;

/** A number in an object that a double may not hold. */
const longNumber = /[:[,]\s*-?\d{16}/;

function member(value: unknown, name: string | number): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** Passed the body's text too: a tool's input keeps its digits. */
export function decodeTurns({ system, messages }: WireRequest, text: string): Turn[] {
  const counts = messages.some(
    ({ content }) =>
      typeof content !== 'string' &&
      content.some((block) => isKnownBlock(block) && block.type === 'tool_use' && holdsNumber(block.input)),
  );
  const exact = counts && longNumber.test(text) ? member(parseExactly(text), 'messages') : undefined;
  const turns = messages.map((message, index) =>
    decodeMessage(message, `messages[${index}]`, member(exact, index)),
  );
  if (system === undefined || system === null) return turns;
  return [
    {
      role: 'system',
      blocks: decodeContent(system, 'system', undefined, true),
      at: 'system',
      ...bag.keep({}, ['top', ...formOf(system)]),
    },
    ...turns,
  ];
}

const messageFields = new Set(['role', 'content']);

const roles = ['user', 'assistant', 'system'] as const;
/** How a message is kept whole whose role is not known here. */
export const wholeMessage = 'message';

function decodeMessage(message: WireMessage, at: string, exact: unknown): Turn {
  const role = oneOfKnown(message.role, roles);
  if (role === undefined)
    return {
      role: 'user',
      blocks: [foreign(message, `${at}.role`, true)],
      at,
      ...bag.keep({}, [wholeMessage]),
    };
  const blocks = decodeContent(
    message.content,
    `${at}.content`,
    member(exact, 'content'),
    role !== 'assistant',
  );
  return { role, blocks, at, ...bag.keep(leftover(message, messageFields), formOf(message.content)) };
}

function formOf(content: WireContent): string[] {
  return typeof content === 'string' ? ['string'] : [];
}

/** A thing that only this protocol has. What a user says is worthless elsewhere without it, unless it is known to be state of the vendor's own. */
function foreign(value: Readonly<Record<string, unknown>>, at: string, spoken: boolean): Block {
  const isState = typeof value.type === 'string' && isVendorState(value.type);
  return {
    type: 'foreign',
    protocol: protocolName,
    value,
    at,
    ...(spoken && !isState ? markUnknown(protocolName) : {}),
  };
}

/** `spoken`: whether it is content of somebody else than the model. */
function decodeContent(content: WireContent, at: string, exact: unknown, spoken: boolean): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  const unsealed = new UnsealedBlocks();
  for (const [index, block] of content.entries()) {
    const place = `${at}[${index}]`;
    if (isKnownBlock(block) && block.type === 'redacted_thinking' && unsealed.open(block.data, place))
      continue;
    const parts = isKnownBlock(block) && block.type === 'document' ? partsOf(block, place) : undefined;
    for (const each of parts ?? [
      isKnownBlock(block)
        ? placed(decodeBlock(block, place, member(exact, index)), place)
        : foreign(block, place, spoken),
    ])
      unsealed.add(each);
  }
  return unsealed.blocks;
}

/** A block that was just made, told where it stood. */
function placed<Kind extends Block>(block: Kind, at: string): Kind {
  block.at = at;
  return block;
}

/** The texts and pictures of a document that is made of both; undefined where it is anything else. */
function partsOf(document: WireMedia, at: string): Block[] | undefined {
  if (!isKnownMedia(document)) return undefined;
  const { source } = document;
  if (source.type !== 'content' || typeof source.content === 'string' || plainTexts(source.content))
    return undefined;
  const parts = source.content.flatMap((part): Block[] => {
    const isPart =
      isKnownBlock(part) && (part.type === 'image' || (part.type === 'text' && part.text.trim() !== ''));
    return isPart ? [{ ...decodeBlock(part, at), at }] : [];
  });
  const [first] = parts;
  const isWhole =
    parts.length === source.content.length && Object.keys(leftover(source, sourceFields)).length === 0;
  // What the document says of itself stands on its first part, which must have nothing of the kind.
  if (!isWhole || !first || first.vendor || first.cache) return undefined;
  return apart(document, parts, (form) => sidesOf(document, fields.parts, {}, form));
}

function decodeBlock(block: WireKnownBlock, at: string, exact?: unknown): Block {
  switch (block.type) {
    case 'text':
      return decodeText(block);
    case 'image':
    case 'document':
      if (!isKnownMedia(block)) return foreign(block, `${at}.source.type`, true);
      return decodeMedia(block) ?? { type: 'foreign', protocol: protocolName, value: block };
    case 'search_result':
      return decodeSearchResult(block);
    case 'thinking':
    case 'redacted_thinking':
      return decodeThinking(block);
    case 'tool_use':
      return decodeCall(block, member(exact, 'input') ?? block.input);
    case 'tool_result':
      return decodeResult(block, at);
  }
}

type BlockSides = Sides & ReturnType<typeof decodeMark>;

function known(...read: readonly string[]): ReadonlySet<string> {
  return new Set(['type', 'cache_control', ...read]);
}

/** The fields of each type of block that are read into canonical ones. */
const fields = {
  text: known('text'),
  image: known('source'),
  document: known('source', 'title', 'context'),
  search_result: known('title', 'content'),
  thinking: known('thinking', 'signature'),
  redacted_thinking: known('data'),
  tool_use: known('id', 'name', 'input'),
  direct_use: known('id', 'name', 'input', 'caller'),
  tool_result: known('tool_use_id', 'content', 'is_error'),
  /** Of a document that is taken apart, its title is kept with the rest. */
  parts: known('source'),
} as const;

/** Cache mark, vendor fields and spelling of a block of which these fields are read. */
function sidesOf(
  block: Marked & object,
  read: ReadonlySet<string>,
  rest?: Fields,
  form?: readonly string[],
): BlockSides {
  const left = leftover(block, read);
  if (!block.cache_control) return bag.keep(rest ? { ...left, ...rest } : left, form);
  return { ...decodeMark(block), ...bag.keep({ ...left, ...markLeft(block), ...rest }, form) };
}

function decodeCall(block: WireToolUse, input: unknown): Block {
  const { id, name } = block;
  const sides = isDirect(block)
    ? sidesOf(block, fields.direct_use, {}, ['direct'])
    : sidesOf(block, fields.tool_use);
  return { type: 'tool-call', id, name, arguments: JSON.stringify(input), ...sides };
}

/** Whether the model made the call itself, and no code of its own: other wires know no other calls. */
function isDirect(block: WireToolUse & { readonly caller?: unknown }): boolean {
  const { caller } = block;
  return isObject(caller) && caller.type === 'direct' && Object.keys(caller).length === 1;
}

function decodeText(block: WireText): TextBlock {
  return { type: 'text', text: block.text, ...sidesOf(block, fields.text) };
}

const untypedSource = new Set(['type', 'data', 'url', 'file_id', 'content']);
const sourceFields = new Set([...untypedSource, 'media_type']);

/** Undefined for a document that is made of blocks which are more than text. */
function decodeMedia(block: WireKnownMedia): MediaBlock | undefined {
  const { source } = block;
  // Texts are told elsewhere without their type.
  const isPlain = source.type !== 'text' || source.media_type === 'text/plain';
  const rest = nested('source', leftover(source, isPlain ? sourceFields : untypedSource));
  const about =
    block.type === 'document' ? { title: block.title ?? undefined, context: block.context ?? undefined } : {};
  const media = { type: 'media' as const, kind: block.type, ...about };
  const sides = (form: readonly string[] = []): BlockSides => sidesOf(block, fields[block.type], rest, form);
  switch (source.type) {
    case 'base64':
      return {
        ...media,
        source: { type: 'base64', data: source.data },
        mediaType: source.media_type,
        ...sides(),
      };
    case 'text':
      return {
        ...media,
        source: { type: 'text', text: source.data },
        mediaType: source.media_type,
        ...sides(),
      };
    case 'url':
      return { ...media, source: { type: 'url', url: source.url }, ...sides() };
    case 'file':
      return { ...media, source: { type: 'file', vendor: nativeVendor, id: source.file_id }, ...sides() };
    case 'content': {
      if (typeof source.content === 'string')
        return { ...media, source: { type: 'text', text: source.content }, ...sides(['content']) };
      const texts = plainTexts(source.content);
      return (
        texts && {
          ...media,
          source: { type: 'text', text: texts.join('\n\n') },
          ...sides(['contents', ...texts]),
        }
      );
    }
  }
}

/** The texts of blocks that are nothing else; undefined where one is more. */
function plainTexts(blocks: readonly Fields[]): string[] | undefined {
  const texts = blocks.flatMap(({ type, text, ...rest }) => {
    const isPlain = type === 'text' && Object.keys(rest).length === 0;
    return isPlain && typeof text === 'string' ? [text] : [];
  });
  return texts.length === blocks.length ? texts : undefined;
}

/** A search result is a text document with its address, for which only this wire has a place: it is kept beside it. */
function decodeSearchResult(block: WireSearchResult): Block {
  const texts = plainTexts(block.content);
  if (!texts) return { type: 'foreign', protocol: protocolName, value: block };
  const sides = sidesOf(block, fields.search_result, {}, ['search-result', ...texts]);
  return {
    type: 'media',
    kind: 'document',
    source: { type: 'text', text: texts.join('\n\n') },
    title: block.title,
    ...sides,
  };
}

function decodeThinking(block: WireThinking): Block {
  if (block.type === 'redacted_thinking') {
    const opaque = [{ vendor: nativeVendor, kind: 'encrypted', value: block.data }];
    return { type: 'reasoning', text: '', opaque, ...sidesOf(block, fields.redacted_thinking) };
  }
  const { thinking: text, signature } = block;
  const sides = sidesOf(
    block,
    fields.thinking,
    signature === null ? { signature } : {},
    signature === '' ? ['empty-signature'] : [],
  );
  if (!signature) return { type: 'reasoning', text, ...sides };
  return {
    type: 'reasoning',
    text,
    opaque: [unseal(signature) ?? { vendor: nativeVendor, kind: 'signature', value: signature }],
    ...sides,
  };
}

function decodeResult(block: WireToolResult, at: string): Block {
  const { tool_use_id: callId, content, is_error: isError } = block;
  const result = { type: 'tool-result' as const, callId, isError: isError ?? undefined };
  const read = fields.tool_result;
  if (content === undefined || content === null)
    return { ...result, content: [], ...sidesOf(block, read, {}, ['no-content']) };
  if (typeof content === 'string')
    return {
      ...result,
      content: [{ type: 'text', text: content, at }],
      ...sidesOf(block, read, {}, ['string']),
    };
  const parts = content.map((part, index) => decodeResultPart(part, `${at}.content[${index}]`));
  const known = parts.flatMap((part) => part ?? []);
  // Parts that are no text and no media are kept with the whole.
  return {
    ...result,
    content: known,
    ...sidesOf(block, read, known.length < parts.length ? { content } : {}),
  };
}

function decodeResultPart(part: WireResultContent, at: string): TextBlock | MediaBlock | undefined {
  if (!isKnownBlock(part)) return undefined;
  const decoded = decodeBlock(part, at);
  return decoded.type === 'text' || decoded.type === 'media' ? placed(decoded, at) : undefined;
}
