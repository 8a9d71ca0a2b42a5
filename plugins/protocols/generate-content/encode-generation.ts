/** The fields of `generationConfig`, fitted to what the model can take. */
import type { CanonicalRequest, Model } from '../../../core/index.ts';
import { fitLimit, fitModalities } from '../../shared/wire-kit/fit-to-model.ts';
import { fitSettings, loseSettings } from '../../shared/wire-kit/image-settings.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { efforts, effortFor, nearestEffort } from '../../shared/wire-kit/reasoning-effort.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import type { Encoding } from './encoding.ts';

const mostStops = 5;
const largestSeed = 2147483647;

export function encodeGeneration(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
  { format, encoding }: { readonly format: Fields; readonly encoding: Encoding },
): Fields {
  return {
    ...encodeSampling(request, model, encoding),
    stopSequences: splitStops(request, model, encoding).sent,
    maxOutputTokens: fitLimit(outputLimit ?? request.outputLimit, model, encoding),
    candidateCount: request.candidates,
    ...encodeLogprobs(request, model, encoding),
    ...format,
    responseModalities: encodeModalities(request, model, encoding),
    imageConfig: encodeImage(request, model, encoding),
    thinkingConfig: encodeThinking(request, model, encoding),
  };
}

/** Whether a model takes a parameter: one that does not sample as asked takes few, and a list of its parameters, where it has one, is complete but for `top_k`. */
function takes({ capabilities, supportedParameters }: Model, name: string, { own }: Encoding): boolean {
  if (own) return true;
  if (!capabilities.sampling && name !== 'stop' && name !== 'seed') return false;
  return supportedParameters.length === 0 || name === 'top_k' || supportedParameters.includes(name);
}

/** Google's seeds are of 32 bits. */
function fitsSeed(seed: CanonicalRequest['seed']): boolean {
  return typeof seed === 'number' && Number.isInteger(seed) && Math.abs(seed) <= largestSeed;
}

/** As many stop sequences as are taken; the reply is watched for the others. */
export function splitStops(
  { stop }: CanonicalRequest,
  model: Model,
  encoding: Encoding,
): { readonly sent: readonly string[] | undefined; readonly watched: readonly string[] } {
  if (!stop || encoding.own) return { sent: stop, watched: [] };
  const taken = takes(model, 'stop', encoding) ? mostStops : 0;
  // An empty one stops nothing.
  const asked = stop.filter((text) => text !== '');
  return {
    sent: taken > 0 && asked.length > 0 ? asked.slice(0, taken) : undefined,
    watched: asked.slice(taken),
  };
}

function encodeSampling(request: CanonicalRequest, model: Model, encoding: Encoding): Fields {
  const { seed } = request;
  const { lose } = encoding;
  if (seed !== undefined && !fitsSeed(seed)) lose('seed', 'generate-content takes seeds of 32 bits');
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
    if (takes(model, parameter, encoding)) fields[field] = value;
    else lose(path, 'the model does not take it', 'model');
  }
  return fields;
}

function encodeLogprobs({ logprobs }: CanonicalRequest, model: Model, encoding: Encoding): Fields {
  if (!logprobs) return {};
  if (takes(model, 'logprobs', encoding)) return { responseLogprobs: true, logprobs: logprobs.top };
  encoding.lose('logprobs', 'the model does not take it', 'model');
  return {};
}

/** The shapes Gemini draws in; a size becomes the nearest. */
const shapes = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'];

function ratio(shape: string, between: string): number {
  const [width = 1, height = 1] = shape.split(between).map(Number);
  return Math.log(width / height);
}

function nearestShape(size: string): string | undefined {
  const wanted = ratio(size, 'x');
  return shapes.toSorted(
    (first, second) => Math.abs(ratio(first, ':') - wanted) - Math.abs(ratio(second, ':') - wanted),
  )[0];
}

/** Of how a picture is wanted Gemini is told its shape; the rest is its own choice, or refused. */
function encodeImage(
  { image }: CanonicalRequest,
  { capabilities }: Model,
  { lose }: Encoding,
): Fields | undefined {
  if (!image) return undefined;
  const { size } = fitSettings(image, capabilities, lose);
  loseSettings(image, ['size', 'quality', 'format', 'background'], lose);
  return size === undefined || size === 'auto' ? undefined : { aspectRatio: nearestShape(size) };
}

const modalityForm = 'modalities:';

function encodeModalities(
  request: CanonicalRequest,
  model: Model,
  encoding: Encoding,
): readonly string[] | undefined {
  const modalities = fitModalities(request, model, encoding);
  // Google's models that speak do nothing else.
  if (!encoding.own && modalities?.includes('audio')) return ['AUDIO'];
  const written = bag
    .form(request)
    .find((word) => word.startsWith(modalityForm))
    ?.slice(modalityForm.length)
    .split(',');
  if (
    written?.length === modalities?.length &&
    written?.every((each, index) => each.toLowerCase() === modalities?.[index])
  )
    return written;
  return modalities?.map((each) => each.toUpperCase());
}

type Reasoning = NonNullable<CanonicalRequest['reasoning']>;

function encodeThinking(request: CanonicalRequest, model: Model, encoding: Encoding): Fields | undefined {
  const { reasoning } = request;
  const form = bag.form(request);
  if (encoding.own)
    return reasoning || form.includes('thinking') ? restoreThinking(reasoning ?? {}, form) : undefined;
  if (!reasoning) return undefined;
  const { effort, budget, display } = reasoning;
  const { style } = model.capabilities.reasoning;
  const wanted = effort ?? (budget === undefined ? undefined : effortFor(budget));
  if (style === 'none') {
    if (wanted === undefined ? display !== 'none' : wanted !== 'none')
      encoding.lose('reasoning', 'the model does not reason', 'model');
    return undefined;
  }
  const depth =
    style === 'budget'
      ? thinkingBudget(reasoning, model, encoding.lose)
      : thinkingLevel(reasoning, wanted, model, encoding.lose);
  const shown = display === undefined ? wanted !== 'none' : display !== 'none';
  return { ...depth, includeThoughts: shown };
}

function restoreThinking({ effort, budget, display }: Reasoning, form: readonly string[]): Fields {
  const written = form.find((word) => word.startsWith('level:'))?.slice('level:'.length);
  const known = effort === undefined || written?.toLowerCase() === effort;
  return {
    thinkingLevel: known ? written : effort.toUpperCase(),
    thinkingBudget: budget,
    includeThoughts: display === undefined ? undefined : display !== 'none',
  };
}

/** A budget is what was asked for, or what the effort amounts to, within the model's own bounds. */
function thinkingBudget({ effort, budget }: Reasoning, { capabilities }: Model, lose: Lose): Fields {
  const { budget: bounds = {}, canDisable = true } = capabilities.reasoning;
  const { min = 0, max = Infinity } = bounds;
  const asked = budget ?? efforts.find(({ name }) => name === effort)?.budget;
  if (asked === undefined) {
    if (effort !== undefined) lose('reasoning.effort', 'the model has no such effort', 'model');
    return {};
  }
  // None at all is allowed beside the least of a model that can do without.
  const sent = asked < 0 ? -1 : asked === 0 && canDisable ? 0 : Math.min(Math.max(asked, min, 1), max);
  if (Number.isFinite(asked) && sent !== asked)
    lose(
      budget === undefined ? 'reasoning.effort' : 'reasoning.budget',
      `sent as a budget of ${sent}`,
      'approximated',
    );
  return { thinkingBudget: Number.isFinite(sent) ? sent : undefined };
}

const levels = ['minimal', 'low', 'medium', 'high'];

function thinkingLevel(
  { effort, budget }: Reasoning,
  wanted: string | undefined,
  { capabilities }: Model,
  lose: Lose,
): Fields {
  if (wanted === undefined) return {};
  const { efforts: known = levels } = capabilities.reasoning;
  const level = nearestEffort(wanted, known);
  if (!known.includes(level)) {
    lose('reasoning.effort', 'the model has no such effort', 'model');
    return {};
  }
  if (budget !== undefined && effort === undefined)
    lose('reasoning.budget', `sent as level "${level}"`, 'approximated');
  else if (budget !== undefined) lose('reasoning.budget', 'the model takes a level', 'model');
  if (effort !== undefined && level !== effort)
    lose('reasoning.effort', `sent as "${level}"`, 'approximated');
  return { thinkingLevel: level.toUpperCase() };
}
