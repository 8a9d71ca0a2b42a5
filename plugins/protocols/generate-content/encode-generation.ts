/** Encodes the fields of `generationConfig`, fitted to the model. */
import type { CanonicalRequest, Model, Reasoning } from '../../../core/index.ts';
import { fitLimit, fitModalities, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { fitSettings, loseSettings } from '../../shared/wire-kit/image-settings.ts';
import { describeFormat, nameSchema, type FormatInWords } from '../../shared/wire-kit/json-mode.ts';
import {
  efforts,
  findNearestEffort,
  findWantedEffort,
  loseReasoning,
} from '../../shared/wire-kit/reasoning-effort.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { readFlags, type Encoding } from './encoding.ts';
import { fitSchema } from './fit-schema.ts';

const mostStops = 5;
const largestSeed = 2147483647;

export function encodeGeneration(
  request: CanonicalRequest,
  outputLimit: number | undefined,
  format: Fields,
  encoding: Encoding,
): Fields {
  return {
    ...encodeSampling(request, encoding),
    stopSequences: splitStops(request, encoding).sent,
    maxOutputTokens: fitLimit(outputLimit ?? request.outputLimit, encoding.model, encoding),
    candidateCount: fitCandidates(request, encoding),
    ...encodeLogprobs(request, encoding),
    ...format,
    responseModalities: encodeModalities(request, encoding),
    imageConfig: encodeImage(request, encoding),
    thinkingConfig: encodeThinking(request, encoding),
  };
}

/**
 * Whether a model accepts a parameter. Models without sampling accept only `stop` and `seed`. A list of
 * supported parameters is complete except for `top_k`.
 */
function takesField(name: string, { model }: Encoding): boolean {
  if (!model.capabilities.sampling && name !== 'stop' && name !== 'seed') return false;
  return name === 'top_k' || listsParameter(model, name);
}

function fitsSeed(seed: CanonicalRequest['seed']): seed is number {
  return typeof seed === 'number' && Number.isInteger(seed) && Math.abs(seed) <= largestSeed;
}

/** Sends as many stop sequences as the model accepts. The gateway watches the reply for the others. */
export function splitStops(
  { stop }: CanonicalRequest,
  encoding: Encoding,
): { readonly sent: readonly string[] | undefined; readonly watched: readonly string[] } {
  if (!stop) return { sent: undefined, watched: [] };
  const taken = takesField('stop', encoding) ? mostStops : 0;
  // An empty sequence stops nothing.
  const sequences = stop.filter((text) => text !== '');
  return {
    sent: taken > 0 && sequences.length > 0 ? sequences.slice(0, taken) : undefined,
    watched: sequences.slice(taken),
  };
}

function encodeSampling(request: CanonicalRequest, encoding: Encoding): Fields {
  const { seed } = request;
  const { lose } = encoding;
  if (seed !== undefined && !fitsSeed(seed)) lose('seed', 'generate-content only accepts seeds of 32 bits');
  const rows = [
    ['temperature', 'temperature', 'temperature', request.temperature],
    ['topP', 'topP', 'top_p', request.topP],
    ['topK', 'topK', 'top_k', request.topK],
    ['frequencyPenalty', 'frequencyPenalty', 'frequency_penalty', request.frequencyPenalty],
    ['presencePenalty', 'presencePenalty', 'presence_penalty', request.presencePenalty],
    ['seed', 'seed', 'seed', fitsSeed(seed) ? seed : undefined],
  ] as const;
  const fields: Record<string, unknown> = {};
  for (const [path, field, parameter, value] of rows) {
    if (value === undefined) continue;
    if (takesField(parameter, encoding)) fields[field] = fitToRange(field, value, encoding);
    else lose(path, 'the model does not accept it', 'model');
  }
  return fields;
}

/** Google refuses 2, which OpenAI accepts. */
const mostPenalty = 1.99;

function fitToRange(field: string, value: number, { lose }: Encoding): number | undefined {
  if (field === 'topK' && value < 1) {
    lose(field, 'Google accepts 1 and more');
    return undefined;
  }
  if (!field.endsWith('Penalty') || value <= mostPenalty) return value;
  lose(field, `sent as ${mostPenalty}, since Google accepts less than 2`, 'approximated');
  return mostPenalty;
}

const mostCandidates = 8;

function fitCandidates({ candidates }: CanonicalRequest, { model, lose }: Encoding): number | undefined {
  const most = readFlags(model.capabilities).oneCandidate ? 1 : mostCandidates;
  if (candidates === undefined || candidates <= most) return candidates;
  lose('candidates', `sent as ${most}, the most that the model gives`, 'approximated');
  return most;
}

function encodeLogprobs({ logprobs }: CanonicalRequest, encoding: Encoding): Fields {
  if (!logprobs) return {};
  if (takesField('logprobs', encoding)) return { responseLogprobs: true, logprobs: logprobs.top };
  encoding.lose('logprobs', 'the model does not accept it', 'model');
  return {};
}

/** The aspect ratios that Gemini supports. A size becomes the nearest of them. */
const shapes = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];

function computeLogRatio(shape: string, between: string): number {
  const [width = 1, height = 1] = shape.split(between).map(Number);
  return Math.log(width / height);
}

function findNearestShape(size: string): string | undefined {
  const wanted = computeLogRatio(size, 'x');
  return shapes.toSorted(
    (first, second) =>
      Math.abs(computeLogRatio(first, ':') - wanted) - Math.abs(computeLogRatio(second, ':') - wanted),
  )[0];
}

/** Gemini accepts only the aspect ratio. `fitSettings` refuses some other settings; the rest are lost. */
function encodeImage({ image }: CanonicalRequest, { model, lose }: Encoding): Fields | undefined {
  if (!image) return undefined;
  const { size } = fitSettings(image, model.capabilities, lose);
  loseSettings(image, ['size', 'quality', 'format', 'background'], lose);
  return size === undefined || size === 'auto' ? undefined : { aspectRatio: findNearestShape(size) };
}

function encodeModalities(request: CanonicalRequest, encoding: Encoding): readonly string[] | undefined {
  const modalities = fitModalities(request, encoding.model, encoding);
  // Google's models that output audio output nothing else.
  if (modalities?.includes('audio')) return ['AUDIO'];
  return modalities?.map((each) => each.toUpperCase());
}

function encodeThinking(request: CanonicalRequest, encoding: Encoding): Fields | undefined {
  const { reasoning } = request;
  if (!reasoning) return undefined;
  const { display } = reasoning;
  const { style } = encoding.model.capabilities.reasoning;
  const wanted = findWantedEffort(reasoning);
  if (style === 'none') {
    loseReasoning(reasoning, encoding.lose);
    return undefined;
  }
  const depth =
    style === 'budget' ? encodeBudget(reasoning, encoding) : encodeLevel(reasoning, wanted, encoding);
  const shown = display === undefined ? wanted !== 'none' : display !== 'none';
  return { ...depth, includeThoughts: shown };
}

/** -1 leaves the budget to the model. 0 disables thinking, if the model allows that. */
function fitBudget(wanted: number, { capabilities }: Model): number {
  const { budget: { min = 0, max = Infinity } = {}, canDisable = true } = capabilities.reasoning;
  if (wanted < 0) return -1;
  return wanted === 0 && canDisable ? 0 : Math.min(Math.max(wanted, min, 1), max);
}

/** Encodes the requested budget, or that of the requested effort, within the model's bounds. */
function encodeBudget({ effort, budget }: Reasoning, { model, lose }: Encoding): Fields {
  const wanted = budget ?? efforts.find(({ name }) => name === effort)?.budget;
  if (wanted === undefined) {
    if (effort !== undefined) lose('reasoning.effort', 'the model has no such effort', 'model');
    return {};
  }
  const path = budget === undefined ? 'reasoning.effort' : 'reasoning.budget';
  const sent = fitBudget(wanted, model);
  if (Number.isFinite(wanted) && sent !== wanted) lose(path, `sent as a budget of ${sent}`, 'approximated');
  return { thinkingBudget: Number.isFinite(sent) ? sent : undefined };
}

const levels = ['minimal', 'low', 'medium', 'high'];

function encodeLevel(
  { effort, budget }: Reasoning,
  wanted: string | undefined,
  { model, lose }: Encoding,
): Fields {
  if (wanted === undefined) return {};
  const { efforts: known = levels } = model.capabilities.reasoning;
  const level = findNearestEffort(wanted, known);
  if (!known.includes(level)) {
    lose('reasoning.effort', 'the model has no such effort', 'model');
    return {};
  }
  if (budget !== undefined && effort === undefined)
    lose('reasoning.budget', `sent as level "${level}"`, 'approximated');
  else if (budget !== undefined) lose('reasoning.budget', 'the model accepts a level instead', 'model');
  if (effort !== undefined && level !== effort)
    lose('reasoning.effort', `sent as "${level}"`, 'approximated');
  return { thinkingLevel: level.toUpperCase() };
}

/** Returns the fields of `generationConfig`, or an instruction in their place. */
export function encodeFormat(
  { format, tools }: CanonicalRequest,
  { model: { capabilities }, modern, lose }: Encoding,
): FormatInWords & { readonly format: Fields } {
  if (!format || format.type === 'text') return { format: {} };
  const json = { responseMimeType: 'application/json' };
  if (!capabilities.structuredOutput || (!modern && tools?.length)) {
    lose(
      'format',
      `the model has no structured output${capabilities.structuredOutput ? ' together with tools' : ''}; ` +
        'sent as an instruction',
      'approximated',
    );
    return { format: {}, ...describeFormat(format) };
  }
  if (format.type === 'json') return { format: json };
  const schema = fitSchema(format.schema, (reason) => lose('format.schema', reason, 'approximated'));
  // This protocol has no other field for the name of a schema.
  return { format: { ...json, responseJsonSchema: nameSchema(format, schema) } };
}
