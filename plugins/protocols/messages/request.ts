/**
 * A request in both directions: settings, system prompt and messages. Fields without a canonical name are
 * kept, and what this protocol cannot express is reported as lost, by its canonical path. To Anthropic,
 * consecutive turns of one role become one message with tool results first: it requires all results in the
 * message right after their calls.
 */
import {
  parseExactly,
  type Block,
  type Turn,
  type CanonicalRequest,
  type EncodedRequest,
  type Model,
} from '../../../core/index.ts';
import { makeCallIdsUnique, moveResultsToCalls } from '../../shared/wire-kit/calls-and-results.ts';
import { fitLimit, fitModalities, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { callLimit } from '../../shared/wire-kit/hosted-tools.ts';
import { refuseEmpty, collectLosses } from '../../shared/wire-kit/losses.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import { containsNumber, hasLongNumber } from '../../shared/wire-kit/tool-arguments.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import {
  pickUnread,
  type Fields,
  overlay,
  nestFields,
  trackReads,
} from '../../shared/wire-kit/vendor-bag.ts';
import { decodeBlocks, decodeSummary, keepForeign, encodeBlock } from './content.ts';
import { bag, UnsealedBlocks, protocolName, type Encoding, readFlags, createEncoding } from './encoding.ts';
import { isCrossedBlock, removeCrossedCitations } from './reply-facts.ts';
import { decodeAnswer, encodeFormat, encodeThinking } from './thinking.ts';
import { decodeTools, encodeTools } from './tools.ts';
import * as Wire from './wire.ts';

/** Decodes all turns. Numbers in a tool's input that a double cannot hold are read from the text instead. */
function decodeTurns({ system, messages }: Wire.Request, text: string): Turn[] {
  const counts = messages.some(
    ({ content }) =>
      typeof content === 'object' &&
      content.some(
        (block) => Wire.isKnownBlock(block) && block.type === 'tool_use' && containsNumber(block.input),
      ),
  );
  const exact = counts && hasLongNumber(text) ? readMember(parseExactly(text), 'messages') : undefined;
  const turns = messages.map((message, index) =>
    decodeMessage(message, `messages[${index}]`, readMember(exact, index)),
  );
  if (system === undefined || system === null) return turns;
  return [
    {
      role: 'system',
      blocks: decodeContent(system, 'system', undefined, true),
      at: 'system',
    },
    ...turns,
  ];
}

const roles = ['user', 'assistant', 'system'] as const;

function decodeMessage(message: Wire.Message, at: string, exact: unknown): Turn {
  const role = findKnown(message.role, roles);
  const { content } = message;
  if (role === undefined || content === undefined) {
    const foreign =
      role === undefined
        ? keepForeign(message, `${at}.role`, true)
        : keepForeign(message, `${at}.output_config`, false);
    return { role: role ?? 'user', blocks: [foreign], at };
  }
  const exactContent = readMember(exact, 'content');
  const blocks = decodeContent(content, `${at}.content`, exactContent, role !== 'assistant');
  return { role, blocks, at, ...bag.keep(pickUnread(message, ['role', 'content'])) };
}

/** `fromUser`: the model did not write the content. */
function decodeContent(content: Wire.Content, at: string, exact: unknown, fromUser: boolean): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  const unsealed = new UnsealedBlocks();
  for (const [index, block] of content.entries()) {
    const place = `${at}[${index}]`;
    if (Wire.isKnownBlock(block) && block.type === 'redacted_thinking' && unsealed.open(block.data, place))
      continue;
    if (isCrossedBlock(block)) continue;
    if (!Wire.isKnownBlock(block)) unsealed.add(decodeOther(block, place, fromUser));
    else
      for (const each of decodeBlocks(removeCrossedCitations(block), place, readMember(exact, index)))
        unsealed.add(each);
  }
  return unsealed.blocks;
}

function decodeOther(block: Fields, at: string, fromUser: boolean): Block {
  const summary = decodeSummary(block);
  return summary ? { ...summary, at } : keepForeign(block, at, fromUser);
}

interface Conversation {
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

function encodeConversation(given: readonly Turn[], encoding: Encoding): Conversation {
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

const canonicalTiers: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['standard_only', 'default'],
]);

export function decodeRequest(wire: Wire.Request, text: string): CanonicalRequest {
  const [seen, pickRest] = trackReads(wire);
  const [{ user_id: user }, pickMetadata] = trackReads(seen.metadata ?? {});
  const { provider: _preferences, service_tier: tier } = seen;
  const answer = decodeAnswer(seen);
  const { rest: choiceRest, ...tools } = decodeTools(seen);
  return {
    model: seen.model,
    stream: seen.stream ?? false,
    turns: decodeTurns(seen, text),
    ...tools,
    outputLimit: seen.max_tokens ?? undefined,
    temperature: seen.temperature ?? undefined,
    topP: seen.top_p ?? undefined,
    topK: seen.top_k ?? undefined,
    stop: seen.stop_sequences ?? undefined,
    format: answer.format,
    reasoning: answer.reasoning,
    user: user ?? undefined,
    serviceTier: tier ? (canonicalTiers.get(tier) ?? tier) : undefined,
    names: answer.names,
    ...bag.keep({ ...pickRest(), ...nestFields('metadata', pickMetadata()), ...answer.rest, ...choiceRest }),
  };
}

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const encoding = createEncoding(request, model, lose, inPlace);
  const limit = fitOutputLimit(request, outputLimit, encoding);
  const { system, messages } = encodeConversation(request.turns, encoding);
  const { tools, choice, instruction: callInstruction } = encodeTools(request, encoding);
  const forced = choice?.type === 'any' || choice?.type === 'tool';
  const { thinking, effort } = encodeThinking(request, { limit, messages, forced }, encoding);
  const { format, instruction, expects } = encodeFormat(request, encoding);
  const thinks = thinking !== undefined && thinking.type !== 'disabled';
  const body = overlay(bag.getFields(request), {
    model: model.upstream,
    max_tokens: limit,
    system: addInstruction(addInstruction(system, callInstruction), instruction),
    messages,
    stream: request.stream || undefined,
    tools,
    tool_choice: choice,
    thinking,
    ...encodeSampling(request, thinks, encoding),
    output_config: effort === undefined && format === undefined ? undefined : { effort, format },
    ...encodeUserAndTier(request, encoding),
  });
  loseOthers(request, encoding);
  const limited = new Set(tools?.some((tool) => tool.max_uses !== undefined) ? [callLimit] : []);
  return {
    body,
    losses: [...losses, ...listForeignFields(request, protocolName, limited)],
    stops: (request.stop ?? []).filter(isBlank),
    expects,
  };
}

/** This protocol requires an output limit. The default is the model's own. */
function fitOutputLimit(request: CanonicalRequest, granted: number | undefined, encoding: Encoding): number {
  // Zero is allowed here: it only fills the cache.
  return (
    fitLimit(granted ?? request.outputLimit, encoding.model, { lose: encoding.lose, least: 0 }) ??
    encoding.model.outputLimit
  );
}

function addInstruction(
  system: Conversation['system'],
  instruction: string | undefined,
): Conversation['system'] {
  if (instruction === undefined || system === undefined) return instruction ?? system;
  return typeof system === 'string'
    ? `${system}\n\n${instruction}`
    : [...system, { type: 'text', text: instruction }];
}

function takesField(model: Model, field: string): boolean {
  return model.capabilities.sampling && listsParameter(model, field);
}

const highestTemperature = 1;
/** The lowest top_p that Anthropic accepts together with thinking. */
const leastThinkingTopP = 0.95;

function encodeSampling(request: CanonicalRequest, thinks: boolean, { model, lose }: Encoding): Fields {
  const { temperature, topP, topK } = request;
  const rows = [
    ['temperature', 'temperature', temperature, thinks && temperature !== highestTemperature],
    ['topP', 'top_p', topP, thinks && (topP ?? 1) < leastThinkingTopP],
    ['topK', 'top_k', topK === undefined ? undefined : Math.round(topK), thinks],
  ] as const;
  const stop = request.stop?.filter((text) => !isBlank(text));
  const fields: Record<string, unknown> = { stop_sequences: stop?.length ? stop : undefined };
  for (const [path, field, value, disturbs] of rows) {
    if (value === undefined) continue;
    if (!takesField(model, field)) lose(path, 'the model does not accept it', 'model');
    else if (disturbs) lose(path, 'not allowed together with thinking');
    else if (path === 'topP' && fields.temperature !== undefined)
      lose(path, 'the model accepts a temperature or this, not both', 'model');
    else fields[field] = value;
  }
  if (topK !== undefined && !Number.isInteger(topK) && fields.top_k !== undefined)
    lose('topK', 'sent as a whole number', 'approximated');
  if (temperature !== undefined && temperature > highestTemperature && fields.temperature !== undefined) {
    fields.temperature = highestTemperature;
    lose('temperature', `sent as ${highestTemperature}, the maximum`, 'approximated');
  }
  return fields;
}

/** Anthropic refuses blank stop sequences, so the gateway itself watches the reply for them. */
function isBlank(text: string): boolean {
  return text.trim() === '';
}

const wireTiers: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['priority', 'auto'],
  ['default', 'standard_only'],
  ['standard', 'standard_only'],
]);

const longestUser = 256;

function encodeUserAndTier({ user, serviceTier }: CanonicalRequest, { lose }: Encoding): Fields {
  const fits = user !== undefined && user.length <= longestUser;
  if (user !== undefined && !fits) lose('user', `messages accepts at most ${longestUser} characters`);
  const tier = serviceTier === undefined ? undefined : wireTiers.get(serviceTier);
  if (serviceTier !== undefined && tier === undefined) lose('serviceTier', 'messages has no such tier');
  return { ...(fits ? { metadata: { user_id: user } } : {}), service_tier: tier };
}

const textOnly: Pick<Model, 'output'> = { output: ['text'] };

function loseOthers(request: CanonicalRequest, { lose }: Encoding): void {
  fitModalities(request, textOnly, { lose });
  const rows = [
    ['candidates', request.candidates !== undefined && request.candidates > 1],
    ['frequencyPenalty', request.frequencyPenalty],
    ['presencePenalty', request.presencePenalty],
    ['seed', request.seed !== undefined],
    ['logprobs', request.logprobs],
    ['verbosity', request.verbosity],
    ['metadata', request.metadata && Object.keys(request.metadata).length > 0],
    ['cacheKey', request.cacheKey],
  ] as const;
  for (const [path, present] of rows) if (present) lose(path, 'messages has no such field');
}
