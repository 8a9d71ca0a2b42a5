/**
 * A request in both directions, but for its conversation and tools. Fields without a canonical name are kept,
 * and what this protocol cannot express is reported as lost, by its canonical path.
 */
import type { CanonicalRequest, Format, EncodedRequest, Model, Reasoning } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/wire-kit/chat-flags.ts';
import { fitLimit, listsParameter, fitModalities } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { loseSettings } from '../../shared/wire-kit/image-settings.ts';
import { buildInstructionMessage, planFormat, type FormatPlan } from '../../shared/wire-kit/json-mode.ts';
import { collectLosses, type Lose } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { fitStrict } from '../../shared/wire-kit/object-schema.ts';
import { needsCall } from '../../shared/wire-kit/offered-tools.ts';
import {
  fitUser,
  fitVerbosity,
  selectOpenaiFields,
  readOpenaiFields,
  selectUserField,
} from '../../shared/wire-kit/openai-fields.ts';
import {
  findNearestEffort,
  findWantedEffort,
  loseReasoning,
} from '../../shared/wire-kit/reasoning-effort.ts';
import {
  splitNames,
  pickOwnFields,
  pickUnread,
  nestFields,
  type Fields,
  overlay,
} from '../../shared/wire-kit/vendor-bag.ts';
import { decodeMessages, encodeMessages } from './conversation.ts';
import { type Encoding, bag, protocolName, createEncoding, defaultSound } from './encoding.ts';
import { refusesExtensions } from './reasoning.ts';
import {
  decodeToolChoice,
  decodeTools,
  readChoiceLeftover,
  encodeTools,
  buildCallInstruction,
} from './tools.ts';
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

export function encodeRequest(
  asked: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const flags = chatFlags(model.capabilities);
  const request = { ...asked, reasoning: fitReasoning(asked, flags, lose) };
  const encoding = createEncoding(request, model, lose, inPlace);
  const shared = flags.extras ? selectOpenaiFields(flags.cacheMarks) : undefined;
  const limit = fitLimit(outputLimit ?? request.outputLimit, model, encoding);
  const { sent, watched } = splitStops(request, model);
  const plan = planFormat(request, encoding);
  const openaiFields = shared ? readOpenaiFields(request, 'responses', shared) : {};
  const rest = dropRefused({ ...openaiFields, ...bag.getFields(request) }, encoding);
  const messages = encodeMessages(request.turns, encoding);
  const tools = encodeTools(request, encoding);
  const body = overlay(rest, {
    model: model.upstream,
    messages: [
      ...buildInstructionMessage(plan),
      ...buildInstructionMessage({ instruction: buildCallInstruction(request, tools, encoding) }),
      ...messages,
    ],
    ...encodeStream(request, model),
    ...(limit === undefined ? {} : { [flags.outputLimitField]: limit }),
    n: request.candidates,
    ...tools,
    ...encodeSampling(request, encoding),
    // OpenAI refuses an empty list, and reasoning models refuse any.
    stop: sent.length > 0 ? sent : undefined,
    ...encodeReasoning(request, encoding),
    response_format: encodeFormat(request, plan, encoding),
    ...encodeModalities(request, encoding),
    ...encodeExtras(request, encoding),
  });
  loseSettings(request.image, [], encoding.lose);
  return {
    body,
    losses: [...losses, ...listForeignFields(request, protocolName, shared)],
    stops: watched,
    expects: plan.expects,
    unwraps: plan.unwraps,
  };
}

/** Turns reasoning off if the model cannot be made to call a tool while it thinks. */
function fitReasoning(
  request: CanonicalRequest,
  { forcedTools }: Encoding['flags'],
  lose: Lose,
): Reasoning | undefined {
  const { reasoning } = request;
  if (forcedTools !== 'without-thinking' || !needsCall(request)) return reasoning;
  if (reasoning)
    loseReasoning(reasoning, lose, 'not allowed with a forced tool: the model answers without thinking');
  return { effort: 'none' };
}

function encodeStream(request: CanonicalRequest, model: Model): Fields {
  if (!request.stream) return {};
  return {
    stream: true,
    stream_options: refuses(model, 'stream_options') ? undefined : { include_usage: true },
  };
}

/** Fields that a provider rejects with 400 if its model has no sampling settings. */
const samplingFields = splitNames(`
  temperature top_p frequency_penalty presence_penalty logprobs top_logprobs logit_bias
`);
/** Fields that are sent only if the model's list of supported parameters names them or is missing. */
const listedFields = new Set([...samplingFields, 'seed', 'stop']);

function takesField(model: Model, field: string): boolean {
  const { capabilities, supportedParameters } = model;
  if (refuses(model, field)) return false;
  // OpenAI has no such field; models of other vendors list it.
  if (field === 'top_k') return supportedParameters.includes(field);
  if (!capabilities.sampling && samplingFields.has(field)) return false;
  return !listedFields.has(field) || listsParameter(model, field);
}

/** Removes fields without a canonical name that the model does not take. */
function dropRefused(fields: Fields, { model, lose }: Encoding): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => {
      const isTaken = value === null ? !refuses(model, name) : takesField(model, name);
      if (!isTaken && value !== null) lose(name, 'the model does not accept it', 'model');
      return isTaken;
    }),
  );
}

function encodeSampling(request: CanonicalRequest, { model, flags, lose }: Encoding): Fields {
  const { logprobs, seed } = request;
  const rows = [
    ['temperature', 'temperature', request.temperature],
    ['topP', 'top_p', request.topP],
    ['topK', 'top_k', request.topK],
    ['frequencyPenalty', 'frequency_penalty', request.frequencyPenalty],
    ['presencePenalty', 'presence_penalty', request.presencePenalty],
    ['seed', 'seed', typeof seed === 'string' ? JSON.rawJSON(seed) : seed],
    ['logprobs', 'logprobs', logprobs && true],
    ['logprobs.top', 'top_logprobs', logprobs?.top],
  ] as const;
  const fields: Record<string, unknown> = {};
  for (const [path, field, value] of rows) {
    if (value === undefined) continue;
    if (takesField(model, field)) fields[flags.fields[field] ?? field] = value;
    else lose(path, 'the model does not accept it', 'model');
  }
  return fields;
}

const mostStops = 4;

/** Sends as many stop sequences as the provider takes; the gateway watches the reply for the others. */
function splitStops(
  { stop = [] }: CanonicalRequest,
  model: Model,
): { readonly sent: readonly string[]; readonly watched: readonly string[] } {
  const taken = takesField(model, 'stop') ? mostStops : 0;
  return { sent: stop.slice(0, taken), watched: stop.slice(taken) };
}

function encodeReasoning(request: CanonicalRequest, encoding: Encoding): Fields {
  const { model, flags, lose } = encoding;
  const { reasoning } = request;
  if (!reasoning) return {};
  const { budget, display } = reasoning;
  const { style, efforts, canDisable = true } = model.capabilities.reasoning;
  const wanted = findWantedEffort(reasoning);
  if (style === 'none') {
    loseReasoning(reasoning, lose);
    return {};
  }
  if (wanted === 'none' && canDisable && flags.thinkingMode) return { thinking: { type: 'disabled' } };
  if (display === 'none') lose('reasoning.display', 'chat-completions cannot request hidden reasoning');
  else if (display !== undefined && flags.extras && refusesExtensions(model))
    lose('reasoning.display', 'OpenAI returns no reasoning through chat-completions', 'model');
  if (wanted === undefined) return {};
  if (style === 'toggle') return encodeSwitch(reasoning, wanted, encoding);
  const sent = findNearestEffort(wanted, efforts);
  if (budget !== undefined && !(budget === 0 && sent === 'none'))
    lose('reasoning.budget', `sent as effort "${sent}"`, 'approximated');
  else if (sent !== wanted)
    lose(wanted === 'none' ? 'reasoning' : 'reasoning.effort', `sent as "${sent}"`, 'approximated');
  return { reasoning_effort: sent };
}

/** Some models only turn reasoning on and off, each vendor by a field of its own. */
function encodeSwitch({ budget }: Reasoning, wanted: string, { model, flags, lose }: Encoding): Fields {
  const { canDisable = true } = model.capabilities.reasoning;
  const enabled = wanted !== 'none' || !canDisable;
  if (enabled) {
    const path = budget === undefined ? 'reasoning.effort' : 'reasoning.budget';
    lose(path, `the model only turns reasoning on${canDisable ? ' and off' : ''}`, 'approximated');
  }
  if (flags.enableThinking) return { enable_thinking: enabled };
  return flags.thinkingMode
    ? { thinking: { type: enabled ? 'enabled' : 'disabled' } }
    : { reasoning: { enabled } };
}

function encodeFormat(
  { format }: CanonicalRequest,
  { mode, schema }: FormatPlan,
  { inPlace, lose }: Encoding,
): Fields | undefined {
  if (format?.type === 'text') return { type: 'text' };
  if (mode === 'json') return { type: 'json_object' };
  if (mode !== 'schema' || format?.type !== 'schema') return undefined;
  const { name = 'answer', description } = format;
  const strict = inPlace ? format.strict : fitStrict(format, schema, 'format', lose);
  return {
    type: 'json_schema',
    json_schema: overlay(bag.getFields(format), { name, description, schema, strict }),
  };
}

/** Encodes fields that some providers accept and others refuse. */
function encodeExtras(request: CanonicalRequest, encoding: Encoding): Fields {
  const { extras, model, lose } = encoding;
  const rows = [
    ['verbosity', 'verbosity', extras ? fitVerbosity(request, encoding) : request.verbosity],
    ['metadata', 'metadata', request.metadata],
    ['serviceTier', 'service_tier', request.serviceTier],
    ['cacheKey', 'prompt_cache_key', request.cacheKey],
  ] as const;
  const namesUser = takesField(model, 'user');
  if (request.user !== undefined && !namesUser) lose('user', 'the model does not accept it', 'model');
  const fields: Record<string, unknown> = namesUser
    ? { [selectUserField(request, extras)]: fitUser(request.user) }
    : {};
  for (const [path, field, value] of rows) {
    if (value === undefined) continue;
    if (!extras) lose(path, 'the model does not accept it', 'model');
    else if (field === 'service_tier' && isUnpriced(request.serviceTier, model))
      lose(path, unpriced, 'model');
    else fields[field] = value;
  }
  return fields;
}

export function encodeModalities(request: CanonicalRequest, encoding: Encoding): Fields {
  const modalities = fitModalities(request, encoding.model, encoding);
  // What the client itself says about the audio is in the bag.
  if (!modalities?.includes('audio') || bag.getFields(request).audio) return { modalities };
  encoding.lose('modalities', `spoken as "${defaultSound.voice}", with text`, 'approximated');
  return { modalities: ['text', 'audio'], audio: defaultSound };
}
