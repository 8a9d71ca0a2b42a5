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
import { makeCallIdsUnique } from '../../shared/wire-kit/calls-and-results.ts';
import { fitLimit, fitModalities, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { loseSettings } from '../../shared/wire-kit/image-settings.ts';
import { buildInstructionMessage, planFormat, type FormatPlan } from '../../shared/wire-kit/json-mode.ts';
import { collectLosses, type Lose } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { fitStrict } from '../../shared/wire-kit/object-schema.ts';
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
import { readObjects } from '../../shared/wire-kit/values.ts';
import {
  pickOwnFields,
  pickUnread,
  nestFields,
  type Fields,
  splitNames,
  overlay,
} from '../../shared/wire-kit/vendor-bag.ts';
import type { ReadRequest } from './call.ts';
import { decodeItems, encodeItems } from './conversation.ts';
import { bag, ToolNames, nativeVendor, protocolName, type Encoding, createEncoding } from './encoding.ts';
import { decodeChoice, decodeTools, encodeTools } from './tools.ts';
import * as Wire from './wire.ts';

/** Fields that become canonical, entirely or in part, or that are kept as a note. */
const readFields = splitNames(`
  model input instructions stream tools parallel_tool_calls max_output_tokens temperature top_p
  top_logprobs metadata user service_tier prompt_cache_key truncation store background include reasoning
  text safety_identifier
`);

const encryptedReasoning = 'reasoning.encrypted_content';
const textLogprobs = 'message.output_text.logprobs';
/** Values of `include` that are canonical, or that the encoder adds itself. Any other is lost elsewhere. */
const knownIncludes = new Set([encryptedReasoning, textLogprobs]);

export function decodeRequest({ wire, items, tools: readTools }: ReadRequest): CanonicalRequest {
  const toolNames: Record<string, string> = {};
  const tools = decodeTools(readTools, toolNames);
  const toolChoice = decodeChoice(wire.tool_choice);
  const head: CanonicalRequest = {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: [],
    tools,
    toolChoice,
    parallelToolCalls: wire.parallel_tool_calls ?? undefined,
    outputLimit: wire.max_output_tokens ?? undefined,
    temperature: wire.temperature ?? undefined,
    topP: wire.top_p ?? undefined,
    logprobs:
      wire.top_logprobs || wire.include?.includes(textLogprobs)
        ? { top: wire.top_logprobs || undefined }
        : undefined,
    format: decodeFormat(wire.text?.format),
    verbosity: wire.text?.verbosity ?? undefined,
    reasoning: decodeReasoning(wire.reasoning),
    user: wire.user ?? wire.safety_identifier ?? undefined,
    metadata: wire.metadata ?? undefined,
    serviceTier: wire.service_tier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
    names: readNames(wire, toolNames),
    ...bag.keep(collectLeftover(wire, toolChoice !== undefined)),
  };
  return {
    ...head,
    turns: [...decodeInstructions(wire), ...decodeInput(wire, items, new ToolNames(head, true))],
  };
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
  const isSafety = hasOnlySafetyIdentifier(wire);
  if (included < 0 && !isSafety && Object.keys(toolNames).length === 0) return undefined;
  return {
    ...toolNames,
    ...(isSafety ? { user: 'safety_identifier' } : {}),
    ...(included < 0 ? {} : { logprobs: `include[${included}]` }),
  };
}

function hasOnlySafetyIdentifier({ user, safety_identifier: safety }: Wire.Request): boolean {
  return typeof user !== 'string' && typeof safety === 'string';
}

const truncations = new Set(['auto', 'disabled']);
const effortAlone = new Set(['effort']);
const reasoningFields = new Set([...effortAlone, 'summary']);

/** Fields without a canonical name, and the rest of fields that are canonical in part. */
function collectLeftover(wire: Wire.Request, choiceRead: boolean): Fields {
  const known = new Set(readFields);
  if (choiceRead) known.add('tool_choice');
  const { include } = wire;
  const truncates = wire.truncation && !truncations.has(wire.truncation);
  return {
    ...pickOwnFields(wire, known),
    ...(include?.every((name) => knownIncludes.has(name)) === false ? { include } : {}),
    ...nestFields(
      'reasoning',
      pickUnread(wire.reasoning ?? {}, isUsualSummary(wire) ? reasoningFields : effortAlone),
    ),
    ...nestFields('text', {
      ...pickUnread(wire.text ?? {}, ['format', 'verbosity']),
      ...readFormatLeftover(wire.text?.format),
    }),
    ...(typeof wire.user === 'string' && typeof wire.safety_identifier === 'string'
      ? { safety_identifier: wire.safety_identifier }
      : {}),
    ...(wire.input === null ? { input: null } : {}),
    ...(truncates ? { truncation: wire.truncation } : {}),
  };
}

function decodeReasoning(reasoning: Wire.Request['reasoning']): CanonicalRequest['reasoning'] {
  if (!reasoning) return undefined;
  const { effort, summary } = reasoning;
  return effort || summary
    ? { effort: effort ?? undefined, display: summary ? 'summary' : undefined }
    : undefined;
}

/** An unknown format is kept unchanged. */
function readFormatLeftover(format: Wire.AnyFormat | null | undefined): Fields {
  if (!format) return {};
  if (!Wire.isKnownFormat(format)) return { format };
  return nestFields('format', format.type === 'json_schema' ? {} : pickUnread(format, ['type']));
}

const summaries = new Set(['auto', 'concise', 'detailed']);

function isUsualSummary({ reasoning }: Wire.Request): boolean {
  return !reasoning?.summary || summaries.has(reasoning.summary);
}

function decodeFormat(format: Wire.AnyFormat | null | undefined): Format | undefined {
  if (!format || !Wire.isKnownFormat(format)) return undefined;
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json_object') return { type: 'json' };
  const { name, description, schema, strict } = format;
  return {
    type: 'schema',
    name,
    description: description ?? undefined,
    schema,
    strict: strict ?? undefined,
    ...bag.keep(pickUnread(format, ['type', 'name', 'description', 'schema', 'strict'])),
  };
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
  const body = overlay(
    shared
      ? { ...readOpenaiFields(request, 'chat-completions', shared), ...bag.getFields(request) }
      : bag.getFields(request),
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
    body: encoding.dialect === 'perplexity' ? fitToPerplexity(body, lose) : body,
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

function encodeConversation(request: CanonicalRequest, plan: FormatPlan, encoding: Encoding): Fields {
  const instructions = request.turns.find(({ at }) => at === 'instructions');
  const spoken = request.turns.filter((turn) => turn !== instructions);
  return {
    instructions: encodeInstructions(instructions),
    input: encodeInput(request, spoken, plan, encoding),
  };
}

function encodeInstructions(turn: Turn | undefined): string | undefined {
  return turn?.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n\n');
}

/** Encodes the input as items. A count may have none. */
function encodeInput(
  request: CanonicalRequest,
  spoken: readonly Turn[],
  plan: FormatPlan,
  encoding: Encoding,
): unknown {
  if (spoken.length === 0) return undefined;
  return [...buildInstructionMessage(plan), ...encodeItems(request.turns, encoding)];
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

function encodeReasoning(request: CanonicalRequest, { model, lose }: Encoding): Fields | undefined {
  const { reasoning } = request;
  if (!reasoning) return undefined;
  const { budget, display } = reasoning;
  const { style, efforts } = model.capabilities.reasoning;
  const wanted = findWantedEffort(reasoning);
  if (style === 'none') {
    loseReasoning(reasoning, lose);
    return undefined;
  }
  const sent = wanted === undefined ? undefined : findNearestEffort(wanted, efforts);
  if (budget !== undefined && sent !== undefined && !(budget === 0 && sent === 'none'))
    lose('reasoning.budget', `sent as effort "${sent}"`, 'approximated');
  else if (sent !== wanted) lose('reasoning.effort', `sent as "${sent}"`, 'approximated');
  // Other protocols return reasoning by default; here the request has to ask for it.
  const shown = display !== 'none' && sent !== 'none';
  return { effort: sent, summary: shown ? 'auto' : undefined };
}

function encodeText(request: CanonicalRequest, plan: FormatPlan, encoding: Encoding): Fields | undefined {
  const fields = {
    format: encodeFormat(request, plan, encoding),
    verbosity: fitVerbosity(request, encoding),
  };
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}

function encodeFormat(
  { format }: CanonicalRequest,
  { mode, schema: planned }: FormatPlan,
  { lose }: Encoding,
): Fields | undefined {
  if (format?.type === 'text') return { type: 'text' };
  if (mode === 'json') return { type: 'json_object' };
  if (mode !== 'schema' || format?.type !== 'schema') return undefined;
  const { name = 'answer', description } = format;
  const schema = planned ?? { type: 'object' };
  return overlay(bag.getFields(format), {
    type: 'json_schema',
    name,
    description,
    schema,
    strict: fitStrict(format, schema, 'format', lose),
  });
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
