/**
 * Encodes a canonical request as a request body that the model accepts. A request of this protocol is
 * restored as the client wrote it. What this protocol cannot express is reported as lost, by its canonical
 * path.
 */
import {
  GatewayError,
  type CanonicalRequest,
  type EncodedRequest,
  type Model,
  type Turn,
} from '../../../core/index.ts';
import { makeCallIdsUnique } from '../../shared/wire-kit/calls-and-results.ts';
import { buildEncoding } from '../../shared/wire-kit/encoding.ts';
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
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, nativeVendor, protocolName } from './bag.ts';
import { encryptedReasoning, textLogprobs } from './decode-request.ts';
import { encodeItems, findCustomCallIds } from './encode-items.ts';
import { encodeTools } from './encode-tools.ts';
import { type Encoding, readFlags } from './encoding.ts';
import { ToolNames } from './tool-names.ts';

export function createEncoding(
  request: CanonicalRequest,
  model: Model,
  lose: Lose,
  inPlace = false,
): Encoding {
  const { cacheMarks: marks, dialect } = readFlags(model.capabilities);
  return {
    ...buildEncoding(request, model, lose, inPlace),
    names: new ToolNames(request, inPlace),
    marks,
    dialect: inPlace ? 'openai' : dialect,
    customCalls: findCustomCallIds(request.turns),
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
