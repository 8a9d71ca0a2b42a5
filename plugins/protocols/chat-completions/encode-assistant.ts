/** Encodes the assistant's turns as messages: text, reasoning, refusals, tool calls and generated images. */
import type {
  Block,
  Opaque,
  Turn,
  ToolCall,
  BlockOf,
  MediaBlock,
  ReasoningBlock,
} from '../../../core/index.ts';
import { refuses } from '../../shared/wire-kit/chat-flags.ts';
import { loseForeign, loseSeal, loseThoughts } from '../../shared/wire-kit/losses.ts';
import { writeUrl } from '../../shared/wire-kit/media.ts';
import { wrapInput } from '../../shared/wire-kit/offered-tools.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { joinParts, encodeParts, type Encoding } from './encode-parts.ts';
import { encodeForeignMark } from './foreign-marks.ts';
import { refusesExtensions, takesThinkingParts, writeReasoning } from './reasoning.ts';
import { writeSignatures } from './signatures.ts';
import { fitCallId, fitName } from './tool-names.ts';

type Refusal = BlockOf<'refusal'>;

export interface Placed<Kind extends Block = Block> {
  readonly block: Kind;
  readonly path: string;
}

interface Draft {
  readonly content: Fields[];
  readonly reasoning: ReasoningBlock[];
  readonly calls: Fields[];
  readonly images: Fields[];
  readonly fields: Record<string, unknown>;
}

export function encodeAssistant(turn: Turn, placed: readonly Placed[], encoding: Encoding): Fields {
  const draft: Draft = { content: [], reasoning: [], calls: [], images: [], fields: {} };
  for (const each of placed) addBlock(draft, each, encoding);
  const { calls, images, fields } = draft;
  const hasOthers = calls.length > 0 || Object.keys(fields).length > 0 || Boolean(bag.getFields(turn).audio);
  return overlay(bag.getFields(turn), {
    role: 'assistant',
    name: turn.name,
    content: joinParts(draft.content, '') ?? (hasOthers ? null : ''),
    ...writeReasoning(draft.reasoning),
    ...fields,
    images: images.length > 0 ? images : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  });
}

function addBlock(draft: Draft, { block, path }: Placed, encoding: Encoding): void {
  switch (block.type) {
    case 'text':
      for (const part of encodeParts(block, path, encoding)) draft.content.push(part);
      break;
    case 'reasoning':
      addReasoning(draft, { block, path }, encoding);
      break;
    case 'refusal':
      addRefusal(draft, block, encoding);
      break;
    case 'tool-call':
      draft.calls.push(encodeCall({ block, path }, encoding));
      break;
    case 'media':
      if (isGenerated(block, encoding)) draft.images.push(encodeGenerated({ block, path }, encoding));
      break;
    case 'foreign':
      if (!isOwnForeign(block)) loseForeign(block, path, encoding.lose);
      else (isWholeCall(block) ? draft.calls : draft.content).push(block.value);
      break;
    default:
      encoding.lose(path, 'an assistant message cannot hold it');
  }
}

function addReasoning(draft: Draft, { block, path }: Placed<ReasoningBlock>, encoding: Encoding): void {
  const { inPlace, model, lose } = encoding;
  const isPart = inPlace && isInContent(block);
  if (takesThinkingParts(model) && (isPart || isReplayable(block, encoding)))
    draft.content.push(encodeThinking(block));
  else if (!isPart && !refusesExtensions(model) && isReplayable(block, encoding)) draft.reasoning.push(block);
  else loseThoughts(path, lose);
}

function addRefusal(draft: Draft, { text }: Refusal, { model, inPlace, extras }: Encoding): void {
  if (!refuses(model, 'refusal') && (inPlace || extras)) draft.fields.refusal = text;
  else draft.content.push({ type: 'text', text });
}

/** Whether a client of this protocol wrote the block as a part of a message's content. */
function isInContent({ at = '' }: Block): boolean {
  return at.includes('.content[');
}

/** Whether an unknown value was a call. */
function isWholeCall({ at = '' }: Block): boolean {
  return at.includes('.tool_calls[');
}

export function encodeRefusal(block: Refusal): Fields {
  return overlay(bag.getFields(block), { type: 'refusal', refusal: block.text });
}

/**
 * Encodes reasoning as a part of the content, as Mistral does. Clients that were shown it as a field send it
 * back as one, with members that no part has.
 */
export function encodeThinking(block: ReasoningBlock): Fields {
  const part = { type: 'thinking', thinking: [{ type: 'text', text: block.text }] };
  return isInContent(block) ? overlay(bag.getFields(block), part) : part;
}

/** Whether a block holds an unknown value of this protocol, which is restored unchanged. */
export function isOwnForeign(block: Block): block is BlockOf<'foreign'> {
  return block.type === 'foreign' && block.protocol === protocolName;
}

/** Whether an image goes back into `images`, where the decoder read it. */
function isGenerated({ at = '' }: MediaBlock, { inPlace, model }: Encoding): boolean {
  return inPlace && at.includes('.images[') && !refusesExtensions(model);
}

function encodeGenerated({ block, path }: Placed<MediaBlock>, encoding: Encoding): Fields {
  return overlay(bag.getFields(block), {
    type: 'image_url',
    image_url: { url: writeUrl(block), detail: block.detail },
    ...encodeSignatures(block.opaque, path, encoding),
  });
}

/** Encodes the assistant's media. An assistant message cannot hold it, so a user message shows it. */
export function encodeShown(placed: readonly Placed[], encoding: Encoding): Fields[] {
  const media = placed.flatMap(({ block, path }) =>
    block.type === 'media' && !isGenerated(block, encoding) ? [{ block, path }] : [],
  );
  for (const { path } of media) encoding.lose(path, 'sent as if the user showed it', 'approximated');
  const parts = media.flatMap(({ block, path }) => encodeParts(block, path, encoding));
  return parts.length > 0 ? [{ type: 'text', text: 'What the assistant showed:' }, ...parts] : [];
}

/**
 * Google seals calls and images. Clients of its protocol may put the state of reasoning there, as LangChain4j
 * does. Other vendors refuse the field.
 */
function encodeSignatures(opaque: Opaque[] = [], path: string, { owner, lose }: Encoding): Fields {
  const kept = opaque.filter(
    ({ vendor, kind, value }) => (vendor === owner || vendor === '') && kind === 'signature' && value !== '',
  );
  if (kept.length < opaque.length) loseSeal(path, lose);
  return writeSignatures(kept, ({ value }) => value);
}

/** Returns a call id that the model accepts. This protocol's clients keep theirs if any id is accepted. */
export function encodeCallId(id: string, { inPlace, flags, model }: Encoding): string {
  return inPlace && flags.callIds === 'any' ? id : fitCallId(id, model.capabilities);
}

/**
 * Whether reasoning can be sent to this model. Sealed state goes only to the vendor that sealed it. Unsealed
 * reasoning from another protocol is never sent, since its vendor is unknown.
 */
function isReplayable({ opaque = [] }: ReasoningBlock, { inPlace, owner }: Encoding): boolean {
  const fits = opaque.every(({ vendor }) => vendor === owner || vendor === '');
  return fits && (inPlace || opaque.some(({ vendor }) => vendor === owner));
}

export function encodeCall({ block, path }: Placed<ToolCall>, encoding: Encoding): Fields {
  const { inPlace, marksLike, extras, lose } = encoding;
  const { arguments: text, custom, namespace } = block;
  const id = encodeCallId(block.id, encoding);
  const name = inPlace ? block.name : fitName(block.name);
  if (namespace !== undefined) lose(`${path}.namespace`, 'chat-completions has no namespaces for tools');
  if (block.cache && marksLike === 'openai')
    lose(`${path}.cache`, 'chat-completions has no cache marks on calls');
  const marks = marksLike === 'anthropic' ? encodeForeignMark(block) : {};
  const extra = { ...encodeSignatures(block.opaque, path, encoding), ...marks };
  if (custom && (inPlace || extras))
    return overlay(bag.getFields(block), { id, type: 'custom', custom: { name, input: text }, ...extra });
  const json = custom ? wrapInput(text) : text;
  return overlay(bag.getFields(block), {
    id,
    type: 'function',
    function: { name, arguments: json || '{}' },
    ...extra,
  });
}
