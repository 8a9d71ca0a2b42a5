/**
 * Reads a client's request: checks its version, its schema and rules that span fields, and collects the facts
 * that routing and billing need. Writes parts of it again that a plugin changed, or a provider would refuse.
 */
import {
  type Fee,
  type InputSize,
  GatewayError,
  type ClientHeaders,
  type Match,
  type PartsSide,
} from '../../../core/index.ts';
import { writesBriefly } from '../../shared/wire-kit/cache-writes.ts';
import { containsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { refuse } from '../../shared/wire-kit/losses.ts';
import { MediaMeter } from '../../shared/wire-kit/media-meter.ts';
import { readRequestedModes } from '../../shared/wire-kit/modes.ts';
import { buildChoiceError } from '../../shared/wire-kit/offered-tools.ts';
import { readPreferences, refuseOtherModels } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels, type CallFacts } from '../../shared/wire-kit/read-call.ts';
import { readMember, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { findUnbilledSystem } from './claude-code.ts';
import { encodeBlock } from './content.ts';
import { fitCallId, nativeVendor, createEncoding } from './encoding.ts';
import { containsCrossedSearch } from './reply-facts.ts';
import { encodeMessage, decodeRequest } from './request.ts';
import { beginsWithThoughts, fitThinking } from './thinking.ts';
import { isSearch } from './tools.ts';
import * as Wire from './wire.ts';

interface OfferedTool {
  readonly tool: Fields;
  readonly at: string;
}

function listOfferedTools({ tools, messages }: Wire.Request): OfferedTool[] {
  const offered = (tools ?? []).map((tool, index): OfferedTool => ({ tool, at: `tools[${index}]` }));
  for (const [index, { content }] of messages.entries())
    for (const [position, block] of Wire.listBlocks(content).entries())
      if (block.type === 'tool_addition' || block.type === 'compaction')
        for (const added of listAddedTools(block, `messages[${index}].content[${position}]`))
          offered.push(added);
  return offered;
}

/** Returns the tool that a block defines, or the tools that a summary of the conversation kept. */
function listAddedTools(block: Fields, at: string): OfferedTool[] {
  if (block.type === 'compaction')
    return readObjects(block.tool_changes).flatMap((change, index) =>
      listAddedTools({ ...change, type: 'tool_addition' }, `${at}.tool_changes[${index}]`),
    );
  const tool = readMember(block.tool, 'definition');
  return isObject(tool) ? [{ tool, at: `${at}.tool.definition` }] : [];
}

/** Returns the fee of a tool. Code execution has none: an organisation has free hours. */
function readFees({ tool, at }: OfferedTool): Fee[] {
  // Anthropic runs code without a fee; other providers open a container for it.
  if (String(tool.type).startsWith('code_execution'))
    return [{ name: 'container', field: `${at}.type`, most: 1, spared: true }];
  if (!isSearch(tool)) return [];
  const { max_uses: uses } = tool;
  return [{ name: 'webSearch', field: `${at}.type`, most: typeof uses === 'number' ? uses : Infinity }];
}

/** Types of tools that read only the request, or whose input is limited elsewhere. */
const boundedTool =
  /^(bash|text_editor|memory|computer|code_execution|web_search|tool_search_tool|mcp_toolset)/;

/** Whether a tool may add any amount of input. The gateway then reserves the cost of a full context. */
function readsUnbounded(tool: Wire.Tool): boolean {
  return !Wire.isFunctionTool(tool) && !boundedTool.test(tool.type);
}

/** A cache mark, or an escape that may hide one. */
const cacheMark = /"cache_control"|\\u/;

/** Types of tools that the client runs; Anthropic runs all others. */
const clientTool = /^(custom$|bash_|text_editor_|memory_|computer_|browser_)/;

/** The most tokens with which Anthropic explains tools to the model, and each of its own that clients run. */
const tokensOfTools = 500;
const tokensOfOwnTool = 4000;

/** What tools add: their explanations, and how often Anthropic rereads the conversation to use its own. */
function measureTools(offered: readonly OfferedTool[]): { readonly added: number; readonly rounds: number } {
  let [added, rounds] = [0, 0];
  for (const { tool } of offered) {
    const { max_uses: uses } = tool;
    const type = String(tool.type ?? 'custom');
    if (!clientTool.test(type)) rounds += typeof uses === 'number' ? Math.max(0, uses) : Infinity;
    else added = Math.max(added, tokensOfTools) + (type === 'custom' ? 0 : tokensOfOwnTool);
  }
  return { added, rounds };
}

function hasEntries(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Computes an upper bound of the input. Base64 media is counted as media, not as text. */
function measureInput(wire: Wire.Request, text: string, offered: readonly OfferedTool[]): InputSize {
  const { messages, tools, mcp_servers: servers, context_management: management } = wire;
  const edits = readObjects(readMember(management, 'edits'));
  // To compact a conversation, Anthropic reads it once more.
  const compactions = edits.some(({ type }) => String(type).startsWith('compact')) ? 1 : 0;
  const { added, rounds } = measureTools(offered);
  const meter = new MediaMeter();
  meter.fetched = hasEntries(servers) || (tools?.some(readsUnbounded) ?? false);
  const count = (block: Wire.Block | Wire.ResultContent): void => {
    if (!Wire.isKnownBlock(block)) {
      meter.fetched ||= !Wire.isVendorState(block.type);
      return;
    }
    for (const inner of listInnerBlocks(block)) count(inner);
    if (block.type !== 'image' && block.type !== 'document') return;
    const base64 = Wire.isKnownMedia(block) && block.source.type === 'base64' ? block.source.data : '';
    meter.fetched ||=
      !Wire.isKnownMedia(block) ||
      (block.type === 'document' && (block.source.type === 'url' || block.source.type === 'file'));
    if (block.type === 'image') meter.addImage(base64.length);
    else meter.addFile(base64);
  };
  for (const { content } of messages) for (const block of Wire.listBlocks(content)) count(block);
  return {
    ...meter.measure(text),
    added: added || undefined,
    rounds: (hasEntries(servers) ? Infinity : rounds + compactions) || undefined,
    uncached: !cacheMark.test(text),
    brief: writesBriefly(text),
  };
}

const nothing: readonly Wire.ResultContent[] = [];

/** Returns the blocks inside a tool result, or inside a document made of parts. */
function listInnerBlocks(block: Wire.KnownBlock): readonly Wire.ResultContent[] {
  const { type } = block;
  if (type === 'tool_result') return Array.isArray(block.content) ? block.content : nothing;
  const isComposed = type === 'document' && Wire.isKnownMedia(block) && block.source.type === 'content';
  return isComposed && Array.isArray(block.source.content) ? block.source.content : nothing;
}

export class MessagesCall extends ReadCall {
  /** Whether the body has the gateway's own field `provider`, which must not be sent upstream. */
  readonly namesProvider: boolean;
  readonly isCount: boolean;
  /** The client's thinking budget in tokens. */
  readonly budget: number | undefined;
  /** The system prompt for vendors other than Anthropic, if it differs. */
  readonly unbilled: { readonly value: unknown } | undefined;
  readonly #text: string;

  constructor(wire: Wire.Request, text: string, isCount: boolean, offered: readonly OfferedTool[]) {
    super(readFacts(wire, text, isCount, offered), () => decodeRequest(wire, text));
    this.isCount = isCount;
    this.budget = readBudget(wire);
    this.namesProvider = wire.provider !== undefined;
    this.unbilled = findUnbilledSystem(wire);
    this.#text = text;
  }

  /** The requested cache lifetime: one hour only if all marks request it. */
  get lifetime(): '5m' | '1h' {
    const marks = this.#text.match(/"cache_control"\s*:\s*\{/g)?.length ?? 0;
    const hours = this.#text.match(/"ttl"\s*:\s*"1h"/g)?.length ?? 0;
    return marks > 0 && hours >= marks ? '1h' : '5m';
  }
}

function readFacts(
  wire: Wire.Request,
  text: string,
  isCount: boolean,
  offered: readonly OfferedTool[],
): CallFacts {
  const { messages, thinking, output_config: output, service_tier, speed, inference_geo } = wire;
  return {
    model: wire.model,
    stream: !isCount && (wire.stream ?? false),
    outputLimit: isCount ? undefined : (wire.max_tokens ?? undefined),
    candidates: 1,
    effort: thinking?.type === 'disabled' ? 'none' : (output?.effort ?? readBudget(wire)),
    // Without it the answer is the first block. Some providers need it back between tool calls.
    reasoningWanted: offered.length > 0 || Boolean(thinking && thinking.type !== 'disabled'),
    framing: 'events',
    // This protocol always reports the usage.
    usageWanted: true,
    size: measureInput(wire, text, offered),
    fees: offered.flatMap(readFees),
    modes: readRequestedModes({ service_tier, speed, inference_geo }),
    preferences: readPreferences(wire.provider),
    carriesState:
      containsEnvelope(text) ||
      containsCrossedSearch(text) ||
      // Another model may have begun a tool loop without reasoning.
      (thinking?.type === 'enabled' && !beginsWithThoughts(messages)) ||
      messages.some((message, index) => {
        // Another model's answer may be blank. Anthropic refuses that except as the last message.
        const isBlank = message.role === 'assistant' && index + 1 < messages.length && holdsBlank(message);
        return isBlank || hasUnsignedThoughts(message);
      }),
    labels: readLabels({ user: wire.metadata?.user_id }),
  };
}

function readBudget({ thinking }: Wire.Request): number | undefined {
  return thinking && Wire.isKnownThinking(thinking) && thinking.type === 'enabled'
    ? thinking.budget_tokens
    : undefined;
}

/** Whether no provider takes a message as it is: it has state of another vendor, or none where it must. */
function isStale(message: Wire.Message, isLast: boolean): boolean {
  const text = JSON.stringify(message);
  return (
    containsEnvelope(text) ||
    containsCrossedSearch(text) ||
    hasUnsignedThoughts(message) ||
    holdsStrangeId(message) ||
    (holdsBlank(message) && !(message.role === 'assistant' && isLast))
  );
}

/** Whether there is reasoning from a model that does not sign it. Anthropic refuses it. */
function hasUnsignedThoughts({ content }: Wire.Message): boolean {
  return Wire.listBlocks(content).some(
    (block) => Wire.isKnownBlock(block) && block.type === 'thinking' && !block.signature,
  );
}

function holdsStrangeId({ content }: Wire.Message): boolean {
  return Wire.listBlocks(content).some(({ id, tool_use_id: use }) =>
    [id, use].some((each) => typeof each === 'string' && fitCallId(each) !== each),
  );
}

/** A message without content is not blank: it sets the effort from there on. */
function holdsBlank({ content }: Wire.Message): boolean {
  if (typeof content !== 'object') return content?.trim() === '';
  return content.length === 0 || content.some(isBlankText);
}

function isBlankText(block: Wire.Block): boolean {
  return Wire.isKnownBlock(block) && block.type === 'text' && block.text.trim() === '';
}

/** Throws `invalid_request` or `unsupported_parameter`, with the name of the field or header. */
export function readRequest(body: unknown, text: string, match: Match, headers: ClientHeaders): MessagesCall {
  checkVersion(headers);
  const isCount = match.operation === 'count';
  const wire = checkWire(isCount ? Wire.count : Wire.request, body);
  checkContents(wire);
  checkStateless(wire);
  if (wire.fallbacks !== undefined && wire.fallbacks !== null) refuseOtherModels('fallbacks');
  const offered = listOfferedTools(wire);
  refuseAdvisors(offered);
  const usesBetas = headers[betaHeader] !== undefined;
  checkCombinations(wire, usesBetas);
  return new MessagesCall(wire, text, isCount, offered);
}

/** Throws for a message without content, unless it sets the effort from there on. */
function checkContents({ messages }: Wire.Request): void {
  const empty = messages.findIndex(
    ({ role, content, output_config: settings }) =>
      content === undefined &&
      !(role === 'system' && isObject(settings) && Object.values(settings).some((value) => value !== null)),
  );
  if (empty >= 0) throw buildFieldError(`messages[${empty}].content`, 'is missing', Wire.contentKinds);
}

/** The error code that makes the SDK's tool runner resend its thread as a whole conversation. */
const noThreads = 'thread_unsupported_request';

function checkStateless({ thread }: Wire.Request): void {
  if (thread === undefined || thread === null) return;
  throw new GatewayError(
    'unsupported_parameter',
    '"thread" needs stored conversations, and the gateway stores none: leave it out, and send the entire ' +
      'conversation as "messages".',
    { param: 'thread', vendor: { code: noThreads } },
  );
}

/** Refuses tools with which the vendor would call other models, at their own prices. */
function refuseAdvisors(offered: readonly OfferedTool[]): void {
  const advisor = offered.find(({ tool }) => String(tool.type).startsWith('advisor_'));
  if (!advisor) return;
  const param = `${advisor.at}.type`;
  refuse(param, `"${param}" calls a second model, which this call has no price for: leave the tool out.`);
}

export const versions: ReadonlySet<string> = new Set(['2023-06-01', '2026-10-21']);
export const versionHeader = 'anthropic-version';
export const neutralVersionHeader = 'partner-version';
export const betaHeader = 'anthropic-beta';

/** Returns the protocol version that a client sends, in either header. */
export function readVersion(headers: ClientHeaders): string | undefined {
  const version = headers[versionHeader] ?? headers[neutralVersionHeader];
  return version === undefined ? undefined : String(version);
}

function checkVersion(headers: ClientHeaders): void {
  const version = readVersion(headers);
  const isNeutral = headers[versionHeader] === undefined && version !== undefined;
  const param = isNeutral ? neutralVersionHeader : versionHeader;
  if (version !== undefined && versions.has(version)) return;
  const problem = version === undefined ? 'is missing' : `is "${version.slice(0, 40)}"`;
  const known = [...versions].join(' or ');
  throw new GatewayError('invalid_request', `The header "${param}" ${problem}: send ${known}.`, { param });
}

function checkCombinations(wire: Wire.Request, usesBetas: boolean): void {
  const { max_tokens: limit, tools, tool_choice: choice } = wire;
  const budget = readBudget(wire);
  // With a beta, the budget covers an entire loop of tool calls, and may exceed one reply.
  if (budget !== undefined && limit !== undefined && limit !== null && budget >= limit && !usesBetas) {
    const is = `is ${budget}, and "max_tokens" is ${limit}`;
    throw buildFieldError('thinking.budget_tokens', is, 'fewer tokens of thinking than "max_tokens"');
  }
  if ((choice?.type === 'any' || choice?.type === 'tool') && !tools?.length) {
    throw buildChoiceError(choice.type);
  }
  // A tool set of the vendor contains tools whose names the request does not hold.
  if (
    choice?.type === 'tool' &&
    tools?.every(Wire.isFunctionTool) &&
    !tools.some(({ name }) => name === choice.name)
  ) {
    throw buildFieldError(
      'tool_choice.name',
      `is "${String(choice.name)}", which is not in "tools"`,
      'the name of one of them',
    );
  }
}

export const parts: PartsSide = {
  list: 'messages',
  liftsInstructions: true,
  start({ text, request, model, lose }) {
    const { messages } = checkWire(Wire.count, JSON.parse(text));
    const encoding = createEncoding(request, { model, lose, inPlace: true });
    return {
      isStale(index) {
        const message = messages[index];
        return message !== undefined && isStale(message, index + 1 === messages.length);
      },
      readsState: ({ vendor }) => vendor === encoding.owner || vendor === nativeVendor,
      encodeTurn(turn, index) {
        const path = `turns[${index}]`;
        for (const [position, block] of turn.blocks.entries())
          if (block.type === 'text' && block.text.trim() === '')
            lose(`${path}.blocks[${position}]`, 'the provider refuses a blank text');
        return encodeMessage(turn, path, encoding);
      },
      encodeBlock: (block, { path }) => encodeBlock(block, path, encoding),
      finish: (body) => fitThinking(body, lose),
    };
  },
};
