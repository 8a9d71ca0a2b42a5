/**
 * Encodes a canonical request as a body that the model accepts. What this protocol cannot express is reported
 * as lost, by its canonical path.
 */
import type { CanonicalRequest, EncodedRequest, Model, Reasoning } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/wire-kit/chat-flags.ts';
import { buildEncoding } from '../../shared/wire-kit/encoding.ts';
import { fitLimit, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
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
import { overlay, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { encodeMessages } from './encode-messages.ts';
import type { Encoding } from './encode-parts.ts';
import { encodeTools, buildCallInstruction } from './encode-tools.ts';
import { foreignField } from './foreign-marks.ts';
import { isReasoningOff, refusesExtensions } from './reasoning.ts';
import { encodeModalities } from './sound.ts';

export function createEncoding(
  request: CanonicalRequest,
  model: Model,
  lose: Lose,
  inPlace = false,
): Encoding {
  const flags = chatFlags(model.capabilities);
  return {
    ...buildEncoding(request, model, lose, inPlace),
    extras: inPlace || flags.extras,
    marks: inPlace || flags.cacheMarks,
    marksLike: request.names?.['.cache'] === foreignField ? 'anthropic' : 'openai',
    flags,
    reasoningOff:
      isReasoningOff(bag.getFields(request)) || findWantedEffort(request.reasoning ?? {}) === 'none',
  };
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
