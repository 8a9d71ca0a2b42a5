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
import { wholeCall } from './decode-messages.ts';
import { generatedImage } from './decode-parts.ts';
import { joinParts, encodeParts, type Encoding } from './encode-parts.ts';
import { isForeign, encodeMessageMark, encodeOwnMark } from './foreign-marks.ts';
import { refusesExtensions, takesThinkingParts, thinkingForm, writeReasoning } from './reasoning.ts';
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
  const form = bag.getForm(turn);
  const hasOthers = calls.length > 0 || Object.keys(fields).length > 0 || Boolean(bag.getFields(turn).audio);
  const empty = hasOthers ? null : '';
  return overlay(bag.getFields(turn), {
    role: 'assistant',
    name: turn.name,
    content:
      joinParts(draft.content, form, '', encoding) ??
      (hasOthers && form.includes('no-content') ? undefined : empty),
    ...writeReasoning(draft.reasoning),
    ...fields,
    images: images.length > 0 ? images : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
    ...encodeMessageMark(turn.blocks),
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
      if (bag.has(block, 'function'))
        draft.fields.function_call = overlay(bag.getFields(block), {
          name: block.name,
          arguments: block.arguments,
        });
      else draft.calls.push(encodeCall({ block, path }, encoding));
      break;
    case 'media':
      if (isGenerated(block, encoding)) draft.images.push(encodeGenerated({ block, path }, encoding));
      break;
    case 'foreign':
      if (!isOwnForeign(block)) loseForeign(block, path, encoding.lose);
      else (bag.has(block, wholeCall) ? draft.calls : draft.content).push(block.value);
      break;
    default:
      encoding.lose(path, 'an assistant message cannot hold it');
  }
}

function addReasoning(draft: Draft, { block, path }: Placed<ReasoningBlock>, encoding: Encoding): void {
  const { model, lose } = encoding;
  const isPart = bag.has(block, thinkingForm);
  if (takesThinkingParts(model) && (isPart || isReplayable(block, encoding)))
    draft.content.push(encodeThinking(block));
  else if (!isPart && !refusesExtensions(model) && isReplayable(block, encoding)) draft.reasoning.push(block);
  else loseThoughts(path, lose);
}

function addRefusal(draft: Draft, block: Refusal, { model, own, extras }: Encoding): void {
  const { text } = block;
  const isRefused = refuses(model, 'refusal');
  if (!isRefused && (bag.has(block, 'field') || (!own && extras))) draft.fields.refusal = text;
  else if (!isRefused && own) draft.content.push(encodeRefusal(block));
  else draft.content.push({ type: 'text', text });
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
  return bag.has(block, thinkingForm) ? overlay(bag.getFields(block), part) : part;
}

/** Whether a block holds an unknown value of this protocol, which is restored unchanged. */
export function isOwnForeign(block: Block): block is BlockOf<'foreign'> {
  return block.type === 'foreign' && block.protocol === protocolName;
}

/** Whether an image goes back into `images`, where the decoder read it. */
function isGenerated(block: MediaBlock, { own, model }: Encoding): boolean {
  return own && bag.has(block, generatedImage) && !refusesExtensions(model);
}

function encodeGenerated({ block, path }: Placed<MediaBlock>, encoding: Encoding): Fields {
  return overlay(bag.getFields(block), {
    type: 'image_url',
    image_url: { url: writeUrl(block, bag.getForm(block)), detail: block.detail },
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
function encodeSignatures(opaque: Opaque[] = [], path: string, { own, owner, lose }: Encoding): Fields {
  const kept = opaque.filter(
    ({ vendor, kind, value }) =>
      (vendor === owner || vendor === '') && (own || (kind === 'signature' && value !== '')),
  );
  if (kept.length < opaque.length) loseSeal(path, lose);
  return writeSignatures(kept, ({ value }) => value);
}

/** Returns a call id that the model accepts. This protocol's clients keep theirs if any id is accepted. */
export function encodeCallId(id: string, { own, flags, model }: Encoding): string {
  return own && flags.callIds === 'any' ? id : fitCallId(id, model.capabilities);
}

/**
 * Whether reasoning can be sent to this model. Sealed state goes only to the vendor that sealed it. Unsealed
 * reasoning from another protocol is never sent, since its vendor is unknown.
 */
function isReplayable(block: ReasoningBlock, { owner }: Encoding): boolean {
  const { opaque = [] } = block;
  const fits = opaque.every(({ vendor }) => vendor === owner || vendor === '');
  return fits && (bag.getForm(block).length > 0 || opaque.some(({ vendor }) => vendor === owner));
}

function encodeCall({ block, path }: Placed<ToolCall>, encoding: Encoding): Fields {
  const { own, extras, lose } = encoding;
  const { arguments: text, custom, namespace } = block;
  const id = encodeCallId(block.id, encoding);
  const name = own ? block.name : fitName(block.name);
  if (namespace !== undefined) lose(`${path}.namespace`, 'chat-completions has no namespaces for tools');
  if (block.cache && !isForeign(block)) lose(`${path}.cache`, 'chat-completions has no cache marks on calls');
  const extra = { ...encodeSignatures(block.opaque, path, encoding), ...encodeOwnMark(block) };
  if (custom && (own || extras))
    return overlay(bag.getFields(block), { id, type: 'custom', custom: { name, input: text }, ...extra });
  const json = custom ? wrapInput(text) : text;
  return overlay(bag.getFields(block), {
    id,
    type: 'function',
    function: { name, arguments: own ? json : json || '{}' },
    ...extra,
  });
}
