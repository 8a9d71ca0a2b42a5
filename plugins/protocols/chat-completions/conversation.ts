/**
 * Messages in both directions, each a turn with its blocks in reading order. Each tool result of a turn
 * becomes a separate message. Results and assistant messages cannot hold media: it follows in a user message,
 * after all results of the same step.
 */
import type {
  Block,
  Turn,
  TextBlock,
  ToolResult,
  BlockOf,
  MediaBlock,
  ReasoningBlock,
} from '../../../core/index.ts';
import { decodeForeignMark } from '../../shared/openai/cache-breakpoint.ts';
import { refuses } from '../../shared/openai/chat-flags.ts';
import { decodeContent } from '../../shared/openai/content.ts';
import { writeUrl } from '../../shared/openai/media.ts';
import { makeCallIdsUnique, moveResultsToCalls } from '../../shared/wire-kit/calls-and-results.ts';
import { encodeForeign, loseThoughts } from '../../shared/wire-kit/losses.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { type Fields, overlay, trackReads } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeCall, decodeFunctionCall, encodeCall, encodeSignatures } from './calls.ts';
import { decodeGeneratedImage, decodeResultContent, encodeMark, joinParts, encodeParts } from './content.ts';
import { encodeCallId, type Encoding, bag, dialect, protocolName, type Placed } from './encoding.ts';
import {
  readReasoning,
  fillReasoning,
  lacksReasoning,
  refusesExtensions,
  takesThinkingParts,
  writeReasoning,
} from './reasoning.ts';
import * as Wire from './wire.ts';

/** What earlier messages tell about the calls. A result names only the call's id, or its function. */
interface EarlierCalls {
  /** Tool names by call id. */
  readonly names: Map<string, string>;
  /** Ids by function name. A `function_call` has no id, so one is generated for the latest of each name. */
  readonly generatedIds: Map<string, string>;
}

export function decodeMessages(messages: readonly Wire.AnyMessage[]): Turn[] {
  const calls: EarlierCalls = { names: new Map(), generatedIds: new Map() };
  return messages.map((message, index): Turn => {
    const at = `messages[${index}]`;
    if (!Wire.isKnownMessage(message)) {
      const block = buildForeignBlock(protocolName, message, `${at}.role`, 'needed');
      return { role: 'user', blocks: [block], at };
    }
    if (message.role === 'assistant') noteCalls(message, index, calls);
    return { ...decodeMessage(message, index, calls), at };
  });
}

function noteCalls(message: Wire.AssistantMessage, index: number, calls: EarlierCalls): void {
  for (const call of message.tool_calls?.filter(Wire.isKnownCall) ?? [])
    calls.names.set(call.id, call.type === 'custom' ? call.custom.name : call.function.name);
  if (message.function_call) calls.generatedIds.set(message.function_call.name, `call_${index}`);
}

function decodeMessage(wire: Wire.Message, index: number, calls: EarlierCalls): Turn {
  // Most messages have only these two members: a view of each would take time.
  if (typeof wire.content === 'string' && Object.keys(wire).length === 2)
    return readMessage(wire, index, calls);
  const message = trackReads(wire);
  const turn = readMessage(message.seen, index, calls);
  const last = turn.blocks.at(-1);
  if (last && isMarkable(last) && !last.cache) {
    const { cache } = decodeForeignMark(message) ?? {};
    if (cache) last.cache = cache;
    // If the mark is lost, the report names the message, where the client wrote it.
    if (cache && last.type === 'text') last.at = `messages[${index}]`;
  }
  return { ...turn, ...bag.keep(message.pickRest()) };
}

function isMarkable({ type }: Block): boolean {
  return type === 'text' || type === 'media' || type === 'tool-call' || type === 'tool-result';
}

function readMessage(message: Wire.Message, index: number, calls: EarlierCalls): Turn {
  const at = `messages[${index}]`;
  if (message.role === 'assistant') return readAssistant(message, index);
  if (message.role === 'tool') return readToolResult(message, at, calls);
  if (message.role === 'function') {
    const { content, name } = message;
    const callId = calls.generatedIds.get(name) ?? `call_${name}`;
    const text: TextBlock[] = content === null ? [] : [{ type: 'text', text: content, at: `${at}.content` }];
    return { role: 'tool', blocks: [{ type: 'tool-result', callId, name, content: text, at }] };
  }
  const { role, content, name } = message;
  return { role, blocks: decodeContent(content, `${at}.content`, true, dialect), name: name ?? undefined };
}

function readToolResult(
  message: Extract<Wire.Message, { role: 'tool' }>,
  at: string,
  { names }: EarlierCalls,
): Turn {
  const { tool_call_id: callId } = message;
  const name = message.name ?? undefined;
  const content = decodeResultContent(message.content, `${at}.content`);
  // Some clients repeat the tool's name here. As a participant's name, it would be reported as lost.
  const isToolName = name !== undefined && name === names.get(callId);
  const result = { type: 'tool-result', callId, content, at } as const;
  return isToolName
    ? { role: 'tool', blocks: [{ ...result, name }] }
    : { role: 'tool', blocks: [result], name };
}

function readAssistant(message: Wire.AssistantMessage, index: number): Turn {
  const at = `messages[${index}]`;
  const { content, images, refusal, tool_calls: calls, function_call: call, name } = message;
  const reasoning = readReasoning(message, at);
  const blocks: Block[] = [
    ...reasoning.blocks,
    ...decodeContent(content ?? [], `${at}.content`, false, dialect),
  ];
  const sealed = blocks.findLast((block) => block.type === 'text');
  if (sealed && reasoning.text?.length) sealed.opaque = [...reasoning.text];
  for (const [position, image] of images?.entries() ?? [])
    blocks.push({ ...decodeGeneratedImage(image), at: `${at}.images[${position}]` });
  if (typeof refusal === 'string') blocks.push({ type: 'refusal', text: refusal, at: `${at}.refusal` });
  for (const [position, each] of calls?.entries() ?? []) {
    const place = `${at}.tool_calls[${position}]`;
    blocks.push(
      Wire.isKnownCall(each)
        ? { ...decodeCall(each), at: place }
        : buildForeignBlock(protocolName, each, place, 'needed'),
    );
  }
  if (call) blocks.push(decodeFunctionCall(call, `call_${index}`, `${at}.function_call`));
  return { role: 'assistant', blocks, name: name ?? undefined };
}

export function encodeMessages(turns: readonly Turn[], encoding: Encoding): Fields[] {
  const { flags } = encoding;
  const accepted = turns.map((turn, index) => dropRefused(turn, index, encoding));
  const groups = groupSteps(moveResultsToCalls(makeCallIdsUnique(accepted)));
  const list = new MessageList(encoding);
  for (const steps of groups) list.add(steps, groups.length === 1);
  const finished = list.finish();
  const messages = flags.prefix ? markContinued(finished) : finished;
  const isMissing = flags.thinkingMode && !encoding.reasoningOff && lacksReasoning(messages);
  return isMissing ? fillReasoning(messages) : messages;
}

/** Encodes one turn: as a message, and further ones for results or media that need their own. */
export function encodeTurn(turn: Turn, index: number, encoding: Encoding): Fields[] {
  const list = new MessageList(encoding);
  list.add([[index, dropRefused(turn, index, encoding)]], true);
  return list.finish();
}

class MessageList {
  readonly #encoding: Encoding;
  readonly #messages: Fields[] = [];
  /** Media that the next user message shows. */
  #media: Fields[] = [];
  #files = 0;

  constructor(encoding: Encoding) {
    this.#encoding = encoding;
  }

  add(steps: Steps, isOnly: boolean): void {
    const encoding = this.#encoding;
    const [[, turn]] = steps;
    const text = findSoleText(turn);
    if (text) {
      this.#showMedia();
      this.#messages.push({ role: encodeRole(turn, encoding), content: text });
      return;
    }
    const placed = placeBlocks(steps);
    const others = this.#addResults(turn, placed);
    if (others.length === 0 && placed.length > 0) return;
    this.#showMedia();
    const isAssistant = turn.role === 'assistant';
    const message = isAssistant
      ? encodeAssistant(turn, insertBreaks(others), encoding)
      : encodeInput(turn, others, encoding);
    if (isAssistant) for (const part of encodeShown(others, encoding)) this.#media.push(part);
    // If every block of a turn was lost, it needs no message.
    if (isOnly || !isEmpty(message)) this.#messages.push(message);
  }

  finish(): Fields[] {
    this.#showMedia();
    return this.#messages;
  }

  /** Adds a message for each tool result. Returns the other blocks. */
  #addResults(turn: Turn, placed: readonly Placed[]): Placed[] {
    return placed.filter(({ block, path }) => {
      if (block.type !== 'tool-result') return true;
      const { message, media } = encodeResult(turn, { block, path }, this.#encoding, this.#files);
      this.#messages.push(message);
      for (const part of media) this.#media.push(part);
      this.#files += media.length / 2;
      return false;
    });
  }

  #showMedia(): void {
    if (this.#media.length > 0) this.#messages.push({ role: 'user', content: this.#media });
    this.#media = [];
  }
}

/** Removes fields that the provider refuses, and reports those with a value. Tool results keep their name. */
function dropRefused(turn: Turn, index: number, { model, flags, lose }: Encoding): Turn {
  if (Object.keys(flags.fields).length === 0) return turn;
  const named = turn.role !== 'tool' && turn.name !== undefined && refuses(model, 'name');
  if (named) lose(`turns[${index}].name`, 'the model does not accept it', 'model');
  const fields = Object.entries(bag.getFields(turn));
  const kept = fields.filter(([field, value]) => {
    if (!refuses(model, field)) return true;
    if (value !== null && !(Array.isArray(value) && value.length === 0))
      lose(`turns[${index}].${field}`, 'the model does not accept it', 'model');
    return false;
  });
  if (!named && kept.length === fields.length) return turn;
  return { ...turn, name: named ? undefined : turn.name, vendor: bag.keep(Object.fromEntries(kept)).vendor };
}

type Step = readonly [index: number, turn: Turn];
type Steps = readonly [Step, ...Step[]];

/** Groups turns that become one message: only results may follow calls, so later assistant turns join. */
function groupSteps(turns: readonly Step[]): Steps[] {
  const groups: [Step, ...Step[]][] = [];
  let calls = false;
  for (const step of turns) {
    const [, { role, blocks }] = step;
    const last = groups.at(-1);
    const joins: boolean = calls && role === 'assistant';
    if (last && joins) last.push(step);
    else groups.push([step]);
    calls = joins || (role === 'assistant' && blocks.some(({ type }) => type === 'tool-call'));
  }
  return groups;
}

function placeBlocks(steps: Steps): Placed[] {
  return steps.flatMap(([index, { blocks }]) =>
    blocks.map((block, position) => ({ block, path: `turns[${index}].blocks[${position}]` })),
  );
}

/** Returns the text of a turn that holds only text, as most turns of a long conversation do: a fast path. */
function findSoleText(turn: Turn): string | undefined {
  const { blocks, name, vendor } = turn;
  const [block] = blocks;
  if (blocks.length !== 1 || block?.type !== 'text' || name !== undefined || vendor) return undefined;
  return block.opaque || block.cache || block.vendor ? undefined : block.text;
}

function isEmpty({ content, tool_calls: calls, refusal, audio, images }: Fields): boolean {
  return (
    (content === '' || content === null) &&
    [calls, refusal, audio, images].every((field) => field === undefined)
  );
}

/** Returns a tool message and the media that follows it: for each file a line with its name, and the part. */
export function encodeResult(
  turn: Turn,
  { block: result, path }: Placed<ToolResult>,
  encoding: Encoding,
  files: number,
): { message: Fields; media: Fields[] } {
  const { texts, media } = encodeResultParts({ block: result, path }, encoding, files);
  if (result.isError) encoding.lose(`${path}.isError`, 'chat-completions cannot mark a failed tool result');
  const wire = {
    role: 'tool',
    tool_call_id: encodeCallId(result.callId, encoding),
    name: turn.name ?? (encoding.inPlace ? result.name : undefined),
    content: joinParts(texts, '\n\n') ?? '',
  };
  return { message: overlay(bag.getFields(turn), wire), media };
}

/** Encodes the parts of a result. `files` counts the media parts of earlier results. */
function encodeResultParts(
  { block: result, path }: Placed<ToolResult>,
  encoding: Encoding,
  files: number,
): { texts: Fields[]; media: Fields[] } {
  const texts: Fields[] = [];
  const media: Fields[] = [];
  for (const [position, block] of result.content.entries()) {
    const place = `${path}.content[${position}]`;
    const isForeign = block.type === 'foreign';
    const parts = isForeign
      ? encodeForeign(block, place, protocolName, encoding.lose)
      : encodeParts(block, place, encoding);
    for (const part of parts) {
      if (isForeign || part.type === 'text') {
        texts.push(part);
        continue;
      }
      const name = `file ${files + media.length / 2 + 1}`;
      texts.push({ type: 'text', text: `See ${name}.` });
      media.push({ type: 'text', text: `This is ${name}:` }, part);
    }
  }
  const mark = encodeMark(result, path, encoding);
  const isMarked = Object.keys(mark).length > 0;
  const last = isMarked ? texts.pop() : undefined;
  if (last) texts.push({ ...mark, ...last });
  else if (isMarked) encoding.lose(`${path}.cache`, 'an empty result cannot be marked');
  return { texts, media };
}

function encodeRole({ role }: Turn, { extras }: Encoding): string {
  // Most providers have no developer role; a system message is equivalent.
  if (role === 'developer') return extras ? 'developer' : 'system';
  return role === 'system' || role === 'assistant' ? role : 'user';
}

function encodeInput(turn: Turn, placed: readonly Placed[], encoding: Encoding): Fields {
  const instructs = turn.role === 'system' || turn.role === 'developer';
  const parts = placed.flatMap(({ block, path }): Fields[] => {
    if (isOwnForeign(block)) return [block.value];
    if (block.type !== 'text' && (block.type !== 'media' || instructs)) {
      encoding.lose(path, `a ${turn.role} message cannot hold it`);
      return [];
    }
    return encodeParts(block, path, encoding);
  });
  return overlay(bag.getFields(turn), {
    role: encodeRole(turn, encoding),
    name: turn.name,
    content: joinParts(parts, '\n\n') ?? '',
  });
}

/** The texts of a message are joined. Inserts a break between texts that reasoning or a call separated. */
function insertBreaks(placed: readonly Placed[]): Placed[] {
  let hasText = false;
  let isSeparated = false;
  return placed.map(({ block, path }) => {
    if (block.type !== 'text') isSeparated = hasText;
    if (block.type !== 'text' || block.text === '') return { block, path };
    const text = isSeparated ? `\n\n${block.text}` : block.text;
    [hasText, isSeparated] = [true, false];
    return { block: { ...block, text }, path };
  });
}

type Refusal = BlockOf<'refusal'>;

interface Draft {
  readonly content: Fields[];
  readonly reasoning: ReasoningBlock[];
  readonly calls: Fields[];
  readonly images: Fields[];
  readonly fields: Record<string, unknown>;
}

function encodeAssistant(turn: Turn, placed: readonly Placed[], encoding: Encoding): Fields {
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
      for (const value of encodeForeign(block, path, protocolName, encoding.lose))
        (isWholeCall(block) ? draft.calls : draft.content).push(value);
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

/**
 * Encodes reasoning as a part of the content, as Mistral does. Clients that were shown it as a field send it
 * back as one, with members that no part has.
 */
export function encodeThinking(block: ReasoningBlock): Fields {
  const part = { type: 'thinking', thinking: [{ type: 'text', text: block.text }] };
  return isInContent(block) ? overlay(bag.getFields(block), part) : part;
}

/** Whether a block holds an unknown value of this protocol, which is restored unchanged. */
function isOwnForeign(block: Block): block is BlockOf<'foreign'> {
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
function encodeShown(placed: readonly Placed[], encoding: Encoding): Fields[] {
  const media = placed.flatMap(({ block, path }) =>
    block.type === 'media' && !isGenerated(block, encoding) ? [{ block, path }] : [],
  );
  for (const { path } of media) encoding.lose(path, 'sent as if the user showed it', 'approximated');
  const parts = media.flatMap(({ block, path }) => encodeParts(block, path, encoding));
  return parts.length > 0 ? [{ type: 'text', text: 'What the assistant showed:' }, ...parts] : [];
}

/**
 * Whether reasoning can be sent to this model. Sealed state goes only to the vendor that sealed it. Unsealed
 * reasoning from another protocol is never sent, since its vendor is unknown.
 */
function isReplayable({ opaque = [] }: ReasoningBlock, { inPlace, owner }: Encoding): boolean {
  const fits = opaque.every(({ vendor }) => vendor === owner || vendor === '');
  return fits && (inPlace || opaque.some(({ vendor }) => vendor === owner));
}

/** Marks the last message if it is an answer to continue, as Mistral wants. */
function markContinued(messages: readonly Fields[]): Fields[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || last.tool_calls !== undefined) return [...messages];
  return [...messages.slice(0, -1), { ...last, prefix: true }];
}
