/** Measures a request's input and its fees, to reserve their cost before the call. */
import type { Fee, InputSize } from '../../../core/index.ts';
import { writesBriefly } from '../../shared/wire-kit/cache-writes.ts';
import { MediaMeter } from '../../shared/wire-kit/media-meter.ts';
import { readMember, readObjects } from '../../shared/wire-kit/values.ts';
import { isSearch } from './decode-request.ts';
import type { OfferedTool } from './offered-tools.ts';
import * as Wire from './wire.ts';

/** Returns the fee of a tool. Code execution has none: an organisation has free hours. */
export function readFees({ tool, at }: OfferedTool): Fee[] {
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

/** Counts how often Anthropic rereads the conversation: after each use of its tools, and to compact it. */
function countRounds(
  { mcp_servers: servers, context_management: management }: Wire.Request,
  offered: readonly OfferedTool[],
): number {
  let rounds = hasEntries(servers) ? Infinity : 0;
  for (const { tool } of offered) {
    const { type, max_uses: uses } = tool;
    if (typeof type !== 'string' || clientTool.test(type)) continue;
    rounds += typeof uses === 'number' ? Math.max(0, uses) : Infinity;
  }
  const edits = readObjects(readMember(management, 'edits'));
  return rounds + (edits.some(({ type }) => String(type).startsWith('compact')) ? 1 : 0);
}

/** The most tokens with which Anthropic explains tools to the model, and each of its own that clients run. */
const tokensOfTools = 500;
const tokensOfOwnTool = 4000;

/** Without tools that Anthropic runs: the bound of their uses covers them. */
function countToolTokens(offered: readonly OfferedTool[]): number {
  let tokens = 0;
  for (const { tool } of offered) {
    const type = String(tool.type ?? 'custom');
    if (!clientTool.test(type)) continue;
    tokens = Math.max(tokens, tokensOfTools) + (type === 'custom' ? 0 : tokensOfOwnTool);
  }
  return tokens;
}

function hasEntries(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Computes an upper bound of the input. Base64 media is counted as media, not as text. */
export function measureInput(wire: Wire.Request, text: string, offered: readonly OfferedTool[]): InputSize {
  const { messages, tools, mcp_servers: servers } = wire;
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
  for (const { content } of messages)
    if (typeof content === 'object') for (const block of content) count(block);
  return {
    ...meter.measure(text),
    added: countToolTokens(offered) || undefined,
    rounds: countRounds(wire, offered) || undefined,
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
