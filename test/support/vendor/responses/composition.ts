/**
 * What whole and streamed replies share: the response object at its start and its end, and the items between.
 */
import { type Asked, type OfferedTool, improvise, saysNothing } from '../improvise.ts';
import type { Scenario } from '../scenario.ts';
import type { Seals } from '../seal.ts';
import { speak, countSpeechTokens, type Speech } from '../speech.ts';
import { countAll } from '../words.ts';
import { asksForCompaction, buildCompaction } from './compaction.ts';
import type { InputItem } from './items.ts';
import type { ResponsesFacts } from './models.ts';
import { buildOutput, type ItemGroup } from './output.ts';
import { listTools, type ResponsesRequest, type CountRequest } from './request.ts';
import { flattenTools, mapNamespaces, type Tool } from './tools.ts';

function listOfferedTools(request: ResponsesRequest): OfferedTool[] {
  const { tool_choice: choice } = request;
  if (choice === 'none') return [];
  const all = flattenTools(listTools(request)).map((tool): OfferedTool =>
    tool.type === 'custom'
      ? { name: tool.name, freeform: true }
      : { name: tool.name, schema: tool.parameters ?? undefined },
  );
  if (!choice || typeof choice === 'string') return all;
  if (choice.type === 'allowed_tools' && 'tools' in choice) {
    const names = new Set(choice.tools.map(({ name }) => name));
    return all.filter(({ name }) => names.has(name));
  }
  return 'name' in choice ? all.filter(({ name }) => name === choice.name) : [];
}

function joinText(item: InputItem): string {
  if (!('output' in item)) return '';
  if (typeof item.output === 'string') return item.output;
  return item.output.map((part) => (part.type === 'input_text' ? part.text : `(${part.type})`)).join(' ');
}

const outputs = new Set(['function_call_output', 'custom_tool_call_output']);

function listResults({ input }: ResponsesRequest): Asked['results'] {
  if (!Array.isArray(input)) return [];
  const start = input.findLastIndex(({ type }) => !outputs.has(type ?? '')) + 1;
  const names = new Map(
    input.flatMap((item) =>
      'name' in item && 'call_id' in item ? [[item.call_id, item.name] as const] : [],
    ),
  );
  return input.slice(start).map((item) => ({
    name: ('call_id' in item && item.call_id ? names.get(item.call_id) : undefined) ?? '',
    text: joinText(item),
  }));
}

function describeRequest(request: ResponsesRequest, reasons: boolean): Asked {
  const { model, tool_choice: choice, parallel_tool_calls: parallel, text } = request;
  const schema =
    text?.format?.type === 'json_schema'
      ? text.format.schema
      : text?.format?.type === 'json_object'
        ? true
        : undefined;
  const has = (type: string): boolean =>
    choice !== 'none' && listTools(request).some((tool) => tool.type.startsWith(type));
  return {
    model,
    tools: listOfferedTools(request),
    mustCall:
      choice === 'required' ||
      (typeof choice === 'object' && choice !== null && 'name' in choice) ||
      (typeof choice === 'object' &&
        choice?.type === 'allowed_tools' &&
        'mode' in choice &&
        choice.mode === 'required'),
    parallel: parallel ?? true,
    results: listResults(request),
    ...(schema === undefined ? {} : { schema }),
    reasons,
    searches: has('web_search'),
    draws: has('image_generation'),
    runsCode: has('code_interpreter'),
  };
}

export interface Composition {
  readonly request: ResponsesRequest;
  readonly scenario: Scenario;
  readonly groups: readonly ItemGroup[];
  /** The response object with nothing said yet. */
  readonly opened: Readonly<Record<string, unknown>>;
  readonly finished: Readonly<Record<string, unknown>>;
  readonly billed: { readonly prompt: number; readonly completion: number };
}

export function countPromptTokens({ input, instructions, tools }: CountRequest): number {
  return countAll([input, instructions, tools]);
}

/** A tool as the vendor understood it: strict unless it says otherwise. */
function echoTool(tool: Tool): object {
  return tool.type === 'function'
    ? {
        ...tool,
        description: ('description' in tool && tool.description) || null,
        strict: ('strict' in tool ? tool.strict : undefined) ?? true,
      }
    : tool;
}

/** The settings of a request as every response object repeats them, with the vendor's defaults. */
function echoSettings(request: ResponsesRequest, { efforts }: ResponsesFacts): Record<string, unknown> {
  const reasons = efforts.length > 0;
  return {
    background: request.background ?? false,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: {
      effort: request.reasoning?.effort ?? (reasons ? 'medium' : null),
      summary: request.reasoning?.summary ?? null,
    },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: {
      format: request.text?.format ?? { type: 'text' },
      verbosity: request.text?.verbosity ?? 'medium',
    },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).map(echoTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    user: request.user ?? null,
  };
}

function buildUsage(billed: Composition['billed'], speech: Speech, scenario: Scenario): object {
  if (scenario.usage === 'missing') return { usage: null };
  const lies = scenario.usage ?? {};
  const usage = {
    input_tokens: billed.prompt,
    input_tokens_details: {
      cached_tokens: Math.min(scenario.cached ?? 0, billed.prompt),
      cache_write_tokens: 0,
    },
    output_tokens: billed.completion,
    output_tokens_details: { reasoning_tokens: speech.reasoning.length },
    total_tokens: billed.prompt + billed.completion,
  };
  return { usage: { ...usage, ...lies } };
}

function buildEnding(speech: Speech): {
  readonly status: string;
  readonly incomplete_details: object | null;
} {
  const reason = speech.finish ?? (speech.reason === 'limit' ? 'max_output_tokens' : undefined);
  return reason
    ? { status: 'incomplete', incomplete_details: { reason } }
    : { status: 'completed', incomplete_details: null };
}

export interface Given {
  readonly request: ResponsesRequest;
  readonly facts: ResponsesFacts;
  readonly scenario: Scenario;
  readonly number: number;
  readonly seals: Seals;
  readonly compacts?: boolean;
}

export function compose({
  request,
  facts,
  scenario,
  number,
  seals,
  compacts = asksForCompaction(request),
}: Given): Composition {
  const reasons = facts.efforts.length > 0 && request.reasoning?.effort !== 'none';
  const said = saysNothing(scenario)
    ? { ...improvise(describeRequest(request, reasons)), ...scenario }
    : scenario;
  const mark = `${String(number).padStart(8, '0')}fake`.padEnd(48, '0');
  const limit = scenario.overrun
    ? Infinity
    : Math.min(request.max_output_tokens ?? Infinity, facts.outputLimit);
  const speech = speak(said, { limit, stops: [], callId: (index) => `call_${mark.slice(0, 12)}${index}` });
  const include = request.include ?? [];
  const wanted = {
    encrypted: include.includes('reasoning.encrypted_content'),
    summary: Boolean(request.reasoning?.summary ?? request.reasoning?.generate_summary),
    logprobs: include.includes('message.output_text.logprobs') ? (request.top_logprobs ?? 0) : undefined,
    sources: include.includes('web_search_call.action.sources'),
    interleaved: scenario.interleaved ?? false,
    namespaces: mapNamespaces(listTools(request)),
  };
  const groups = compacts
    ? [buildCompaction(speech, `cmp_${mark}0`, seals)]
    : buildOutput(speech, wanted, seals, (prefix, index = 0) => `${prefix}_${mark}${index}`);
  const billed = { prompt: countPromptTokens(request), completion: countSpeechTokens(speech) };
  const identity = { id: `resp_${mark}`, object: 'response', created_at: Math.floor(Date.now() / 1000) };
  const rest = { error: null, ...echoSettings(request, facts), model: facts.snapshot ?? request.model };
  const output = groups.flatMap(({ items }) => items.map(({ whole }) => whole));
  return {
    request,
    scenario,
    groups,
    billed,
    opened: {
      ...identity,
      status: 'in_progress',
      incomplete_details: null,
      ...rest,
      service_tier: 'auto',
      output: [],
      usage: null,
    },
    finished: {
      ...identity,
      ...buildEnding(speech),
      ...rest,
      completed_at: identity.created_at,
      output,
      ...buildUsage(billed, speech, scenario),
    },
  };
}
