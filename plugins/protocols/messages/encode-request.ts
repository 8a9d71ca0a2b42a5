/**
 * Encodes a canonical request as a body that the model accepts. What this protocol cannot express is reported
 * as lost, by its canonical path.
 */
import type { CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import { fitLimit, fitModalities, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { callLimit } from '../../shared/wire-kit/hosted-tools.ts';
import { collectLosses } from '../../shared/wire-kit/losses.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { encodeConversation, type Conversation } from './encode-messages.ts';
import { encodeTools } from './encode-tools.ts';
import { createEncoding, type Encoding } from './encoding.ts';
import { encodeFormat } from './structured-output.ts';
import { encodeThinking } from './thinking.ts';

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const encoding = createEncoding(request, model, lose, inPlace);
  const limit = fitOutputLimit(request, outputLimit, encoding);
  const { system, messages } = encodeConversation(request.turns, encoding);
  const { tools, choice, instruction: callInstruction } = encodeTools(request, encoding);
  const forced = choice?.type === 'any' || choice?.type === 'tool';
  const { thinking, effort } = encodeThinking(request, { limit, messages, forced }, encoding);
  const { format, instruction, expects } = encodeFormat(request, encoding);
  const thinks = thinking !== undefined && thinking.type !== 'disabled';
  const body = overlay(bag.getFields(request), {
    model: model.upstream,
    max_tokens: limit,
    system: addInstruction(addInstruction(system, callInstruction), instruction),
    messages,
    stream: request.stream || undefined,
    tools,
    tool_choice: choice,
    thinking,
    ...encodeSampling(request, thinks, encoding),
    output_config: effort === undefined && format === undefined ? undefined : { effort, format },
    ...encodeUserAndTier(request, encoding),
  });
  loseOthers(request, encoding);
  const limited = new Set(tools?.some((tool) => tool.max_uses !== undefined) ? [callLimit] : []);
  return {
    body,
    losses: [...losses, ...listForeignFields(request, protocolName, limited)],
    stops: (request.stop ?? []).filter(isBlank),
    expects,
  };
}

/** This protocol requires an output limit. The default is the model's own. */
function fitOutputLimit(request: CanonicalRequest, granted: number | undefined, encoding: Encoding): number {
  // Zero is allowed here: it only fills the cache.
  return (
    fitLimit(granted ?? request.outputLimit, encoding.model, { lose: encoding.lose, least: 0 }) ??
    encoding.model.outputLimit
  );
}

function addInstruction(
  system: Conversation['system'],
  instruction: string | undefined,
): Conversation['system'] {
  if (instruction === undefined || system === undefined) return instruction ?? system;
  return typeof system === 'string'
    ? `${system}\n\n${instruction}`
    : [...system, { type: 'text', text: instruction }];
}

function takesField(model: Model, field: string): boolean {
  return model.capabilities.sampling && listsParameter(model, field);
}

const highestTemperature = 1;
/** The lowest top_p that Anthropic accepts together with thinking. */
const leastThinkingTopP = 0.95;

function encodeSampling(request: CanonicalRequest, thinks: boolean, { model, lose }: Encoding): Fields {
  const { temperature, topP, topK } = request;
  const rows = [
    ['temperature', 'temperature', temperature, thinks && temperature !== highestTemperature],
    ['topP', 'top_p', topP, thinks && (topP ?? 1) < leastThinkingTopP],
    ['topK', 'top_k', topK === undefined ? undefined : Math.round(topK), thinks],
  ] as const;
  const stop = request.stop?.filter((text) => !isBlank(text));
  const fields: Record<string, unknown> = { stop_sequences: stop?.length ? stop : undefined };
  for (const [path, field, value, disturbs] of rows) {
    if (value === undefined) continue;
    if (!takesField(model, field)) lose(path, 'the model does not accept it', 'model');
    else if (disturbs) lose(path, 'not allowed together with thinking');
    else if (path === 'topP' && fields.temperature !== undefined)
      lose(path, 'the model accepts a temperature or this, not both', 'model');
    else fields[field] = value;
  }
  if (topK !== undefined && !Number.isInteger(topK) && fields.top_k !== undefined)
    lose('topK', 'sent as a whole number', 'approximated');
  if (temperature !== undefined && temperature > highestTemperature && fields.temperature !== undefined) {
    fields.temperature = highestTemperature;
    lose('temperature', `sent as ${highestTemperature}, the maximum`, 'approximated');
  }
  return fields;
}

/** Anthropic refuses blank stop sequences, so the gateway itself watches the reply for them. */
function isBlank(text: string): boolean {
  return text.trim() === '';
}

const tiers = new Map([
  ['auto', 'auto'],
  ['priority', 'auto'],
  ['default', 'standard_only'],
  ['standard', 'standard_only'],
]);

const longestUser = 256;

function encodeUserAndTier({ user, serviceTier }: CanonicalRequest, { lose }: Encoding): Fields {
  const fits = user !== undefined && user.length <= longestUser;
  if (user !== undefined && !fits) lose('user', `messages accepts at most ${longestUser} characters`);
  const tier = serviceTier === undefined ? undefined : tiers.get(serviceTier);
  if (serviceTier !== undefined && tier === undefined) lose('serviceTier', 'messages has no such tier');
  return { ...(fits ? { metadata: { user_id: user } } : {}), service_tier: tier };
}

const textOnly: Pick<Model, 'output'> = { output: ['text'] };

function loseOthers(request: CanonicalRequest, { lose }: Encoding): void {
  fitModalities(request, textOnly, { lose });
  const rows = [
    ['candidates', request.candidates !== undefined && request.candidates > 1],
    ['frequencyPenalty', request.frequencyPenalty],
    ['presencePenalty', request.presencePenalty],
    ['seed', request.seed !== undefined],
    ['logprobs', request.logprobs],
    ['verbosity', request.verbosity],
    ['metadata', request.metadata && Object.keys(request.metadata).length > 0],
    ['cacheKey', request.cacheKey],
  ] as const;
  for (const [path, present] of rows) if (present) lose(path, 'messages has no such field');
}
