/**
 * Encodes canonical turns as the system prompt and messages. Consecutive turns of one role become one message
 * with tool results first, because Anthropic requires all results in the message right after their calls.
 */
import type { Turn } from '../../../core/index.ts';
import { makeCallIdsUnique, moveResultsToCalls } from '../../shared/wire-kit/calls-and-results.ts';
import { refuseEmpty } from '../../shared/wire-kit/losses.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { encodeBlock } from './encode-blocks.ts';
import { type Encoding, readFlags } from './encoding.ts';

export interface Conversation {
  readonly system: string | readonly Fields[] | undefined;
  readonly messages: readonly Fields[];
}

interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: Fields[];
}

/** Encodes the blocks of a turn as content. A system prompt is text only. */
function encodeContent(turn: Turn, path: string, encoding: Encoding): Fields[] {
  return turn.blocks.flatMap((block, position) => {
    const place = `${path}.blocks[${position}]`;
    const content = encodeBlock(block, place, encoding);
    return isInstruction(turn) ? keepTexts(content, place, encoding) : content;
  });
}

/** Encodes a turn as a message of its own, or as none if nothing of it is left. */
export function encodeMessage(turn: Turn, path: string, encoding: Encoding): Fields[] {
  const content = encodeContent(turn, path, encoding);
  if (content.length === 0) return [];
  const fields = bag.getFields(turn);
  if (!isInstruction(turn))
    return [overlay(fields, { role: turn.role === 'assistant' ? 'assistant' : 'user', content })];
  return readFlags(encoding.model.capabilities).midSystem
    ? [overlay(fields, { role: 'system', content })]
    : [overlay(fields, { role: 'user', content: toUserText(content, path, encoding) })];
}

export function encodeConversation(given: readonly Turn[], encoding: Encoding): Conversation {
  const turns = makeCallIdsUnique(given);
  const system: Fields[] = [];
  const messages: Message[] = [];
  const waiting: Instruction[] = [];
  const { midSystem } = readFlags(encoding.model.capabilities);
  for (const [index, turn] of moveResultsToCalls(turns)) {
    if (turn.name !== undefined)
      encoding.lose(`turns[${index}].name`, 'messages has no names for participants');
    const content = encodeContent(turn, `turns[${index}]`, encoding);
    if (content.length === 0) continue;
    if (isInstruction(turn)) {
      if (messages.length === 0) for (const block of content) system.push(block);
      else if (midSystem) waiting.push({ content, index });
      else appendContent(messages, 'user', toUserText(content, `turns[${index}]`, encoding));
    } else if (turn.role === 'assistant') {
      addInstructions(messages, waiting.splice(0), encoding);
      addAnswer(messages, content, [index, turn], encoding);
    } else appendContent(messages, 'user', content);
  }
  addInstructions(messages, waiting, encoding);
  beginWithUser(messages, system, turns, encoding);
  endWithUser(messages, turns, encoding);
  trimLast(messages, turns.length - 1, encoding);
  const plain = system.length === 1 && system.every((block) => block.cache_control === undefined);
  const ordered = messages.map(({ role, content }) => ({
    role,
    content: role === 'user' ? moveResultsFirst(content) : content,
  }));
  return { system: encodeSystem(system, plain), messages: ordered };
}

/** Anthropic requires a user message first. Turns the last instruction into one, or adds one. */
function beginWithUser(
  messages: Message[],
  system: Fields[],
  turns: readonly Turn[],
  { lose }: Encoding,
): void {
  if (messages.length === 0) {
    const last = system.pop() ?? refuseEmpty(turns, protocolName);
    messages.push({ role: 'user', content: [last] });
    lose(
      `turns[${turns.length - 1}].role`,
      'sent as a user message, since the provider requires one',
      'approximated',
    );
  } else if (messages[0]?.role === 'assistant') {
    messages.unshift({
      role: 'user',
      content: [{ type: 'text', text: `${opening}The conversation begins with the assistant.${closing}` }],
    });
    lose(
      `turns[${turns.findIndex(({ role }) => role === 'assistant')}]`,
      'follows a marked user message, since the provider requires one first',
      'approximated',
    );
  }
}

/**
 * Ends the conversation with a user message. Newer models refuse to continue an answer. Older ones would
 * continue an answer if only an empty user text followed it.
 */
function endWithUser(messages: Message[], turns: readonly Turn[], { model, lose }: Encoding): void {
  const spoken = messages.findLast(({ role }) => role !== 'system');
  const last = turns.length - 1;
  const isBegun = turns[last]?.role === 'assistant';
  if (
    (readFlags(model.capabilities).prefill && isBegun) ||
    spoken?.role !== 'assistant' ||
    spoken.content.some(({ type }) => type === 'tool_use')
  )
    return;
  appendContent(messages, 'user', [
    { type: 'text', text: `${opening}Go on from where the assistant stopped.${closing}` },
  ]);
  const reason = isBegun
    ? 'followed by a marked user message, since the model does not continue an answer'
    : 'followed by a marked user message, since the provider requires one last';
  lose(`turns[${last}]`, reason, 'approximated');
}

/** Trims an answer that the model is to continue: Anthropic refuses white space at its end. */
function trimLast(messages: readonly Message[], last: number, { lose }: Encoding): void {
  const { role, content = [] } = messages.at(-1) ?? {};
  const block = content.at(-1);
  if (role !== 'assistant' || block?.type !== 'text') return;
  const text = String(block.text);
  if (text.trimEnd() === text) return;
  content.splice(-1, 1, { ...block, text: text.trimEnd() });
  lose(`turns[${last}]`, 'sent without the white space at its end', 'approximated');
}

function isInstruction({ role }: Turn): boolean {
  return role === 'system' || role === 'developer';
}

function encodeSystem(blocks: readonly Fields[], plain: boolean): Conversation['system'] {
  const [only] = blocks;
  if (!only) return undefined;
  return plain && typeof only.text === 'string' ? only.text : blocks;
}

function keepTexts(content: readonly Fields[], path: string, { lose }: Encoding): Fields[] {
  const texts = content.filter(({ type }) => type === 'text');
  if (texts.length < content.length) lose(path, 'a system prompt is text only');
  return texts;
}

const media: ReadonlySet<unknown> = new Set(['image', 'document']);

/** An assistant's message cannot hold media here, so a user message shows it. */
function addAnswer(
  messages: Message[],
  content: readonly Fields[],
  [index, { blocks }]: readonly [number, Turn],
  { lose }: Encoding,
): void {
  const shown = content.filter(({ type }) => media.has(type));
  const others = content.filter(({ type }) => !media.has(type));
  if (others.length > 0) appendContent(messages, 'assistant', others);
  if (shown.length === 0) return;
  for (const [position, { type }] of blocks.entries())
    if (type === 'media')
      lose(`turns[${index}].blocks[${position}]`, 'sent as if the user showed it', 'approximated');
  appendContent(messages, 'user', [{ type: 'text', text: 'What the assistant showed:' }, ...shown]);
}

interface Instruction {
  readonly content: readonly Fields[];
  /** Of its turn. */
  readonly index: number;
}

/**
 * Adds later instructions before an answer, or at the end. Anthropic accepts them only there, and only after
 * a user message; without one they become the user's.
 */
function addInstructions(
  messages: Message[],
  instructions: readonly Instruction[],
  encoding: Encoding,
): void {
  for (const { content, index } of instructions) {
    if (messages.at(-1)?.role === 'assistant')
      appendContent(messages, 'user', toUserText(content, `turns[${index}]`, encoding));
    else appendContent(messages, 'system', content);
  }
}

/** Marks system text in a user's message. */
const opening = '<system>\n';
const closing = '\n</system>';

function toUserText(content: readonly Fields[], path: string, { lose }: Encoding): Fields[] {
  lose(
    `${path}.role`,
    'the model accepts no system text within a conversation; sent as a marked user message',
    'approximated',
  );
  return content.map((block) =>
    block.type === 'text' ? { ...block, text: opening + String(block.text) + closing } : block,
  );
}

function appendContent(messages: Message[], role: Message['role'], content: readonly Fields[]): void {
  const last = messages.at(-1);
  if (last?.role !== role) messages.push({ role, content: [...content] });
  else for (const block of content) last.content.push(block);
}

function moveResultsFirst(content: readonly Fields[]): Fields[] {
  return [
    ...content.filter(({ type }) => type === 'tool_result'),
    ...content.filter(({ type }) => type !== 'tool_result'),
  ];
}
