/**
 * Encodes canonical turns as input items. A request of this protocol is restored item by item. A request of
 * another protocol becomes messages, calls, outputs, and the reasoning that the model's own vendor sealed.
 */
import type { Block, Turn, BlockOf } from '../../../core/index.ts';
import { encodeCache } from '../../shared/wire-kit/cache-breakpoint.ts';
import { loseForeign, loseSeal, loseThoughts } from '../../shared/wire-kit/losses.ts';
import { readObject, readObjects, readText } from '../../shared/wire-kit/values.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { joinReasoning, unreadParts } from './decode-items.ts';
import { partNote, type ForeignPart, type ContentBlock } from './decode-parts.ts';
import { encodeParts, joinParts } from './encode-parts.ts';
import type { Encoding } from './encoding.ts';
import { isGatewayId } from './response-object.ts';
import { fitName, hashShort } from './tool-names.ts';

/** A message that collects parts until a block of another type follows. */
interface Message {
  readonly parts: Fields[];
  readonly fields: Fields;
  readonly form: readonly string[];
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
  if (!encoding.own && role === 'assistant' && !blocks.some(({ type }) => type === 'tool-call')) {
    encoding.lose(
      `turns[${turns.length - 1}].role`,
      'the model starts a new answer instead of continuing this one',
      'approximated',
    );
  }
  return turns.flatMap((turn, index) =>
    turn.at === 'instructions' ? [] : encodeTurn(turn, `turns[${index}]`, encoding),
  );
}

function encodeTurn(turn: Turn, at: string, encoding: Encoding): Fields[] {
  const entries: Entry[] = [];
  let open: Message | undefined;
  if (turn.name !== undefined) encoding.lose(`${at}.name`, 'responses has no names for participants');
  if (turn.blocks.length === 0 && encoding.own)
    entries.push({ path: at, message: { parts: [], fields: bag.getFields(turn), form: bag.getForm(turn) } });
  for (const [position, block] of turn.blocks.entries()) {
    const path = `${at}.blocks[${position}]`;
    if ('opaque' in block && block.opaque && block.type !== 'reasoning') loseSeal(path, encoding.lose);
    if (block.type === 'media' && turn.role === 'assistant' && !encoding.own) {
      open = undefined;
      entries.push({ path, item: encodeShownMedia(block, path, encoding) });
      continue;
    }
    // Gemini ends a stream with an empty text, even after tool calls.
    if (block.type === 'text' && block.text === '' && turn.role === 'assistant' && !encoding.own) continue;
    if (isSpoken(block)) {
      if (!open || bag.has(block, 'message')) {
        open = startMessage(turn, block);
        entries.push({ path, message: open });
      }
      const parts = encodeParts(block, turn.role, path, encoding);
      for (const part of parts) open.parts.push(bag.has(block, 'message') ? omitItem(part) : part);
      continue;
    }
    open = undefined;
    const item = encodeBlock(block, path, encoding);
    if (item) entries.push({ path, item });
  }
  const role = turn.role === 'tool' ? 'user' : turn.role;
  return dropTrailingReasoning(entries, encoding).map((entry) => {
    if ('item' in entry) return entry.item;
    const { parts, fields, form } = entry.message;
    if (encoding.dialect === 'perplexity' && role === 'assistant') return { role, content: joinTexts(parts) };
    return overlay(fields, { role, content: joinParts(parts, form, encoding.own) });
  });
}

/** What an assistant said, and what it refused, as one text. */
function joinTexts(parts: readonly Fields[]): string {
  return parts.map(({ text, refusal }) => readText(text ?? refusal)).join('');
}

function isSpoken(block: Block): block is ContentBlock | ForeignPart {
  if (block.type === 'foreign') return bag.has(block, partNote);
  return (
    block.type === 'text' ||
    block.type === 'refusal' ||
    (block.type === 'media' && !bag.has(block, 'image-call'))
  );
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

/** A message's own fields are kept on its first block: an assistant's turn may hold several messages. */
function startMessage(turn: Turn, block: ContentBlock | ForeignPart): Message {
  const form = bag.getForm(block);
  if (!form.includes('message')) return { parts: [], fields: bag.getFields(turn), form: bag.getForm(turn) };
  return { parts: [], fields: readObject(bag.getFields(block).item), form };
}

/** OpenAI refuses reasoning without an item after it. That item was lost, or never existed. */
function dropTrailingReasoning(entries: Entry[], { own, lose }: Encoding): Entry[] {
  if (own) return entries;
  const kept = entries.filter((entry) => 'item' in entry || entry.message.parts.length > 0);
  for (let last = kept.at(-1); last && 'item' in last && last.item.type === 'reasoning'; last = kept.at(-1)) {
    lose(last.path, 'the item that has to follow it is missing');
    kept.pop();
  }
  return kept;
}

function omitItem(part: Fields): Fields {
  const { item: _item, ...rest } = part;
  return rest;
}

function encodeBlock(
  block: Exclude<Block, ContentBlock | ForeignPart> | BlockOf<'media'>,
  path: string,
  encoding: Encoding,
): Fields | undefined {
  switch (block.type) {
    case 'tool-call':
      return encodeCall(block, path, encoding);
    case 'tool-result':
      return encodeResult(block, path, encoding);
    case 'reasoning':
      return encodeReasoning(block, path, encoding);
    case 'media':
      return overlay(bag.getFields(block), {
        type: 'image_generation_call',
        result: block.source.type === 'base64' ? block.source.data : undefined,
      });
    case 'foreign':
      if (block.protocol === protocolName) return block.value;
      loseForeign(block, path, encoding.lose);
      return undefined;
  }
}

const longestCallId = 64;

/** OpenAI accepts call ids of 1 to 64 characters. */
function fitCallId(id: string, own: boolean): string {
  return own || (id !== '' && id.length <= longestCallId) ? id : `call_${id.slice(0, 32)}_${hashShort(id)}`;
}

function encodeCall(block: BlockOf<'tool-call'>, path: string, { own, names, lose }: Encoding): Fields {
  if (block.cache) lose(`${path}.cache`, 'responses has no cache marks on calls');
  const { name, namespace } = names.toWire(block.name) ?? {
    name: own ? block.name : fitName(block.name),
    namespace: block.namespace,
  };
  const called = {
    name: bag.findNote(block, 'name') ?? name,
    namespace: own ? block.namespace : namespace,
    call_id: fitCallId(block.id, own),
  };
  if (block.custom)
    return overlay(bag.getFields(block), { type: 'custom_tool_call', ...called, input: block.arguments });
  return overlay(bag.getFields(block), {
    type: 'function_call',
    ...called,
    arguments: own ? block.arguments : block.arguments || '{}',
  });
}

function encodeResult(block: BlockOf<'tool-result'>, path: string, encoding: Encoding): Fields {
  const { own, customCalls, lose } = encoding;
  if (block.isError) lose(`${path}.isError`, 'responses cannot mark a failed tool result');
  const parts = block.content.flatMap((part, position) => {
    const place = `${path}.content[${position}]`;
    if (part.type !== 'foreign') return encodeParts(part, 'tool', place, encoding);
    if (part.protocol === protocolName) return [part.value];
    loseForeign(part, place, lose);
    return [];
  });
  const mark = own ? undefined : encodeCache(block, path, encoding, protocolName);
  if (mark)
    parts.push({ ...(parts.pop() ?? { type: 'input_text', text: '' }), prompt_cache_breakpoint: mark });
  const custom = block.custom ?? (!own && customCalls.has(block.callId));
  return overlay(bag.getFields(block), {
    type: custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: fitCallId(block.callId, own),
    output: joinParts(parts, bag.getForm(block), own),
  });
}

/** Only the vendor that sealed reasoning can use it. The vendor of unsealed reasoning is unknown. */
function encodeReasoning(
  block: BlockOf<'reasoning'>,
  path: string,
  { own, owner, lose }: Encoding,
): Fields | undefined {
  const { opaque = [], text } = block;
  const [sealed] = opaque;
  const { [unreadParts]: _more, ...fields } = bag.getFields(block);
  const isMadeHere = !sealed && isGatewayId(readText(fields.id));
  if (opaque.some(({ vendor }) => vendor !== owner) || (!own && !sealed) || isMadeHere) {
    loseThoughts(path, lose);
    return undefined;
  }
  const [field, type] =
    block.summary || fields.content === undefined
      ? ['summary', 'summary_text']
      : ['content', 'reasoning_text'];
  const isUnchanged = own && joinReasoning(readObjects(fields[field])) === text;
  const parts = text === '' ? [] : [{ type, text }];
  return overlay(fields, {
    type: 'reasoning',
    [field]: isUnchanged ? undefined : parts,
    encrypted_content: sealed?.value,
  });
}
