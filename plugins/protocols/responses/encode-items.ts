/**
 * Encodes canonical turns as input items: messages, calls, outputs, and the reasoning that the model's own
 * vendor sealed.
 */
import type { Block, Turn, BlockOf } from '../../../core/index.ts';
import { encodeCache } from '../../shared/wire-kit/cache-breakpoint.ts';
import { loseForeign, loseSeal, loseThoughts } from '../../shared/wire-kit/losses.ts';
import { readObject, readText } from '../../shared/wire-kit/values.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { unreadParts } from './decode-items.ts';
import type { ForeignPart, ContentBlock } from './decode-parts.ts';
import { encodeParts, joinParts } from './encode-parts.ts';
import type { Encoding } from './encoding.ts';
import { fitName, hashShort } from './tool-names.ts';

/** A message that collects parts until a block of another type follows. */
interface Message {
  readonly parts: Fields[];
  readonly fields: Fields;
}

type Entry = { readonly path: string } & ({ readonly item: Fields } | { readonly message: Message });

export function findCustomCallIds(turns: readonly Turn[]): Set<string> {
  return new Set(
    turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'tool-call' && block.custom ? [block.id] : [])),
    ),
  );
}

export function encodeItems(turns: readonly Turn[], encoding: Encoding): Fields[] {
  const { role, blocks = [] } = turns.at(-1) ?? {};
  if (role === 'assistant' && !blocks.some(({ type }) => type === 'tool-call')) {
    encoding.lose(
      `turns[${turns.length - 1}].role`,
      'the model starts a new answer instead of continuing this one',
      'approximated',
    );
  }
  return turns.flatMap((turn, index) =>
    turn.at === 'instructions' ? [] : encodeTurn(turn, index, encoding),
  );
}

export function encodeTurn(turn: Turn, index: number, encoding: Encoding): Fields[] {
  const at = `turns[${index}]`;
  const entries: Entry[] = [];
  let open: Message | undefined;
  if (turn.name !== undefined) encoding.lose(`${at}.name`, 'responses has no names for participants');
  for (const [position, block] of turn.blocks.entries()) {
    const path = `${at}.blocks[${position}]`;
    if ('opaque' in block && block.opaque && block.type !== 'reasoning') loseSeal(path, encoding.lose);
    if (block.type === 'media' && turn.role === 'assistant' && !(encoding.inPlace && isImageCall(block))) {
      open = undefined;
      entries.push({ path, item: encodeShownMedia(block, path, encoding) });
      continue;
    }
    // Gemini ends a stream with an empty text, even after tool calls.
    if (block.type === 'text' && block.text === '' && turn.role === 'assistant') continue;
    if (isSpoken(block)) {
      if (!open) {
        const own = turn.role === 'assistant' ? bag.getFields(block).item : bag.getFields(turn);
        open = { parts: [], fields: readObject(own) };
        entries.push({ path, message: open });
      }
      for (const part of encodeParts(block, turn.role, path, encoding)) open.parts.push(part);
      continue;
    }
    open = undefined;
    for (const item of encodeBlock(block, path, encoding)) entries.push({ path, item });
  }
  const role = turn.role === 'tool' ? 'user' : turn.role;
  return dropTrailingReasoning(entries, encoding).map((entry) => {
    if ('item' in entry) return entry.item;
    const { parts, fields } = entry.message;
    if (encoding.dialect === 'perplexity' && role === 'assistant') return { role, content: joinTexts(parts) };
    return overlay(fields, { role, content: joinParts(parts) });
  });
}

/** What an assistant said, and what it refused, as one text. */
function joinTexts(parts: readonly Fields[]): string {
  return parts.map(({ text, refusal }) => readText(text ?? refusal)).join('');
}

/** Whether a block is a part of a message, and not an item. */
export function isSpoken(block: Block): block is ContentBlock | ForeignPart {
  if (block.type === 'foreign') return block.protocol === protocolName && isPart(block);
  return block.type === 'text' || block.type === 'refusal' || (block.type === 'media' && !isImageCall(block));
}

function isPart({ at = '' }: Block): boolean {
  return /\.(content|output)\[/.test(at);
}

/** Whether an image was an item of its own: a call of the tool that made it. */
function isImageCall({ at = '' }: Block): boolean {
  return /^input\[\d+\]$/.test(at);
}

/** An assistant's message cannot hold media here, so a user message shows it. */
function encodeShownMedia(block: BlockOf<'media'>, path: string, encoding: Encoding): Fields {
  encoding.lose(path, 'sent as if the user showed it', 'approximated');
  return {
    role: 'user',
    content: [
      { type: 'input_text', text: 'What the assistant showed:' },
      ...encodeParts(block, 'user', path, encoding),
    ],
  };
}

/** OpenAI refuses reasoning without an item after it. That item was lost, or never existed. */
function dropTrailingReasoning(entries: Entry[], { inPlace, lose }: Encoding): Entry[] {
  const kept = entries.filter((entry) => 'item' in entry || entry.message.parts.length > 0);
  if (inPlace) return kept;
  for (let last = kept.at(-1); last && 'item' in last && last.item.type === 'reasoning'; last = kept.at(-1)) {
    lose(last.path, 'the item that has to follow it is missing');
    kept.pop();
  }
  return kept;
}

export function encodeBlock(
  block: Exclude<Block, ContentBlock | ForeignPart> | BlockOf<'media'>,
  path: string,
  encoding: Encoding,
): Fields[] {
  switch (block.type) {
    case 'tool-call':
      return [encodeCall(block, path, encoding)];
    case 'tool-result':
      return [encodeResult(block, path, encoding)];
    case 'reasoning':
      return encodeReasoning(block, path, encoding);
    case 'media': {
      const result = block.source.type === 'base64' ? block.source.data : undefined;
      return [overlay(bag.getFields(block), { type: 'image_generation_call', result })];
    }
    case 'foreign':
      if (block.protocol === protocolName) return [block.value];
      loseForeign(block, path, encoding.lose);
      return [];
  }
}

const longestCallId = 64;

/** OpenAI accepts call ids of 1 to 64 characters. */
function fitCallId(id: string, inPlace: boolean): string {
  return inPlace || (id !== '' && id.length <= longestCallId)
    ? id
    : `call_${id.slice(0, 32)}_${hashShort(id)}`;
}

function encodeCall(block: BlockOf<'tool-call'>, path: string, { inPlace, names, lose }: Encoding): Fields {
  if (block.cache) lose(`${path}.cache`, 'responses has no cache marks on calls');
  const { name, namespace } = names.toWire(block.name) ?? {
    name: inPlace ? block.name : fitName(block.name),
    namespace: block.namespace,
  };
  const called = {
    name,
    namespace,
    call_id: fitCallId(block.id, inPlace),
  };
  if (block.custom)
    return overlay(bag.getFields(block), { type: 'custom_tool_call', ...called, input: block.arguments });
  return overlay(bag.getFields(block), {
    type: 'function_call',
    ...called,
    arguments: block.arguments || '{}',
  });
}

function encodeResult(block: BlockOf<'tool-result'>, path: string, encoding: Encoding): Fields {
  const { inPlace, customCalls, lose } = encoding;
  if (block.isError) lose(`${path}.isError`, 'responses cannot mark a failed tool result');
  const parts = block.content.flatMap((part, position) => {
    const place = `${path}.content[${position}]`;
    if (part.type !== 'foreign') return encodeParts(part, 'tool', place, encoding);
    if (part.protocol === protocolName) return [part.value];
    loseForeign(part, place, lose);
    return [];
  });
  const mark = encodeCache(block, path, encoding, protocolName);
  if (mark)
    parts.push({ ...(parts.pop() ?? { type: 'input_text', text: '' }), prompt_cache_breakpoint: mark });
  const custom = block.custom ?? customCalls.has(block.callId);
  return overlay(bag.getFields(block), {
    type: custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: fitCallId(block.callId, inPlace),
    output: joinParts(parts),
  });
}

/** Only the vendor that sealed reasoning can use it. The vendor of unsealed reasoning is unknown. */
function encodeReasoning(block: BlockOf<'reasoning'>, path: string, { owner, lose }: Encoding): Fields[] {
  const { opaque = [], text } = block;
  const [sealed] = opaque;
  const { [unreadParts]: _more, ...fields } = bag.getFields(block);
  if (!sealed || opaque.some(({ vendor }) => vendor !== owner)) {
    loseThoughts(path, lose);
    return [];
  }
  const [field, type] =
    block.summary || fields.content === undefined
      ? ['summary', 'summary_text']
      : ['content', 'reasoning_text'];
  const parts = text === '' ? [] : [{ type, text }];
  return [overlay(fields, { type: 'reasoning', [field]: parts, encrypted_content: sealed.value })];
}
