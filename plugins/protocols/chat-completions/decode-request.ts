/**
 * Turns a client's request into the canonical form: one turn for each message, in order. Fields without a
 * canonical name are kept.
 */
import type { CanonicalRequest, Format } from '../../../core/index.ts';
import {
  splitNames,
  pickOwnFields,
  pickUnread,
  nestFields,
  type Fields,
} from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { decodeMessages } from './decode-messages.ts';
import { decodeToolChoice, decodeTools, readChoiceLeftover } from './decode-tools.ts';
import * as Wire from './wire.ts';

/** Fields that are read, those in the last line only in part: `collectLeftover` keeps the rest. */
const readFields = splitNames(`
  model messages stream tools parallel_tool_calls max_tokens max_completion_tokens n temperature top_p top_k
  frequency_penalty presence_penalty seed stop logprobs top_logprobs verbosity reasoning_effort modalities
  user metadata service_tier prompt_cache_key web_search_options
  stream_options tool_choice response_format functions function_call reasoning safety_identifier
`);

export function decodeRequest(wire: Wire.Request, text: string): CanonicalRequest {
  const reasoning = decodeReasoning(wire);
  const user = wire.user ?? wire.safety_identifier ?? undefined;
  const tools = decodeTools(wire);
  const { turns, marked } = decodeMessages(wire.messages);
  const rest = { ...pickOwnFields(wire, readFields), ...collectLeftover(wire), ...reasoning.rest };
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    turns,
    tools,
    toolChoice: decodeToolChoice(wire),
    parallelToolCalls: wire.parallel_tool_calls ?? undefined,
    outputLimit: readLimit(wire),
    candidates: wire.n ?? undefined,
    temperature: wire.temperature ?? undefined,
    topP: wire.top_p ?? undefined,
    topK: wire.top_k === everyToken ? undefined : (wire.top_k ?? undefined),
    // Many clients send penalties of 0, which mean none.
    frequencyPenalty: wire.frequency_penalty || undefined,
    presencePenalty: wire.presence_penalty || undefined,
    seed: readSeed(wire.seed, text),
    stop: typeof wire.stop === 'string' ? [wire.stop] : (wire.stop ?? undefined),
    logprobs: wire.logprobs ? { top: wire.top_logprobs ?? undefined } : undefined,
    format: decodeFormat(wire.response_format),
    verbosity: wire.verbosity ?? undefined,
    reasoning: reasoning.value,
    modalities: wire.modalities ?? undefined,
    user,
    metadata: wire.metadata ?? undefined,
    serviceTier: wire.service_tier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
    names: readNames(
      wire,
      marked,
      tools?.some(({ cache }) => cache),
    ),
    ...bag.keep(rest),
  };
}

/** vLLM's value of `top_k` for all tokens. */
const everyToken = -1;

/** If a client sends the limit under both names, the lower one applies. */
export function readLimit(wire: Wire.Request): number | undefined {
  const { max_tokens: old, max_completion_tokens: current } = wire;
  return old && current ? Math.min(old, current) : (old ?? current ?? undefined);
}

/** Maps canonical fields to the client's names, if these differ from the protocol's current ones. */
function readNames(
  wire: Wire.Request,
  marked: boolean,
  markedTools = false,
): Record<string, string> | undefined {
  const { functions, reasoning, response_format: format } = wire;
  const usesFunctions = functions && !wire.tools;
  const usesObject = reasoning && !wire.reasoning_effort;
  const hasOnlySafetyId = typeof wire.safety_identifier === 'string' && typeof wire.user !== 'string';
  const rows = [
    ['outputLimit', 'max_tokens', wire.max_tokens && !wire.max_completion_tokens],
    ['.schema', 'parameters', usesFunctions],
    ['.strict', 'strict', usesFunctions],
    ['.arguments', 'arguments', usesFunctions],
    ['toolChoice', 'function_call', wire.function_call && !wire.tool_choice],
    ['reasoning', 'reasoning', usesObject],
    ['reasoning.effort', reasoning?.effort ? 'reasoning.effort' : 'reasoning.enabled', usesObject],
    ['user', 'safety_identifier', hasOnlySafetyId],
    ['.cache', 'cache_control', marked],
    ['format.', 'response_format', format?.type === 'json_object'],
    ['tools.cache', 'cache_control', markedTools],
  ] as const;
  const used = rows.flatMap(([name, field, isUsed]) => (isUsed ? [[name, field]] : []));
  return used.length > 0 ? Object.fromEntries(used) : undefined;
}

const formatFields = {
  text: new Set(['type']),
  json_object: new Set(['type', 'schema']),
  json_schema: new Set(['type', 'json_schema']),
};

/** Collects the rest of fields that are read only in part. */
function collectLeftover(wire: Wire.Request): Fields {
  return {
    ...nestFields('stream_options', pickUnread(wire.stream_options ?? {}, ['include_usage'])),
    ...readFormatLeftover(wire.response_format),
    ...readChoiceLeftover(wire),
    ...(wire.top_k === everyToken ? { top_k: everyToken } : {}),
    ...(typeof wire.user === 'string' && typeof wire.safety_identifier === 'string'
      ? { safety_identifier: wire.safety_identifier }
      : {}),
    ...(wire.tools && wire.functions ? { functions: wire.functions } : {}),
    ...(wire.tool_choice && wire.function_call ? { function_call: wire.function_call } : {}),
  };
}

function readFormatLeftover(format: Wire.Request['response_format']): Fields {
  if (!format) return {};
  return Wire.isKnownFormat(format)
    ? nestFields('response_format', pickUnread(format, formatFields[format.type]))
    : { response_format: format };
}

function decodeFormat(format: Wire.Request['response_format']): Format | undefined {
  if (!format || !Wire.isKnownFormat(format)) return undefined;
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json_object')
    return format.schema ? { type: 'schema', schema: format.schema } : { type: 'json' };
  const { name, description, schema, strict } = format.json_schema;
  return {
    type: 'schema',
    name,
    description: description ?? undefined,
    schema: schema ?? undefined,
    strict: strict ?? undefined,
    ...bag.keep(pickUnread(format.json_schema, ['name', 'description', 'schema', 'strict'])),
  };
}

/** Reads OpenAI's `reasoning_effort`, or OpenRouter's `reasoning` object if that field is missing. */
export function decodeReasoning({ reasoning_effort: stated, reasoning }: Wire.Request): {
  readonly value: CanonicalRequest['reasoning'];
  readonly rest: Fields;
} {
  const value = stated ? { effort: stated } : undefined;
  if (!reasoning || value) return { value, rest: reasoning ? { reasoning } : {} };
  const { exclude, enabled } = reasoning;
  const budget = reasoning.max_tokens ?? undefined;
  // OpenRouter uses medium effort for reasoning that is only enabled.
  const usual = enabled && budget === undefined ? 'medium' : undefined;
  const effort = reasoning.effort ?? (enabled === false ? 'none' : usual);
  return {
    value: { effort, budget, display: exclude ? 'none' : undefined },
    rest: nestFields('reasoning', pickUnread(reasoning, ['effort', 'max_tokens', 'exclude', 'enabled'])),
  };
}

/**
 * A seed may be too large for a double; its digits are then read from the text. Only the outermost object
 * counts: tools and metadata may also hold a `seed`.
 */
function readSeed(seed: number | null | undefined, text: string): number | string | undefined {
  if (typeof seed !== 'number') return undefined;
  if (Number.isSafeInteger(seed)) return seed;
  const digits = new Map<unknown, string>();
  const root: unknown = JSON.parse(
    text,
    function (this: unknown, key: string, value: unknown, context?: { source?: string }) {
      if (key === 'seed' && context?.source !== undefined) digits.set(this, context.source);
      return value;
    },
  );
  return digits.get(root) ?? seed;
}
