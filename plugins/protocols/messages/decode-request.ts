/**
 * Decodes a client's request to the canonical form: the system prompt as the first turn, then one turn for
 * each message, in order. Fields without a canonical name are kept.
 */
import type { HostedTool, CanonicalRequest, Tool, ToolChoice, Reasoning } from '../../../core/index.ts';
import {
  pickOwnFields,
  pickUnread,
  nestFields,
  type Fields,
  splitNames,
} from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { findBuiltIn } from './built-in-tools.ts';
import { decodeMark, readMarkLeftover } from './cache.ts';
import { decodeTurns } from './decode-messages.ts';
import * as Wire from './wire.ts';

/** Fields that become canonical. `collectLeftover` keeps the rest of those that are objects. */
const readFields = splitNames(`
  model messages system max_tokens stream temperature top_p top_k stop_sequences tools tool_choice
  thinking output_config metadata service_tier
`);

/** Whether the client sent the format under its name from the beta. */
function writesOlderFormat({ output_config: output, output_format: older }: Wire.Request): boolean {
  return !output?.format && older ? Wire.isSchemaFormat(older) : false;
}

export function decodeRequest(wire: Wire.Request, text: string): CanonicalRequest {
  const thinking = decodeThinking(wire);
  const tools = wire.tools?.map((tool, index): Tool => ({ ...decodeTool(tool), at: `tools[${index}]` }));
  const isOlder = writesOlderFormat(wire);
  const format = isOlder ? wire.output_format : wire.output_config?.format;
  const { tool_choice: choice } = wire;
  const rest = {
    ...pickOwnFields(wire, isOlder ? new Set([...readFields, Wire.olderFormat]) : readFields),
    ...collectLeftover(wire),
    ...thinking.rest,
    ...(choice && !isKnown(choice) ? { tool_choice: choice } : {}),
  };
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: decodeTurns(wire, text),
    tools,
    toolChoice: isKnown(choice) ? decodeChoice(choice) : undefined,
    parallelToolCalls: isKnown(choice) ? readParallel(choice) : undefined,
    outputLimit: wire.max_tokens ?? undefined,
    temperature: wire.temperature ?? undefined,
    topP: wire.top_p ?? undefined,
    topK: wire.top_k ?? undefined,
    stop: wire.stop_sequences ?? undefined,
    format:
      format && Wire.isSchemaFormat(format)
        ? { type: 'schema', schema: format.schema, ...bag.keep(pickUnread(format, ['type', 'schema'])) }
        : undefined,
    reasoning: thinking.value,
    user: wire.metadata?.user_id ?? undefined,
    serviceTier: wire.service_tier ? (tiers.get(wire.service_tier) ?? wire.service_tier) : undefined,
    names: isOlder ? { ...thinking.names, format: Wire.olderFormat } : thinking.names,
    ...bag.keep(rest),
  };
}

const tiers = new Map([
  ['auto', 'auto'],
  ['standard_only', 'default'],
]);

function collectLeftover(wire: Wire.Request): Fields {
  // An effort together with disabled thinking has a meaning only in this protocol.
  const effort = wire.thinking?.type === 'disabled' ? [] : ['effort'];
  const format = wire.output_config?.format;
  const read = !format || Wire.isSchemaFormat(format) ? ['format', ...effort] : effort;
  return {
    ...nestFields('metadata', pickUnread(wire.metadata ?? {}, ['user_id'])),
    ...nestFields('output_config', pickUnread(wire.output_config ?? {}, read)),
  };
}

const displays: ReadonlyMap<string, NonNullable<Reasoning['display']>> = new Map([
  ['summarized', 'summary'],
  ['omitted', 'none'],
]);
const unshown = new Set(['type', 'budget_tokens']);
const thinkingFields = new Set([...unshown, 'display']);

/** `thinking` enables reasoning, `output_config.effort` sets its depth; a client may send only one. */
function decodeThinking({ thinking, output_config: output }: Wire.Request): {
  readonly value: Reasoning | undefined;
  readonly rest: Fields;
  /** Two fields hold the reasoning. If the client sent only one, losses of both are reported by its name. */
  readonly names?: Record<string, string>;
} {
  const effort = output?.effort ?? undefined;
  const depth = effort === undefined ? undefined : { effort };
  if (!thinking)
    return { value: depth, rest: {}, ...(depth && { names: { reasoning: 'output_config.effort' } }) };
  if (!Wire.isKnownThinking(thinking)) return { value: depth, rest: { thinking } };
  const shown = thinking.type === 'disabled' ? undefined : thinking.display;
  const display = shown ? displays.get(shown) : undefined;
  const rest = nestFields('thinking', pickUnread(thinking, display === undefined ? unshown : thinkingFields));
  if (thinking.type === 'disabled')
    return { value: { effort: 'none' }, rest, names: { 'reasoning.effort': 'thinking' } };
  const budget = thinking.type === 'enabled' ? thinking.budget_tokens : undefined;
  return { value: { effort, budget, display }, rest };
}

export function isSearch({ type }: { readonly type?: unknown }): boolean {
  return String(type).startsWith('web_search_');
}

function readHostedKind(tool: Wire.Tool): HostedTool['kind'] {
  if (isSearch(tool)) return 'web-search';
  return tool.type?.startsWith('code_execution_') ? 'code-execution' : 'other';
}

function decodeTool(tool: Wire.Tool): Tool {
  if (!Wire.isFunctionTool(tool)) {
    const { name } = tool;
    const defined = name ? findBuiltIn(tool.type) : undefined;
    if (name && defined)
      return {
        type: 'function',
        name,
        ...defined,
        ...decodeMark(tool),
        ...bag.keep({ ...pickUnread(tool, ['name', 'cache_control']), ...readMarkLeftover(tool) }),
      };
    return { type: 'hosted', protocol: protocolName, kind: readHostedKind(tool), value: tool };
  }
  const rest = {
    ...pickUnread(tool, ['type', 'name', 'description', 'input_schema', 'strict', 'cache_control']),
    ...readMarkLeftover(tool),
  };
  return {
    type: 'function',
    name: tool.name,
    description: tool.description ?? undefined,
    schema: tool.input_schema,
    strict: tool.strict ?? undefined,
    ...decodeMark(tool),
    ...bag.keep(rest),
  };
}

const modes = { auto: 'auto', any: 'required', tool: 'one', none: 'none' } as const;

function isKnown(choice: Wire.ToolChoice | null | undefined): choice is Wire.KnownChoice {
  return choice !== undefined && choice !== null && Wire.isKnownChoice(choice);
}

function decodeChoice(choice: Wire.KnownChoice): ToolChoice {
  return {
    mode: modes[choice.type],
    names: choice.type === 'tool' ? [choice.name] : undefined,
    ...bag.keep(pickUnread(choice, ['type', 'name', 'disable_parallel_tool_use'])),
  };
}

function readParallel(choice: Wire.KnownChoice): boolean | undefined {
  if (choice.type === 'none' || typeof choice.disable_parallel_tool_use !== 'boolean') return undefined;
  return !choice.disable_parallel_tool_use;
}
