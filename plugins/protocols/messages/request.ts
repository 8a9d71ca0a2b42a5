/**
 * A request in both directions: settings, system prompt and messages. Fields without a canonical name are
 * kept, and what this protocol cannot express is reported as lost, by its canonical path. To Anthropic,
 * consecutive turns of one role become one message with tool results first: it requires all results in the
 * message right after their calls.
 */
import type { Block, Turn, CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import {
  isInstruction,
  makeCallIdsUnique,
  markInstruction,
  moveResultsToCalls,
  type PlacedTurn,
} from '../../shared/wire-kit/calls-and-results.ts';
import { fitLimit, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { offerTools, placeTools } from '../../shared/wire-kit/hosted-tools.ts';
import { refuseEmpty, collectLosses } from '../../shared/wire-kit/losses.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import { buildLost, refused, Settings, textOnly, type Fit } from '../../shared/wire-kit/settings.ts';
import { parseLongNumbers } from '../../shared/wire-kit/tool-arguments.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import {
  pickUnread,
  type Fields,
  overlay,
  trackReads,
  type Tracked,
} from '../../shared/wire-kit/vendor-bag.ts';
import { omitBilling } from './claude-code.ts';
import { decodeBlocks, decodeOther, keepForeign, encodeBlock } from './content.ts';
import { bag, UnsealedBlocks, protocolName, type Encoding, readFlags, createEncoding } from './encoding.ts';
import { isCrossedBlock, removeCrossedCitations } from './reply-facts.ts';
import { decodeAnswer, encodeFormat, encodeThinking } from './thinking.ts';
import { decodeTools, encodeTools } from './tools.ts';
import * as Wire from './wire.ts';

/** Decodes all turns. Numbers in a tool's input that a double cannot hold are read from the text instead. */
function decodeTurns({ system, messages }: Wire.Request, text: string): Turn[] {
  const inputs = messages.flatMap(({ content }) => Wire.listBlocks(content).map(({ input }) => input));
  const exact = readMember(parseLongNumbers(text, inputs), 'messages');
  const turns = messages.map((message, index) =>
    decodeMessage(message, `messages[${index}]`, readMember(exact, index)),
  );
  if (system === undefined || system === null) return turns;
  const blocks = decodeContent(system, 'system', undefined, true).flatMap(decodeInstruction);
  return [{ role: 'system', blocks, at: 'system' }, ...turns];
}

/** Leaves out the text by which Anthropic bills Claude Code. No model reads it. */
function decodeInstruction(block: Block): Block[] {
  if (block.type !== 'text') return [block];
  const text = omitBilling(block.text);
  if (text === block.text) return [block];
  return text === undefined ? [] : [{ ...block, text }];
}

const roles = ['user', 'assistant', 'system'] as const;

function decodeMessage(message: Wire.Message, at: string, exact: unknown): Turn {
  const role = findKnown(message.role, roles);
  const { content } = message;
  if (role === undefined) return { role: 'user', blocks: [keepForeign(message, `${at}.role`, true)], at };
  if (content === undefined)
    return { role, blocks: [keepForeign(message, `${at}.output_config`, false)], at };
  const blocks = decodeContent(content, `${at}.content`, readMember(exact, 'content'), role !== 'assistant');
  return { role, blocks, at, ...bag.keep(pickUnread(message, ['role', 'content'])) };
}

/** `fromUser`: the model did not write the content. */
function decodeContent(content: Wire.Content, at: string, exact: unknown, fromUser: boolean): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  const unsealed = new UnsealedBlocks();
  for (const [index, block] of content.entries()) {
    const place = `${at}[${index}]`;
    if (isCrossedBlock(block)) continue;
    if (!Wire.isKnownBlock(block)) unsealed.add(decodeOther(block, place, fromUser));
    else if (block.type !== 'redacted_thinking' || !unsealed.open(block.data, place))
      for (const each of decodeBlocks(removeCrossedCitations(block), place, readMember(exact, index)))
        unsealed.add(each);
  }
  return unsealed.blocks;
}

interface Message extends Fields {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: Fields[];
}

/** Encodes the blocks of a turn as content. A system prompt is text only. */
function encodeContent(turn: Turn, path: string, encoding: Encoding): Fields[] {
  return turn.blocks.flatMap((block, position) => {
    const place = `${path}.blocks[${position}]`;
    const content = encodeBlock(block, place, encoding);
    if (!isInstruction(turn)) return content;
    const texts = content.filter(({ type }) => type === 'text');
    if (texts.length < content.length) encoding.lose(place, 'a system prompt is text only');
    return texts;
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

/** Marks system text in a user's message. */
const markText = (text: unknown): Fields => ({ type: 'text', text: markInstruction(text) });

function toUserText(content: readonly Fields[], path: string, { lose }: Encoding): Fields[] {
  lose(
    `${path}.role`,
    'the model accepts no system text within a conversation; sent as a marked user message',
    'approximated',
  );
  return content.map((block) => (block.type === 'text' ? { ...block, ...markText(block.text) } : block));
}

const media: ReadonlySet<unknown> = new Set(['image', 'document']);

/** The system prompt and the messages, as Anthropic requires their order. */
class Conversation {
  readonly system: Fields[] = [];
  readonly messages: Message[] = [];
  readonly #turns: readonly PlacedTurn[];
  readonly #encoding: Encoding;
  /** Later instructions, with the paths of their turns. */
  readonly #waiting: (readonly [content: readonly Fields[], path: string])[] = [];

  constructor(turns: readonly PlacedTurn[], encoding: Encoding) {
    this.#encoding = encoding;
    this.#turns = turns;
    for (const [index, turn] of turns) this.#add(turn, `turns[${index}]`);
    this.#addInstructions();
    this.#beginWithUser();
    this.#endWithUser();
    this.#trimLast();
    for (const [index, { role, content }] of this.messages.entries())
      if (role === 'user') this.messages[index] = { role, content: moveResultsFirst(content) };
  }

  #add(turn: Turn, path: string): void {
    const content = encodeContent(turn, path, this.#encoding);
    if (content.length === 0) return;
    if (!isInstruction(turn)) {
      if (turn.role === 'assistant') this.#addAnswer(turn, path, content);
      else this.#append('user', content);
    } else if (this.messages.length === 0) for (const block of content) this.system.push(block);
    else if (readFlags(this.#encoding.model.capabilities).midSystem) this.#waiting.push([content, path]);
    else this.#append('user', toUserText(content, path, this.#encoding));
  }

  #append(role: Message['role'], content: readonly Fields[]): void {
    const last = this.messages.at(-1);
    if (last?.role !== role) this.messages.push({ role, content: [...content] });
    else for (const block of content) last.content.push(block);
  }

  /** An assistant's message cannot hold media here, so a user message shows it. */
  #addAnswer({ blocks }: Turn, path: string, content: readonly Fields[]): void {
    this.#addInstructions();
    const shown = content.filter(({ type }) => media.has(type));
    const others = content.filter(({ type }) => !media.has(type));
    if (others.length > 0) this.#append('assistant', others);
    if (shown.length === 0) return;
    for (const [position, { type }] of blocks.entries())
      if (type === 'media')
        this.#encoding.lose(`${path}.blocks[${position}]`, 'sent as if the user showed it', 'approximated');
    this.#append('user', [{ type: 'text', text: 'What the assistant showed:' }, ...shown]);
  }

  /**
   * Adds later instructions before an answer, or at the end. Anthropic accepts them only there, and only
   * after a user message; without one they become the user's.
   */
  #addInstructions(): void {
    for (const [content, path] of this.#waiting.splice(0)) {
      if (this.messages.at(-1)?.role !== 'assistant') this.#append('system', content);
      else this.#append('user', toUserText(content, path, this.#encoding));
    }
  }

  #loseForm(turn: number, reason: string, member = ''): void {
    this.#encoding.lose(`turns[${turn}]${member}`, reason, 'approximated');
  }

  /** Anthropic requires a user message first. Turns the last instruction into one, or adds one. */
  #beginWithUser(): void {
    const [first] = this.messages;
    if (!first) {
      const turns = this.#turns.map(([, turn]) => turn);
      this.#append('user', [this.system.pop() ?? refuseEmpty(turns, protocolName)]);
      this.#loseForm(turns.length - 1, 'sent as a user message, since the provider requires one', '.role');
    } else if (first.role === 'assistant') {
      const start = markText('The conversation begins with the assistant.');
      this.messages.unshift({ role: 'user', content: [start] });
      const [index = 0] = this.#turns.find(([, { role }]) => role === 'assistant') ?? [];
      this.#loseForm(index, 'follows a marked user message, since the provider requires one first');
    }
  }

  /**
   * Ends the conversation with a user message. Newer models refuse to continue an answer. Older ones would
   * continue an answer if only an empty user text followed it.
   */
  #endWithUser(): void {
    const spoken = this.messages.findLast(({ role }) => role !== 'system');
    const last = this.#turns.length - 1;
    const isBegun = this.#turns.some(([index, { role }]) => index === last && role === 'assistant');
    if (isBegun && readFlags(this.#encoding.model.capabilities).prefill) return;
    if (spoken?.role !== 'assistant' || spoken.content.some(({ type }) => type === 'tool_use')) return;
    this.#append('user', [markText('Go on from where the assistant stopped.')]);
    const reason = isBegun ? 'the model does not continue an answer' : 'the provider requires one last';
    this.#loseForm(last, `followed by a marked user message, since ${reason}`);
  }

  /** Trims an answer that the model is to continue: Anthropic refuses white space at its end. */
  #trimLast(): void {
    const { role, content = [] } = this.messages.at(-1) ?? {};
    const block = content.at(-1);
    if (role !== 'assistant' || block?.type !== 'text') return;
    const text = String(block.text).trimEnd();
    if (text === block.text) return;
    content.splice(-1, 1, { ...block, text });
    this.#loseForm(this.#turns.length - 1, 'sent without the white space at its end');
  }
}

function moveResultsFirst(content: readonly Fields[]): Fields[] {
  return [
    ...content.filter(({ type }) => type === 'tool_result'),
    ...content.filter(({ type }) => type !== 'tool_result'),
  ];
}

/** Adds what asks for a call or a format in words. A single text without a mark is sent as a text. */
function encodeSystem(
  blocks: readonly Fields[],
  call: string | undefined,
  instruction: string | undefined,
): unknown {
  const added = [call, instruction].filter((text) => text !== undefined);
  const isPlain = blocks.length < 2 && blocks.every(({ cache_control: mark }) => mark === undefined);
  if (!isPlain) return [...blocks, ...added.map((text) => ({ type: 'text', text }))];
  const texts = [...blocks.map(({ text }) => text), ...added];
  return texts.length > 0 ? texts.join('\n\n') : undefined;
}

interface Circumstances extends Encoding {
  readonly thinks: boolean;
}

/** A sampling parameter. Some models take none, and some fit only some values while they think. */
function buildSampling(
  field: 'temperature' | 'top_p' | 'top_k',
  fitsThinking: (value: number) => boolean,
  fit: (value: number, sent: Fields) => Fit,
) {
  return {
    field,
    decode: ({ seen }: Tracked<Wire.Request>) => seen[field],
    fit: (value: number, { model, thinks }: Circumstances, sent: Fields): Fit => {
      if (!model.capabilities.sampling || !listsParameter(model, field)) return refused;
      if (thinks && !fitsThinking(value)) return [undefined, 'not allowed together with thinking'];
      return fit(value, sent);
    },
  };
}

const longestUser = 256;
/** The lowest top_p that Anthropic accepts together with thinking. */
const leastThinkingTopP = 0.95;

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

export const settings = new Settings<Tracked<Wire.Request>, Circumstances>({
  outputLimit: { field: 'max_tokens', decode: ({ seen }) => seen.max_tokens },
  tools: {},
  toolChoice: { field: 'tool_choice' },
  parallelToolCalls: { field: 'tool_choice.disable_parallel_tool_use' },
  reasoning: { field: 'thinking' },
  format: { field: 'output_config.format' },
  stop: {
    field: 'stop_sequences',
    decode: ({ seen }) => seen.stop_sequences,
    fit: (stop) => [stop.every(isBlank) ? undefined : stop.filter((text) => !isBlank(text))],
  },
  temperature: buildSampling(
    'temperature',
    (value) => value === 1,
    (value) => (value > 1 ? [1, 'sent as 1, the maximum', 'approximated'] : [value]),
  ),
  topP: buildSampling(
    'top_p',
    (value) => value >= leastThinkingTopP,
    (value, sent) =>
      sent.temperature === undefined
        ? [value]
        : [undefined, 'the model accepts a temperature or this, not both', 'model'],
  ),
  topK: buildSampling(
    'top_k',
    () => false,
    (value) =>
      Number.isInteger(value) ? [value] : [Math.round(value), 'sent as a whole number', 'approximated'],
  ),
  user: {
    field: 'metadata.user_id',
    decode: ({ open }) => open('metadata')?.seen.user_id,
    fit: (user) =>
      user.length <= longestUser ? [user] : [undefined, `messages accepts at most ${longestUser} characters`],
  },
  serviceTier: {
    field: 'service_tier',
    decode: ({ seen: { service_tier: tier } }) => (tier === 'standard_only' ? 'default' : tier || undefined),
    fit: (tier) => [wireTiers.get(tier), wireTiers.has(tier) ? undefined : 'messages has no such tier'],
  },
  modalities: textOnly,
  candidates: buildLost(protocolName, (count) => count > 1),
  frequencyPenalty: buildLost(protocolName),
  presencePenalty: buildLost(protocolName),
  seed: buildLost(protocolName, () => true),
  logprobs: buildLost(protocolName),
  verbosity: buildLost(protocolName),
  metadata: buildLost(protocolName, (fields) => Object.keys(fields).length > 0),
  cacheKey: buildLost(protocolName),
  image: buildLost(protocolName, (image) => Object.keys(image).length > 0),
});

export function decodeRequest(wire: Wire.Request, text: string): CanonicalRequest {
  const body = trackReads(wire);
  const { model, stream, provider: _preferences } = body.seen;
  const request: CanonicalRequest = {
    model,
    stream: stream ?? false,
    turns: decodeTurns(body.seen, text),
    ...decodeAnswer(body),
    ...decodeTools(body),
    ...settings.decode(body),
  };
  return { ...request, ...bag.keep(body.pickRest()) };
}

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  granted: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const encoding = createEncoding(request, { model, lose, inPlace });
  // This protocol requires an output limit. Zero is allowed here: it only fills the cache.
  const limit = fitLimit(granted ?? request.outputLimit, model, { lose, least: 0 }) ?? model.outputLimit;
  const turns = moveResultsToCalls(makeCallIdsUnique(request.turns));
  for (const [index, { name }] of turns)
    if (name !== undefined) lose(`turns[${index}].name`, 'messages has no names for participants');
  const offered = request.tools && offerTools(request, protocolName, encoding, placeTools(request.tools));
  const { system, messages } = new Conversation(turns, encoding);
  const { tools, choice, instruction: call } = encodeTools(request, offered, encoding);
  const forced = choice?.type === 'any' || choice?.type === 'tool';
  const { thinking, effort } = encodeThinking(request, { limit, messages, forced }, encoding);
  const { format, instruction, expects } = encodeFormat(request, encoding);
  const thinks = thinking !== undefined && thinking.type !== 'disabled';
  const prompt = encodeSystem(system, call, instruction);
  const { metadata, service_tier, ...others } = settings.encode(request, { ...encoding, thinks });
  const limited = new Set(
    tools?.some((tool) => tool.max_uses !== undefined) ? [encoding.callLimit.field] : [],
  );
  return {
    body: overlay(bag.getFields(request), {
      model: model.upstream,
      max_tokens: limit,
      system: prompt,
      messages,
      stream: request.stream || undefined,
      tools,
      tool_choice: choice,
      thinking,
      ...others,
      output_config: effort === undefined && format === undefined ? undefined : { effort, format },
      metadata,
      service_tier,
    }),
    losses: [...losses, ...listForeignFields(request, protocolName, limited)],
    stops: (request.stop ?? []).filter(isBlank),
    expects,
  };
}
