/**
 * A request in both directions, but for its conversation and tools. Fields without a canonical name are kept,
 * and what this protocol cannot express is reported as lost, by its canonical path.
 */
import type { CanonicalRequest, Format, EncodedRequest, Model, Reasoning } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/openai/chat-flags.ts';
import {
  fitUser,
  fitVerbosity,
  selectOpenaiFields,
  readOpenaiFields,
  selectUserField,
} from '../../shared/openai/fields.ts';
import {
  decodeSchemaFormat,
  decodeSettings,
  encodeFormat,
  fitEffort,
  hasOnlySafetyIdentifier,
  keepSafetyIdentifier,
} from '../../shared/openai/settings.ts';
import { fitLimit, listsParameter, fitModalities } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { loseSettings } from '../../shared/wire-kit/image-settings.ts';
import { buildInstructionMessage, planFormat } from '../../shared/wire-kit/json-mode.ts';
import { collectLosses, type Lose } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { needsCall } from '../../shared/wire-kit/offered-tools.ts';
import { findWantedEffort, loseReasoning } from '../../shared/wire-kit/reasoning-effort.ts';
import {
  splitNames,
  nestFields,
  type Fields,
  overlay,
  Tracked,
  trackReads,
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

export function decodeRequest(wire: Wire.Request, text: string): CanonicalRequest {
  const body = new Tracked(wire);
  const { seen } = body;
  const { logprobs, top_logprobs: top, top_k: topK, verbosity, modalities, n, stop } = seen;
  const tools = decodeTools(seen);
  const toolChoice = readToolChoice(body);
  const { reasoning, rest: reasoningRest } = decodeReasoning(seen);
  const { format, rest: formatRest } = decodeFormat(seen.response_format);
  const [{ include_usage: _usage }, pickStream] = trackReads(seen.stream_options ?? {});
  return {
    ...decodeSettings(seen),
    turns: decodeMessages(seen.messages),
    tools,
    toolChoice,
    outputLimit: readLimit(seen),
    candidates: n ?? undefined,
    topK: topK === everyToken ? undefined : (topK ?? undefined),
    // Many clients send penalties of 0, which mean none.
    frequencyPenalty: seen.frequency_penalty || undefined,
    presencePenalty: seen.presence_penalty || undefined,
    seed: readSeed(seen.seed, text),
    stop: typeof stop === 'string' ? [stop] : (stop ?? undefined),
    logprobs: logprobs ? { top: top ?? undefined } : undefined,
    format,
    verbosity: verbosity ?? undefined,
    reasoning,
    modalities: modalities ?? undefined,
    names: readNames(
      wire,
      tools?.some(({ cache }) => cache),
    ),
    ...bag.keep({
      ...body.pickRest(),
      ...(topK === everyToken ? { top_k: topK } : {}),
      ...nestFields('stream_options', pickStream()),
      ...formatRest,
      ...keepSafetyIdentifier(wire),
      ...reasoningRest,
    }),
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
function readNames(wire: Wire.Request, markedTools = false): Record<string, string> | undefined {
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
    ['.cache', 'cache_control', usesForeignMarks(wire.messages)],
    ['format.', 'response_format', format?.type === 'json_object'],
    ['tools.cache', 'cache_control', markedTools],
  ] as const;
  const used = rows.flatMap(([name, field, isUsed]) => (isUsed ? [[name, field]] : []));
  return used.length > 0 ? Object.fromEntries(used) : undefined;
}

function decodeFormat(wire: Wire.Request['response_format']): {
  readonly format?: Format;
  readonly rest: Fields;
} {
  if (!wire) return { rest: {} };
  if (!Wire.isKnownFormat(wire)) return { rest: { response_format: wire } };
  const [seen, pickRest] = trackReads(wire);
  const format = readFormat(seen);
  return { format, rest: nestFields('response_format', pickRest()) };
}

function readFormat(wire: Wire.KnownFormat): Format {
  if (wire.type === 'text') return { type: 'text' };
  if (wire.type === 'json_schema') return decodeSchemaFormat(wire.json_schema, bag);
  return wire.schema ? { type: 'schema', schema: wire.schema } : { type: 'json' };
}

/** Reads OpenAI's `reasoning_effort`, or OpenRouter's `reasoning` object if that field is missing. */
export function decodeReasoning(wire: Wire.Request): {
  readonly reasoning?: CanonicalRequest['reasoning'];
  readonly rest: Fields;
} {
  if (wire.reasoning_effort) return { reasoning: { effort: wire.reasoning_effort }, rest: {} };
  if (!wire.reasoning) return { rest: {} };
  const [{ effort: stated, max_tokens, exclude, enabled }, pickRest] = trackReads(wire.reasoning);
  const budget = max_tokens ?? undefined;
  // OpenRouter uses medium effort for reasoning that is only enabled.
  const usual = enabled && budget === undefined ? 'medium' : undefined;
  const effort = stated ?? (enabled === false ? 'none' : usual);
  return {
    reasoning: { effort, budget, display: exclude ? 'none' : undefined },
    rest: nestFields('reasoning', pickRest()),
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
  const { sent, watched } = splitStops(request, encoding);
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
    response_format: nestSchema(encodeFormat(request, plan, encoding, bag)),
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

const refused = 'the model does not accept it';

/** Removes fields without a canonical name that the model does not take. */
function dropRefused(fields: Fields, encoding: Encoding): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => {
      const isTaken = takesField(encoding, name);
      if (!isTaken) encoding.lose(name, refused, 'model');
      return isTaken;
    }),
  );
}

function encodeSampling(request: CanonicalRequest, encoding: Encoding): Fields {
  const { logprobs, seed } = request;
  return encodeRows(encoding, [
    ['temperature', 'temperature', request.temperature],
    ['topP', 'top_p', request.topP],
    ['topK', 'top_k', request.topK],
    ['frequencyPenalty', 'frequency_penalty', request.frequencyPenalty],
    ['presencePenalty', 'presence_penalty', request.presencePenalty],
    ['seed', 'seed', typeof seed === 'string' ? JSON.rawJSON(seed) : seed],
    ['logprobs', 'logprobs', logprobs && true],
    ['logprobs.top', 'top_logprobs', logprobs?.top],
  ]);
}

function encodeExtras(request: CanonicalRequest, encoding: Encoding): Fields {
  const { model, extras, lose } = encoding;
  const isLost = extras && isUnpriced(request.serviceTier, model);
  if (isLost) lose('serviceTier', unpriced, 'model');
  return encodeRows(encoding, [
    ['user', selectUserField(request, extras), fitUser(request.user)],
    ['verbosity', 'verbosity', extras ? fitVerbosity(request, encoding) : request.verbosity],
    ['metadata', 'metadata', request.metadata],
    ['serviceTier', 'service_tier', isLost ? undefined : request.serviceTier],
    ['cacheKey', 'prompt_cache_key', request.cacheKey],
  ]);
}

type Row = readonly [path: string, field: string, value: unknown];

function encodeRows(encoding: Encoding, rows: readonly Row[]): Fields {
  const fields: Record<string, unknown> = {};
  for (const [path, field, value] of rows) {
    if (value === undefined) continue;
    if (takesField(encoding, field)) fields[encoding.flags.fields[field] ?? field] = value;
    else encoding.lose(path, refused, 'model');
  }
  return fields;
}

const mostStops = 4;

/** Sends as many stop sequences as the provider takes; the gateway watches the reply for the others. */
function splitStops(
  { stop = [] }: CanonicalRequest,
  encoding: Encoding,
): { readonly sent: readonly string[]; readonly watched: readonly string[] } {
  const taken = takesField(encoding, 'stop') ? mostStops : 0;
  return { sent: stop.slice(0, taken), watched: stop.slice(taken) };
}

function encodeReasoning(request: CanonicalRequest, encoding: Encoding): Fields {
  const { model, flags, lose } = encoding;
  const { reasoning } = request;
  if (!reasoning) return {};
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

/** This protocol has the members of a schema in an object of their own. */
function nestSchema(format: Fields | undefined): Fields | undefined {
  if (format?.type !== 'json_schema') return format;
  const { type, ...json_schema } = format;
  return { type, json_schema };
}

function encodeModalities(request: CanonicalRequest, encoding: Encoding): Fields {
  const modalities = fitModalities(request, encoding.model, encoding);
  // What the client itself says about the audio is in the bag.
  if (!modalities?.includes('audio') || bag.getFields(request).audio) return { modalities };
  encoding.lose('modalities', `spoken as "${defaultSound.voice}", with text`, 'approximated');
  return { modalities: ['text', 'audio'], audio: defaultSound };
}
