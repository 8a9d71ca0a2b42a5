/**
 * A request in both directions, but for its conversation and tools. Fields without a canonical name are kept,
 * and what this protocol cannot express is reported as lost, by its canonical path.
 */
import type { CanonicalRequest, Format, EncodedRequest, Model, Reasoning } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/openai/chat-flags.ts';
import { selectOpenaiFields, readOpenaiFields } from '../../shared/openai/fields.ts';
import { buildInstructionMessage, planFormat } from '../../shared/openai/formats.ts';
import {
  decodeSchemaFormat,
  encodeFormat,
  fitEffort,
  fitTier,
  fitVerbosity,
  hasOnlySafetyIdentifier,
  keepSafetyIdentifier,
  sharedSettings,
  type SettingsEncoding,
} from '../../shared/openai/settings.ts';
import { fitLimit, listsParameter, fitModalities } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { collectLosses, type Lose } from '../../shared/wire-kit/losses.ts';
import { needsCall } from '../../shared/wire-kit/offered-tools.ts';
import { findWantedEffort, loseReasoning } from '../../shared/wire-kit/reasoning-effort.ts';
import { refusal, sendUnchanged, Settings } from '../../shared/wire-kit/settings.ts';
import {
  splitNames,
  type Fields,
  overlay,
  trackReads,
  type Tracked,
} from '../../shared/wire-kit/vendor-bag.ts';
import { decodeMessages, encodeMessages } from './conversation.ts';
import {
  type Encoding,
  bag,
  protocolName,
  createEncoding,
  defaultSound,
  usesForeignMarks,
} from './encoding.ts';
import { refusesExtensions } from './reasoning.ts';
import { readToolChoice, decodeTools, encodeTools, buildCallInstruction } from './tools.ts';
import * as Wire from './wire.ts';

type Sending = Encoding & SettingsEncoding;

const { toolChoice, parallelToolCalls, temperature, topP, user, ...others } = sharedSettings;

export const settings = new Settings<Tracked<Wire.Request>, Sending>(
  {
    outputLimit: {
      field: 'max_completion_tokens',
      place: '',
      decode: ({ seen }) => readLimit(seen),
      fit: (limit, { model, flags, lose }) => [
        { [flags.outputLimitField]: fitLimit(limit, model, { lose }) },
      ],
    },
    candidates: { field: 'n', decode: ({ seen }) => seen.n, fit: sendUnchanged },
    tools: {
      place: '',
      decode: ({ seen }) => decodeTools(seen),
      fit: (_, to) => [encodeTools(to.request, to)],
    },
    toolChoice: { ...toolChoice, decode: readToolChoice },
    parallelToolCalls,
    temperature,
    topP,
    topK: { field: 'top_k', decode: decodeTopK, fit: sendUnchanged },
    // Many clients send penalties of 0, which mean none.
    frequencyPenalty: {
      field: 'frequency_penalty',
      decode: ({ seen }) => seen.frequency_penalty || undefined,
      fit: sendUnchanged,
    },
    presencePenalty: {
      field: 'presence_penalty',
      decode: ({ seen }) => seen.presence_penalty || undefined,
      fit: sendUnchanged,
    },
    seed: { field: 'seed', fit: (seed) => [typeof seed === 'string' ? JSON.rawJSON(seed) : seed] },
    logprobs: {
      place: '',
      parts: { 'logprobs.top': 'top_logprobs' },
      decode({ seen: { logprobs, top_logprobs: top } }) {
        return logprobs ? { top: top ?? undefined } : undefined;
      },
      fit: ({ top }) => [{ logprobs: true, top_logprobs: top }],
    },
    stop: {
      field: 'stop',
      decode: ({ seen: { stop } }) => (typeof stop === 'string' ? [stop] : stop),
      // OpenAI refuses an empty list, and reasoning models refuse any.
      fit(stop, to) {
        const { sent } = splitStops(stop, to);
        return [sent.length > 0 ? sent : undefined];
      },
    },
    reasoning: {
      field: 'reasoning_effort',
      place: '',
      parts: {
        'reasoning.': 'reasoning',
        'reasoning.effort': 'reasoning_effort',
        'reasoning.budget': 'reasoning.max_tokens',
        'reasoning.display': 'reasoning.exclude',
      },
      decode: decodeReasoning,
      fit: (reasoning, to) => [encodeReasoning(reasoning, to)],
    },
    format: {
      field: 'response_format',
      parts: { 'format.': 'response_format.json_schema' },
      decode: decodeFormat,
      fit: (format, to) => [encodeFormat(format, to)],
    },
    modalities: {
      place: '',
      decode: ({ seen }) => seen.modalities,
      fit: (_, to) => [encodeModalities(to.request, to)],
    },
    user,
    verbosity: {
      field: 'verbosity',
      decode: ({ seen }) => seen.verbosity,
      fit: (verbosity, to) => (to.extras ? fitVerbosity(verbosity, to) : [verbosity]),
    },
    ...others,
    serviceTier: {
      ...others.serviceTier,
      fit: (tier, to) => (to.extras ? fitTier(tier, to) : [tier]),
    },
  },
  (field, to) => (takesField(to, field) ? (to.flags.fields[field] ?? field) : undefined),
);

export function decodeRequest(wire: Wire.Request, text: string): CanonicalRequest {
  const body = trackReads(wire);
  const { model, stream, messages, seed, provider: _preferences } = body.seen;
  const { include_usage: _usage } = body.open('stream_options')?.seen ?? {};
  const request: CanonicalRequest = {
    model,
    stream: stream ?? false,
    turns: decodeMessages(messages),
    ...settings.decode(body),
    seed: readSeed(seed, text),
  };
  request.names = readNames(wire, request);
  return Object.assign(request, bag.keep({ ...body.pickRest(), ...keepSafetyIdentifier(wire) }));
}

/** vLLM's value of `top_k` for all tokens. */
const everyToken = -1;

function decodeTopK(body: Tracked<Wire.Request>): number | null | undefined {
  const { top_k: topK } = body.seen;
  if (topK !== everyToken) return topK;
  body.keep('top_k');
  return undefined;
}

/** If a client sends the limit under both names, the lower one applies. */
export function readLimit(wire: Wire.Request): number | undefined {
  const { max_tokens: old, max_completion_tokens: current } = wire;
  return old && current ? Math.min(old, current) : (old ?? current ?? undefined);
}

/** Maps canonical fields to the client's names, if these differ from the protocol's current ones. */
function readNames(wire: Wire.Request, { tools = [], turns }: CanonicalRequest): CanonicalRequest['names'] {
  const { functions, reasoning, response_format: format } = wire;
  const usesFunctions = functions && !wire.tools;
  const usesObject = reasoning && !wire.reasoning_effort;
  const rows = [
    ['outputLimit', 'max_tokens', wire.max_tokens && !wire.max_completion_tokens],
    ['.schema', 'parameters', usesFunctions],
    ['.strict', 'strict', usesFunctions],
    ['.arguments', 'arguments', usesFunctions],
    ['toolChoice', 'function_call', wire.function_call && !wire.tool_choice],
    ['reasoning', 'reasoning', usesObject],
    ['reasoning.effort', reasoning?.effort ? 'reasoning.effort' : 'reasoning.enabled', usesObject],
    ['user', 'safety_identifier', hasOnlySafetyIdentifier(wire)],
    ['.cache', 'cache_control', usesForeignMarks(wire.messages, turns)],
    ['format.', 'response_format', format?.type === 'json_object'],
    ['tools.cache', 'cache_control', tools.some(({ cache }) => cache)],
  ] as const;
  const used = rows.flatMap(([name, field, isUsed]) => (isUsed ? [[name, field]] : []));
  return used.length > 0 ? Object.fromEntries(used) : undefined;
}

function decodeFormat(body: Tracked<Wire.Request>): Format | undefined {
  const format = body.open('response_format');
  if (!format || !Wire.isKnownFormat(format.seen)) {
    body.keep('response_format');
    return undefined;
  }
  const { seen } = format;
  if (seen.type === 'text') return { type: 'text' };
  if (seen.type === 'json_schema') return decodeSchemaFormat(seen.json_schema, bag);
  return seen.schema ? { type: 'schema', schema: seen.schema } : { type: 'json' };
}

/** Reads OpenAI's `reasoning_effort`, or OpenRouter's `reasoning` object if that field is missing. */
export function decodeReasoning(body: Tracked<Wire.Request>): Reasoning | undefined {
  const { reasoning_effort: own } = body.seen;
  if (own) return { effort: own };
  const wire = body.open('reasoning');
  if (!wire) return undefined;
  const { effort, max_tokens, exclude, enabled } = wire.seen;
  const budget = max_tokens ?? undefined;
  // OpenRouter uses medium effort for reasoning that is only enabled.
  const usual = enabled && budget === undefined ? 'medium' : undefined;
  return {
    effort: effort ?? (enabled === false ? 'none' : usual),
    budget,
    display: exclude ? 'none' : undefined,
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
  granted: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const request = {
    ...asked,
    tools: asked.tools ?? [],
    reasoning: fitReasoning(asked, chatFlags(model.capabilities), lose),
    outputLimit: granted ?? asked.outputLimit,
  };
  const encoding = createEncoding(request, { model, lose, inPlace });
  const plan = planFormat(request, encoding);
  const shared = selectOpenaiFields(encoding);
  const own = { ...readOpenaiFields(request, 'responses', shared), ...bag.getFields(request) };
  const rest = dropRefused(own, encoding);
  const messages = encodeMessages(request.turns, encoding);
  const sent = settings.encode(request, { ...encoding, request, plan });
  const instruction = buildCallInstruction(request, sent, encoding);
  const reportsUsage = request.stream && !refuses(model, 'stream_options');
  return {
    body: overlay(rest, {
      model: model.upstream,
      messages: [...buildInstructionMessage(plan), ...buildInstructionMessage({ instruction }), ...messages],
      stream: request.stream || undefined,
      stream_options: reportsUsage ? { include_usage: true } : undefined,
      ...sent,
    }),
    losses: [...losses, ...listForeignFields(request, protocolName, shared)],
    stops: splitStops(request.stop, encoding).watched,
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

/** Fields that a provider rejects with 400 if its model has no sampling settings. */
const samplingFields = splitNames(`
  temperature top_p frequency_penalty presence_penalty logprobs top_logprobs logit_bias
`);
/** Fields that are sent only if the model's list of supported parameters names them or is missing. */
const listedFields = new Set([...samplingFields, 'seed', 'stop']);
/** Fields that some providers accept and others refuse. */
const extraFields = splitNames('verbosity metadata service_tier prompt_cache_key');

function takesField({ model, extras }: Encoding, field: string): boolean {
  const { capabilities, supportedParameters } = model;
  if (refuses(model, field) || (extraFields.has(field) && !extras)) return false;
  // OpenAI has no such field; models of other vendors list it.
  if (field === 'top_k') return supportedParameters.includes(field);
  if (!capabilities.sampling && samplingFields.has(field)) return false;
  return !listedFields.has(field) || listsParameter(model, field);
}

/** Removes fields without a canonical name that the model does not take. */
function dropRefused(fields: Fields, encoding: Encoding): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => {
      const isTaken = takesField(encoding, name);
      if (!isTaken) encoding.lose(name, refusal, 'model');
      return isTaken;
    }),
  );
}

const mostStops = 4;

/** Sends as many stop sequences as the provider takes; the gateway watches the reply for the others. */
function splitStops(
  stop: CanonicalRequest['stop'] = [],
  encoding: Encoding,
): { readonly sent: readonly string[]; readonly watched: readonly string[] } {
  const taken = takesField(encoding, 'stop') ? mostStops : 0;
  return { sent: stop.slice(0, taken), watched: stop.slice(taken) };
}

function encodeReasoning(reasoning: Reasoning, encoding: Encoding): Fields {
  const { model, flags, lose } = encoding;
  const { display } = reasoning;
  const { style, canDisable = true } = model.capabilities.reasoning;
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
  return { reasoning_effort: fitEffort(reasoning, wanted, encoding) };
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

function encodeModalities(request: CanonicalRequest, encoding: Encoding): Fields {
  const modalities = fitModalities(request, encoding.model, encoding);
  // What the client itself says about the audio is in the bag.
  if (!modalities?.includes('audio') || bag.getFields(request).audio) return { modalities };
  encoding.lose('modalities', `spoken as "${defaultSound.voice}", with text`, 'approximated');
  return { modalities: ['text', 'audio'], audio: defaultSound };
}
