/**
 * A request in both directions, but for its conversation and tools. Fields without a canonical name are kept,
 * and what this protocol cannot express is reported as lost, by its canonical path.
 */
import {
  type CanonicalRequest,
  type Turn,
  type Format,
  GatewayError,
  type EncodedRequest,
  type Model,
  type Reasoning,
} from '../../../core/index.ts';
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
import { makeCallIdsUnique } from '../../shared/wire-kit/calls-and-results.ts';
import { fitLimit, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { collectLosses } from '../../shared/wire-kit/losses.ts';
import { findWantedEffort, loseReasoning } from '../../shared/wire-kit/reasoning-effort.ts';
import { buildLost, refused, Settings, textOnly } from '../../shared/wire-kit/settings.ts';
import { readObject, readObjects } from '../../shared/wire-kit/values.ts';
import {
  splitNames,
  nestFields,
  type Fields,
  overlay,
  trackReads,
  type Tracked,
} from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadRequest } from './call.ts';
import { decodeItems, encodeItems } from './conversation.ts';
import { bag, ToolNames, protocolName, readFlags, type Encoding, createEncoding } from './encoding.ts';
import { applyUpdates } from './native-fields.ts';
import { decodeChoice, decodeTools, encodeTools } from './tools.ts';
import * as Wire from './wire.ts';

const encryptedReasoning = 'reasoning.encrypted_content';
const textLogprobs = 'message.output_text.logprobs';
/** Values of `include` that are canonical, or that the encoder adds itself. Any other is lost elsewhere. */
const knownIncludes = new Set([encryptedReasoning, textLogprobs]);
const truncations = new Set(['auto', 'disabled']);

type Sending = Encoding & SettingsEncoding;

const { toolChoice, parallelToolCalls, temperature, topP, ...others } = sharedSettings;

export const settings = new Settings<Tracked<Wire.Request>, Sending>(
  {
    outputLimit: {
      field: 'max_output_tokens',
      decode: ({ seen }) => seen.max_output_tokens,
      fit: (limit, { model, lose }) => [fitLimit(limit, model, { least: leastLimit, lose })],
    },
    tools: { place: '', fit: (_, to) => [encodeTools(to.request, to)] },
    toolChoice: {
      ...toolChoice,
      // A choice that only its vendor knows stays unread.
      decode(body) {
        const choice = decodeChoice(body.seen.tool_choice);
        if (!choice) body.keep('tool_choice');
        return choice;
      },
    },
    topK: buildLost(protocolName, () => true),
    frequencyPenalty: buildLost(protocolName, () => true),
    presencePenalty: buildLost(protocolName, () => true),
    seed: buildLost(protocolName, () => true),
    stop: {},
    candidates: {
      fit: (count) => [undefined, count > 1 ? 'responses gives one answer to a call' : undefined],
    },
    modalities: textOnly,
    temperature,
    topP,
    logprobs: {
      field: 'top_logprobs',
      parts: { 'logprobs.top': 'top_logprobs' },
      decode: ({ seen: { top_logprobs: top, include } }) =>
        top || include?.includes(textLogprobs) ? { top: top || undefined } : undefined,
      fit: ({ top }, { model }) => (takesLogprobs(model) ? [top] : refused),
    },
    reasoning: {
      field: 'reasoning',
      parts: { 'reasoning.display': 'reasoning.summary' },
      decode: decodeReasoning,
      fit: (reasoning, to) => [encodeReasoning(reasoning, to)],
    },
    format: { field: 'text.format', fit: (format, to) => [encodeFormat(format, to)] },
    verbosity: { field: 'text.verbosity', fit: fitVerbosity },
    parallelToolCalls,
    ...others,
    serviceTier: {
      ...others.serviceTier,
      fit(asked, to) {
        const tier = tiers.get(asked);
        return tier === undefined ? [undefined, 'responses has no such tier'] : fitTier(tier, to);
      },
    },
  },
  (field, { model }) => (takesField(model, field) ? field : undefined),
);

export function decodeRequest({ wire, items, tools: offered }: ReadRequest): CanonicalRequest {
  const body = trackReads(applyUpdates(wire));
  const { model, stream, include, truncation, instructions, provider: _preferences } = body.seen;
  const { input: _input, tools: _tools, store: _store, background: _background } = body.seen;
  const { previous_response_id: _previous, conversation: _conversation } = body.seen;
  const names: Record<string, string> = {};
  const request: CanonicalRequest = {
    model,
    stream: stream ?? false,
    turns: [],
    tools: decodeTools(offered, names),
    ...decodeText(body),
    ...settings.decode(body),
  };
  request.names = readNames(wire, names);
  request.turns = [
    ...decodeInstructions(instructions),
    ...decodeInput(wire, items, new ToolNames(request, true)),
  ];
  if (truncation && !truncations.has(truncation)) body.keep('truncation');
  const { reasoning, text, ...rest } = body.pickRest();
  const own = bag.keep({
    ...rest,
    ...(include?.every((name) => knownIncludes.has(name)) === false ? { include } : {}),
    ...nestFields('reasoning', readObject(reasoning)),
    ...nestFields('text', readObject(text)),
    ...keepSafetyIdentifier(wire),
  });
  return Object.assign(request, own);
}

function decodeInstructions(instructions: string | null | undefined): Turn[] {
  if (!instructions) return [];
  const at = 'instructions';
  return [{ role: 'system', blocks: [{ type: 'text', text: instructions, at }], at }];
}

function decodeInput({ input, model }: Wire.Request, items: ReadRequest['items'], names: ToolNames): Turn[] {
  if (typeof input !== 'string') return decodeItems(items, names, model);
  const at = 'input';
  return [{ role: 'user', blocks: [{ type: 'text', text: input, at }], at }];
}

/** The client's names of canonical fields, where they differ from this protocol's usual ones. */
function readNames(wire: Wire.Request, toolNames: Record<string, string>): CanonicalRequest['names'] {
  const included = wire.top_logprobs ? -1 : (wire.include?.indexOf(textLogprobs) ?? -1);
  const names = {
    ...toolNames,
    ...(hasOnlySafetyIdentifier(wire) ? { user: 'safety_identifier' } : {}),
    ...(included < 0 ? {} : { logprobs: `include[${included}]` }),
  };
  return Object.keys(names).length > 0 ? names : undefined;
}

const summaries = new Set(['auto', 'concise', 'detailed']);

function decodeReasoning(body: Tracked<Wire.Request>): Reasoning | undefined {
  const wire = body.open('reasoning');
  if (!wire) return undefined;
  const { effort, summary } = wire.seen;
  if (summary && !summaries.has(summary)) wire.keep('summary');
  if (!effort && !summary) return undefined;
  return { effort: effort ?? undefined, display: summary ? 'summary' : undefined };
}

function decodeText(body: Tracked<Wire.Request>): Pick<CanonicalRequest, 'format' | 'verbosity'> {
  const text = body.open('text');
  return { format: text && decodeFormat(text), verbosity: text?.seen.verbosity ?? undefined };
}

/** An unknown format is kept unchanged. */
function decodeFormat(text: Tracked<NonNullable<Wire.Request['text']>>): Format | undefined {
  const { format } = text.seen;
  if (!format || !Wire.isKnownFormat(format)) {
    text.keep('format');
    return undefined;
  }
  if (format.type === 'json_schema') return decodeSchemaFormat(format, bag);
  const isText = text.open('format')?.seen.type === 'text';
  return { type: isText ? 'text' : 'json' };
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
    turns: [...makeCallIdsUnique(asked.turns)],
    outputLimit: granted ?? asked.outputLimit,
  };
  const encoding = createEncoding(request, { model, lose, inPlace });
  const plan = planFormat(request, encoding);
  const shared = selectOpenaiFields(encoding);
  const rest = { ...readOpenaiFields(request, 'chat-completions', shared), ...bag.getFields(request) };
  const { instructions, items } = encodeItems(request.turns, encoding);
  const state = encodeState(request, encoding);
  checkStops(request);
  const body = overlay(rest, {
    model: model.upstream,
    instructions,
    input: items && [...buildInstructionMessage(plan), ...items],
    stream: request.stream || undefined,
    ...settings.encode(request, { ...encoding, request, plan }),
    ...state,
  });
  return {
    body: encoding.isPerplexity ? fitToPerplexity(body, encoding) : body,
    losses: [...losses, ...listForeignFields(request, protocolName, shared)],
    stops: request.stop ?? [],
    expects: plan.expects,
    unwraps: plan.unwraps,
  };
}

/** OpenAI's fields that Perplexity does not document, by their canonical names. */
const undocumented: ReadonlyMap<string, string> = new Map([
  ['parallel_tool_calls', 'parallelToolCalls'],
  ['metadata', 'metadata'],
  ['user', 'user'],
  ['prompt_cache_key', 'cacheKey'],
  ['text', 'verbosity'],
]);

/** Perplexity demands the type of each message, which other clients may omit. */
export function nameMessages(body: Fields, { capabilities }: Model): Fields {
  if (readFlags(capabilities).dialect !== 'perplexity' || !Array.isArray(body.input)) return body;
  return { ...body, input: readObjects(body.input).map((item) => ({ type: 'message', ...item })) };
}

function fitToPerplexity(body: Fields, { model, lose }: Encoding): Fields {
  const fields = Object.entries(body).filter(([name, value]) => {
    const path = undocumented.get(name);
    if (path !== undefined && value !== undefined) lose(path, 'Perplexity has no such field', 'vendor');
    return path === undefined;
  });
  return nameMessages(Object.fromEntries(fields), model);
}

/** The gateway searches every delta for each stop sequence: more of them would delay other requests. */
const mostStops = 1000;

function checkStops({ stop = [] }: CanonicalRequest): void {
  if (stop.length <= mostStops) return;
  throw new GatewayError(
    'unsupported_parameter',
    `This model does not support stop sequences, and the gateway applies at most ${mostStops}: send fewer.`,
    { param: 'stop' },
  );
}

/** OpenAI refuses lower limits. */
const leastLimit = 16;

const samplingFields = splitNames('temperature top_p logprobs top_logprobs');

function takesField(model: Model, field: string): boolean {
  return !samplingFields.has(field) || (model.capabilities.sampling && listsParameter(model, field));
}

/** Reasoning models refuse log probabilities. */
function takesLogprobs(model: Model): boolean {
  return takesField(model, 'logprobs') || takesField(model, 'top_logprobs');
}

function encodeReasoning(reasoning: Reasoning, encoding: Encoding): Fields | undefined {
  if (encoding.model.capabilities.reasoning.style === 'none') {
    loseReasoning(reasoning, encoding.lose);
    return undefined;
  }
  const wanted = findWantedEffort(reasoning);
  const sent = wanted === undefined ? undefined : fitEffort(reasoning, wanted, encoding);
  // Other protocols return reasoning by default; here the request has to ask for it.
  const shown = reasoning.display !== 'none' && sent !== 'none';
  return { effort: sent, summary: shown ? 'auto' : undefined };
}

/** The service tiers of this protocol, by their names in all protocols. */
const tiers: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['default', 'default'],
  ['flex', 'flex'],
  ['scale', 'scale'],
  ['priority', 'priority'],
  ['fast', 'fast'],
  ['ultrafast', 'ultrafast'],
  ['standard', 'default'],
  ['standard_only', 'default'],
]);

/**
 * Encodes the fields about stored state. For a call of another protocol the provider stores nothing, so the
 * gateway requests sealed reasoning, except from models that do not reason: they refuse that.
 */
function encodeState(request: CanonicalRequest, { model }: Encoding): Fields {
  const include = [
    ...(model.capabilities.reasoning.style === 'none' ? [] : [encryptedReasoning]),
    ...(request.logprobs && takesLogprobs(model) ? [textLogprobs] : []),
  ];
  return { store: false, ...(include.length > 0 ? { include } : {}) };
}
