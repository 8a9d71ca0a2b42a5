/**
 * Reads a client's request: the version it speaks, its shape by the wire schema, then what takes two fields to see,
 * then the facts the gateway decides by. The canonical form is made when first asked for, since most calls go on
 * verbatim.
 */
import { GatewayError } from '../../../core/index.ts';
import type {
  CanonicalRequest,
  ClientCall,
  ClientHeaders,
  Fee,
  InputSize,
  Match,
  Mode,
  Preferences,
} from '../../../core/index.ts';
import { holdsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { askedModes } from '../../shared/wire-kit/modes.ts';
import { preferencesOf, refuseOtherModels } from '../../shared/wire-kit/provider-object.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { badField, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { decodeRequest, isSearch } from './decode-request.ts';
import {
  countWire,
  isFunctionTool,
  isKnownBlock,
  isKnownMedia,
  isKnownThinking,
  isVendorState,
  requestWire,
} from './wire.ts';
import type { WireBlock, WireRequest, WireResultContent, WireKnownBlock, WireTool } from './wire.ts';

/** A call that came in this protocol; `instanceof` tells the upstream side that no foreign request was made to fit. */
export class MessagesCall implements ClientCall {
  readonly model: string;
  readonly stream: boolean;
  readonly outputLimit: number | undefined;
  readonly size: InputSize;
  readonly fees: readonly Fee[];
  readonly carriesState: boolean;
  readonly candidates = 1;
  readonly effort: string | number | undefined;
  /** This wire always tells the usage. */
  readonly usageWanted = true;
  readonly framing = 'events';
  readonly preferences: Preferences;
  /** Whether the body holds a `provider` object, which no vendor is to see. */
  readonly namesProvider: boolean;
  readonly isCount: boolean;
  readonly modes: readonly Mode[];
  /** Tokens of thinking the client asked for in so many words: always fewer than the output limit. */
  readonly budget: number | undefined;
  readonly #wire: WireRequest;
  readonly #text: string;
  #request: CanonicalRequest | undefined;

  constructor(wire: WireRequest, text: string, isCount: boolean) {
    this.model = wire.model;
    this.isCount = isCount;
    this.stream = !isCount && (wire.stream ?? false);
    this.outputLimit = isCount ? undefined : (wire.max_tokens ?? undefined);
    this.budget = budgetOf(wire);
    this.effort = wire.thinking?.type === 'disabled' ? 'none' : (wire.output_config?.effort ?? this.budget);
    this.preferences = preferencesOf(wire.provider);
    this.namesProvider = wire.provider !== undefined;
    this.size = sizeOf(wire, text);
    this.modes = askedModes({
      service_tier: wire.service_tier,
      speed: wire.speed,
      inference_geo: wire.inference_geo,
    });
    this.fees = wire.tools?.flatMap(feesOf) ?? [];
    this.carriesState =
      holdsEnvelope(text) || hasUnsignedThoughts(wire) || isThoughtlessLoop(wire) || hasBlankAnswers(wire);
    this.#wire = wire;
    this.#text = text;
  }

  /** For how long the call asks its vendor to cache: for an hour where all its marks say so. */
  get lifetime(): '5m' | '1h' {
    const marks = this.#text.match(/"cache_control"\s*:\s*\{/g)?.length ?? 0;
    const hours = this.#text.match(/"ttl"\s*:\s*"1h"/g)?.length ?? 0;
    return marks > 0 && hours >= marks ? '1h' : '5m';
  }

  decode(): CanonicalRequest {
    this.#request ??= decodeRequest(this.#wire, this.#text);
    return this.#request;
  }
}

function budgetOf({ thinking }: WireRequest): number | undefined {
  return thinking && isKnownThinking(thinking) && thinking.type === 'enabled'
    ? thinking.budget_tokens
    : undefined;
}

/** Thoughts of a model that seals none were shown to the client; Anthropic refuses to be given them. */
function hasUnsignedThoughts({ messages }: WireRequest): boolean {
  return messages.some(({ content }) => typeof content !== 'string' && content.some(isUnsigned));
}

/** A loop of tool calls that another model began, which gave no thoughts: with thinking switched on the vendor refuses it. */
function isThoughtlessLoop({ messages, thinking }: WireRequest): boolean {
  if (thinking?.type !== 'enabled') return false;
  const last = messages.at(-1)?.content;
  const inLoop = Array.isArray(last) && last.some(({ type }) => type === 'tool_result');
  const answered = inLoop ? messages.findLast(({ role }) => role === 'assistant')?.content : undefined;
  const first = Array.isArray(answered) ? answered[0] : undefined;
  return first !== undefined && first.type !== 'thinking' && first.type !== 'redacted_thinking';
}

/** Answers of other models that say nothing, or a text of mere space; Anthropic refuses to be given them, unless it is to go on with one. */
function hasBlankAnswers({ messages }: WireRequest): boolean {
  return messages
    .slice(0, -1)
    .some(
      ({ role, content }) =>
        role === 'assistant' &&
        (typeof content === 'string' ? content.trim() === '' : content.length === 0 || content.some(isBlank)),
    );
}

function isBlank(block: WireBlock): boolean {
  return isKnownBlock(block) && block.type === 'text' && block.text.trim() === '';
}

function isUnsigned(block: WireBlock): boolean {
  return isKnownBlock(block) && block.type === 'thinking' && !block.signature;
}

/** Throws `invalid_request` naming the field, or the header, at fault. */
export function readRequest(body: unknown, text: string, match: Match, headers: ClientHeaders): MessagesCall {
  checkVersion(headers);
  const isCount = match.operation === 'count';
  const wire = checkWire(isCount ? countWire : requestWire, body);
  checkStateless(wire);
  checkAlone(wire);
  const usesBetas = headers[betaHeader] !== undefined;
  checkTogether(wire, usesBetas);
  return new MessagesCall(wire, text, isCount);
}

/** The code by which the vendor's own tool runner, which begins with a thread, knows to send the whole conversation instead. */
const noThreads = 'thread_unsupported_request';

function checkStateless({ thread }: WireRequest): void {
  if (thread === undefined || thread === null) return;
  throw new GatewayError(
    'unsupported_parameter',
    '"thread" needs a service that keeps conversations, and the gateway is stateless: send the whole conversation without it.',
    { param: 'thread', vendor: { code: noThreads } },
  );
}

/** What lets the vendor answer by other models than the one asked for, at prices of theirs. */
function checkAlone({ fallbacks, tools }: WireRequest): void {
  if (fallbacks !== undefined && fallbacks !== null) refuseOtherModels('fallbacks');
  const advisor = tools?.findIndex((tool) => tool.type?.startsWith('advisor_')) ?? -1;
  if (advisor < 0) return;
  const param = `tools[${advisor}].type`;
  throw new GatewayError(
    'unsupported_parameter',
    `"${param}" asks a second model, which the call is not priced by: leave the tool out.`,
    { param },
  );
}

export const versions: ReadonlySet<string> = new Set(['2023-06-01', '2026-10-21']);
export const versionHeader = 'anthropic-version';
export const neutralVersionHeader = 'partner-version';
export const betaHeader = 'anthropic-beta';

export function versionOf(headers: ClientHeaders): string | undefined {
  const version = headers[versionHeader] ?? headers[neutralVersionHeader];
  return version === undefined ? undefined : String(version);
}

function checkVersion(headers: ClientHeaders): void {
  const version = versionOf(headers);
  if (version !== undefined && versions.has(version)) return;
  const told = version === undefined ? 'is missing' : `is "${version.slice(0, 40)}"`;
  const known = [...versions].join(' or ');
  throw new GatewayError('invalid_request', `The header "${versionHeader}" ${told}: send ${known}.`, {
    param: versionHeader,
  });
}

function checkTogether(wire: WireRequest, usesBetas: boolean): void {
  const { max_tokens: limit, tools, tool_choice: choice } = wire;
  const budget = budgetOf(wire);
  // With a beta the budget is for a whole loop of tool calls and may be larger than one reply.
  if (budget !== undefined && limit !== undefined && limit !== null && budget >= limit && !usesBetas) {
    const is = `is ${budget}, and "max_tokens" is ${limit}`;
    throw badField('thinking.budget_tokens', is, 'fewer tokens of thinking than "max_tokens"');
  }
  if ((choice?.type === 'any' || choice?.type === 'tool') && !tools?.length) {
    throw badField(
      'tool_choice',
      `is "${choice.type}" without any tools`,
      '"tools" with it, or leave it out',
    );
  }
  // A set of the vendor's tools holds tools by names of their own.
  if (
    choice?.type === 'tool' &&
    tools?.every(isFunctionTool) &&
    !tools.some(({ name }) => name === choice.name)
  ) {
    throw badField(
      'tool_choice.name',
      `is "${String(choice.name)}", which is not in "tools"`,
      'the name of one of them',
    );
  }
}

/** Code is run for nothing within hours that are an organisation's own. */
function feesOf(tool: WireTool, place: number): Fee[] {
  if (!isSearch(tool)) return [];
  const uses: unknown = 'max_uses' in tool ? tool.max_uses : undefined;
  return [
    { name: 'webSearch', field: `tools[${place}].type`, most: typeof uses === 'number' ? uses : Infinity },
  ];
}

/** Types of tools that read nothing but what they are sent, or whose reading is bounded elsewhere. */
const boundedTool =
  /^(bash|text_editor|memory|computer|code_execution|web_search|tool_search_tool|mcp_toolset)/;

/** Whether nobody here knows what a tool makes the vendor read: then the whole context is reserved for. */
function readsUnbounded(tool: WireTool): boolean {
  return !isFunctionTool(tool) && !boundedTool.test(tool.type);
}

/** A cache mark; a name written with an escape may be one. */
const cacheMark = /"cache_control"|\\u/;

/** Types of tools that the client runs; Anthropic runs all others. */
const clientTool = /^(custom$|bash_|text_editor_|memory_|computer_|browser_)/;

/** How often Anthropic may read the conversation again: after each use of a tool that it runs, and once to compact it. */
function roundsOf({ tools, mcp_servers: servers, context_management: management }: WireRequest): number {
  let rounds = hasEntries(servers) ? Infinity : 0;
  for (const tool of tools ?? []) {
    if (isFunctionTool(tool) || clientTool.test(tool.type)) continue;
    const uses: unknown = 'max_uses' in tool ? tool.max_uses : undefined;
    rounds += typeof uses === 'number' ? Math.max(0, uses) : Infinity;
  }
  const edits: unknown[] = isObject(management) && Array.isArray(management.edits) ? management.edits : [];
  return rounds + (edits.some((edit) => isObject(edit) && String(edit.type).startsWith('compact')) ? 1 : 0);
}

function hasEntries(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Bounds the input from above: media is counted apart from the text it is written in. */
function sizeOf(wire: WireRequest, text: string): InputSize {
  const { messages, tools, mcp_servers: servers } = wire;
  let images = 0;
  let mediaBytes = 0;
  let base64 = 0;
  let fetched = hasEntries(servers) || (tools?.some(readsUnbounded) ?? false);
  const count = (block: WireBlock | WireResultContent): void => {
    if (!isKnownBlock(block)) {
      fetched ||= !isVendorState(block.type);
      return;
    }
    for (const inner of insideOf(block)) count(inner);
    if (block.type !== 'image' && block.type !== 'document') return;
    const length = isKnownMedia(block) && block.source.type === 'base64' ? block.source.data.length : 0;
    fetched ||=
      !isKnownMedia(block) ||
      (block.type === 'document' && (block.source.type === 'url' || block.source.type === 'file'));
    base64 += length;
    if (block.type === 'image') images += 1;
    else mediaBytes += Math.floor((length * 3) / 4);
  };
  for (const { content } of messages)
    if (typeof content !== 'string') for (const block of content) count(block);
  return {
    textBytes: Buffer.byteLength(text) - base64,
    images,
    mediaBytes,
    fetched: fetched || undefined,
    rounds: roundsOf(wire) || undefined,
    uncached: !cacheMark.test(text),
  };
}

const nothing: readonly WireResultContent[] = [];

/** The blocks inside the result of a tool, and inside a document made of parts. */
function insideOf(block: WireKnownBlock): readonly WireResultContent[] {
  const inside =
    block.type === 'tool_result'
      ? block.content
      : block.type === 'document' && block.source.type === 'content'
        ? block.source.content
        : undefined;
  return Array.isArray(inside) ? inside : nothing;
}
