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
} from '../../../core/index.ts';
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
import { makeCallIdsUnique } from '../../shared/wire-kit/calls-and-results.ts';
import { fitLimit, fitModalities, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { loseSettings } from '../../shared/wire-kit/image-settings.ts';
import { buildInstructionMessage, planFormat, type FormatPlan } from '../../shared/wire-kit/json-mode.ts';
import { collectLosses, type Lose } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { findWantedEffort, loseReasoning } from '../../shared/wire-kit/reasoning-effort.ts';
import { readObjects } from '../../shared/wire-kit/values.ts';
import { nestFields, type Fields, overlay, trackReads } from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadRequest } from './call.ts';
import { decodeItems, encodeItems } from './conversation.ts';
import { bag, ToolNames, nativeVendor, protocolName, type Encoding, createEncoding } from './encoding.ts';
import { decodeChoice, decodeTools, encodeTools } from './tools.ts';
import * as Wire from './wire.ts';

const encryptedReasoning = 'reasoning.encrypted_content';
const textLogprobs = 'message.output_text.logprobs';
/** Values of `include` that are canonical, or that the encoder adds itself. Any other is lost elsewhere. */
const knownIncludes = new Set([encryptedReasoning, textLogprobs]);
const truncations = new Set(['auto', 'disabled']);

export function decodeRequest({ wire, items, tools: offered }: ReadRequest): CanonicalRequest {
  const [seen, pickRest] = trackReads(wire);
  const { include, truncation, top_logprobs: top } = seen;
  const { input: _input, tools: _tools, store: _store, background: _background } = seen;
  const names: Record<string, string> = {};
  const tools = decodeTools(offered, names);
  // A choice that only its vendor knows stays unread.
  const toolChoice = decodeChoice(wire.tool_choice) && decodeChoice(seen.tool_choice);
  const reasoning = decodeReasoning(seen.reasoning);
  const text = decodeText(seen.text);
  const head: CanonicalRequest = {
    ...decodeSettings(seen),
    turns: decodeInstructions(seen),
    tools,
    toolChoice,
    outputLimit: seen.max_output_tokens ?? undefined,
    logprobs: top || include?.includes(textLogprobs) ? { top: top || undefined } : undefined,
    format: text.format,
    verbosity: text.verbosity,
    reasoning: reasoning.value,
    names: readNames(wire, names),
    // After all reads.
    ...bag.keep({
      ...pickRest(),
      ...(include?.every((name) => knownIncludes.has(name)) === false ? { include } : {}),
      ...reasoning.rest,
      ...text.rest,
      ...keepSafetyIdentifier(wire),
      ...(truncation && !truncations.has(truncation) ? { truncation } : {}),
    }),
  };
  return { ...head, turns: [...head.turns, ...decodeInput(wire, items, new ToolNames(head, true))] };
}

function decodeInstructions({ instructions }: Wire.Request): Turn[] {
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

function decodeReasoning(wire: Wire.Request['reasoning']): {
  readonly value?: CanonicalRequest['reasoning'];
  readonly rest: Fields;
} {
  if (!wire) return { rest: {} };
  const [{ effort, summary }, pickRest] = trackReads(wire);
  const isUnusual = summary && !summaries.has(summary);
  const rest = nestFields('reasoning', { ...(isUnusual ? { summary } : {}), ...pickRest() });
  if (!effort && !summary) return { rest };
  return { value: { effort: effort ?? undefined, display: summary ? 'summary' : undefined }, rest };
}

/** An unknown format is kept unchanged. */
function decodeText(wire: Wire.Request['text']): Pick<CanonicalRequest, 'format' | 'verbosity'> & {
  readonly rest: Fields;
} {
  const [{ format: written, verbosity }, pickRest] = trackReads(wire ?? {});
  const known = written && Wire.isKnownFormat(written) ? decodeFormat(written) : undefined;
  const unknown = written && !known ? { format: written } : {};
  return {
    format: known?.value,
    verbosity: verbosity ?? undefined,
    rest: nestFields('text', { ...pickRest(), ...unknown, ...known?.rest }),
  };
}

function decodeFormat(wire: Wire.KnownFormat): { readonly value: Format; readonly rest: Fields } {
  if (wire.type === 'json_schema') return { value: decodeSchemaFormat(wire, bag), rest: {} };
  const { type, ...rest } = wire;
  return { value: { type: type === 'text' ? 'text' : 'json' }, rest: nestFields('format', rest) };
}

export function encodeRequest(
  original: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const request = { ...original, turns: [...makeCallIdsUnique(original.turns)] };
  const encoding = createEncoding(request, model, lose, inPlace);
  const plan = planFormat(request, encoding);
  const shared = encoding.owner === nativeVendor ? selectOpenaiFields(encoding.marks) : undefined;
  const openaiFields = shared ? readOpenaiFields(request, 'chat-completions', shared) : {};
  const body = overlay(
    { ...openaiFields, ...bag.getFields(request) },
    {
      model: model.upstream,
      ...encodeConversation(request, plan, encoding),
      stream: request.stream || undefined,
      max_output_tokens: fitLimit(outputLimit ?? request.outputLimit, model, { least: leastLimit, lose }),
      ...encodeTools(request, encoding),
      ...encodeSampling(request, encoding),
      reasoning: encodeReasoning(request, encoding),
      text: encodeText(request, plan, encoding),
      ...encodeExtras(request, encoding),
      ...encodeState(request, encoding),
    },
  );
  loseSettings(request.image, [], lose);
  return {
    body: encoding.isPerplexity ? fitToPerplexity(body, lose) : body,
    losses: [...losses, ...listForeignFields(request, protocolName, shared)],
    stops: checkStops(request),
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

function fitToPerplexity({ input, ...body }: Fields, lose: Lose): Fields {
  const fields = Object.entries(body).filter(([name, value]) => {
    const path = undocumented.get(name);
    if (path !== undefined && value !== undefined) lose(path, 'Perplexity has no such field', 'vendor');
    return path === undefined;
  });
  const items = Array.isArray(input)
    ? readObjects(input).map((item) => ({ type: 'message', ...item }))
    : input;
  return { ...Object.fromEntries(fields), input: items };
}

/** The gateway searches every delta for each stop sequence: more of them would delay other requests. */
const mostStops = 1000;

function checkStops({ stop = [] }: CanonicalRequest): readonly string[] {
  if (stop.length <= mostStops) return stop;
  throw new GatewayError(
    'unsupported_parameter',
    `This model does not support stop sequences, and the gateway applies at most ${mostStops}: send fewer.`,
    { param: 'stop' },
  );
}

/** A count may have no input. */
function encodeConversation({ turns }: CanonicalRequest, plan: FormatPlan, encoding: Encoding): Fields {
  const instructions = turns.find(({ at }) => at === 'instructions');
  const isSpoken = turns.some((turn) => turn !== instructions);
  return {
    instructions: instructions?.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n\n'),
    input: isSpoken ? [...buildInstructionMessage(plan), ...encodeItems(turns, encoding)] : undefined,
  };
}

/** OpenAI refuses lower limits. */
const leastLimit = 16;

/** Canonical fields that this protocol does not have. */
const missingFields = ['topK', 'frequencyPenalty', 'presencePenalty', 'seed'] as const;

/** Reasoning models refuse log probabilities. */
function takesLogprobs(model: Model): boolean {
  return takesSampling(model, 'logprobs') || takesSampling(model, 'top_logprobs');
}

function takesSampling(model: Model, field: string): boolean {
  return model.capabilities.sampling && listsParameter(model, field);
}

function encodeSampling(request: CanonicalRequest, { model, lose }: Encoding): Fields {
  if (request.logprobs && !takesLogprobs(model)) lose('logprobs', 'the model does not accept it', 'model');
  for (const path of missingFields)
    if (request[path] !== undefined) lose(path, 'responses has no such field');
  if ((request.candidates ?? 1) > 1) lose('candidates', 'responses gives one answer to a call');
  fitModalities(request, { output: ['text'] }, { lose });
  const rows = [
    ['temperature', 'temperature', request.temperature],
    ['topP', 'top_p', request.topP],
    ['logprobs.top', 'top_logprobs', takesLogprobs(model) ? request.logprobs?.top : undefined],
  ] as const;
  const fields: Record<string, unknown> = {};
  for (const [path, field, value] of rows) {
    if (value === undefined) continue;
    if (takesSampling(model, field)) fields[field] = value;
    else lose(path, 'the model does not accept it', 'model');
  }
  return fields;
}

function encodeReasoning({ reasoning }: CanonicalRequest, encoding: Encoding): Fields | undefined {
  if (!reasoning) return undefined;
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

function encodeText(request: CanonicalRequest, plan: FormatPlan, encoding: Encoding): Fields | undefined {
  const format = encodeFormat(request, plan, encoding, bag);
  const verbosity = fitVerbosity(request, encoding);
  if (!format && verbosity === undefined) return undefined;
  // A schema is required here.
  const isWhole = format?.type !== 'json_schema' || format.schema !== undefined;
  return { format: isWhole ? format : { ...format, schema: { type: 'object' } }, verbosity };
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

function encodeExtras(request: CanonicalRequest, { model, owner, lose }: Encoding): Fields {
  const { user, serviceTier } = request;
  const userField = selectUserField(request, owner === nativeVendor);
  const tier = serviceTier === undefined ? undefined : tiers.get(serviceTier);
  const isLost = isUnpriced(tier, model);
  if (serviceTier !== undefined && tier === undefined) lose('serviceTier', 'responses has no such tier');
  if (isLost) lose('serviceTier', unpriced, 'model');
  return {
    [userField]: fitUser(user),
    metadata: request.metadata,
    service_tier: isLost ? undefined : tier,
    prompt_cache_key: request.cacheKey,
  };
}

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
