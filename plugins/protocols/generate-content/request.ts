/**
 * A request in both directions, with its settings. Fields without a canonical name are kept in the bag, by
 * their paths. What this protocol or the model cannot express is reported as lost, by its canonical path.
 */
import type { CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import { fitLimit, fitModalities, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { fitSettings, loseSettings } from '../../shared/wire-kit/image-settings.ts';
import { collectLosses } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { overlay, trackReads, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { decodeTurns, encodeTurns } from './conversation.ts';
import { bag, createEncoding, protocolName, readFlags, type Encoding } from './encoding.ts';
import { createSpeller, spellNames, spellPlaces, type Spelling } from './spelling.ts';
import { decodeFormat, decodeThinking, encodeFormat, encodeThinking } from './thinking.ts';
import { decodeToolConfig, decodeTools, encodeTools } from './tools.ts';
import type * as Wire from './wire.ts';

/** The facts of a request that its parsed body does not hold. */
interface RequestContext {
  readonly model: string;
  readonly stream: boolean;
  readonly text: string;
  readonly spelling: Spelling;
}

export function decodeRequest(
  wire: Wire.Request,
  { model, stream, text, spelling }: RequestContext,
): CanonicalRequest {
  const [seen, pickRest] = trackReads(wire);
  const { model: _model, provider: _preferences, serviceTier: tier } = seen;
  const [config, pickGeneration] = trackReads(seen.generationConfig ?? {});
  const toolConfig = decodeToolConfig(seen.toolConfig);
  const { format, ...formatRest } = decodeFormat(config);
  const { reasoning, ...thinkingRest } = decodeThinking(config);
  const { logprobs, ...logprobsRest } = decodeLogprobs(config);
  const request: CanonicalRequest = {
    model,
    stream,
    turns: decodeTurns(seen, text),
    tools: decodeTools(seen.tools),
    toolChoice: toolConfig.choice,
    outputLimit: config.maxOutputTokens ?? undefined,
    candidates: config.candidateCount ?? undefined,
    temperature: config.temperature ?? undefined,
    topP: config.topP ?? undefined,
    topK: config.topK ?? undefined,
    frequencyPenalty: config.frequencyPenalty ?? undefined,
    presencePenalty: config.presencePenalty ?? undefined,
    seed: config.seed ?? undefined,
    stop: config.stopSequences ?? undefined,
    logprobs,
    format,
    reasoning,
    modalities: config.responseModalities?.map((each) => each.toLowerCase()),
    serviceTier: tier ? (canonicalTiers.get(tier) ?? tier) : undefined,
  };
  const generation = { ...pickGeneration(), ...formatRest, ...thinkingRest, ...logprobsRest };
  const own = {
    ...pickRest(),
    ...flatten('toolConfig', toolConfig.rest),
    ...flatten('generationConfig', generation),
  };
  const spell = createSpeller(spelling);
  const schemaName = wire.generationConfig?.responseSchema ? 'responseSchema' : 'responseJsonSchema';
  const names = spellNames(spell ?? ((path) => path), own, `generationConfig.${schemaName}`);
  const named = { ...request, names, ...bag.keep(own) };
  return spell ? spellPlaces(spell, named) : named;
}

/** Without the switch, the number of alternatives means nothing here. */
function decodeLogprobs(config: Wire.Generation): Pick<CanonicalRequest, 'logprobs'> & Fields {
  const { responseLogprobs } = config;
  if (!responseLogprobs) return responseLogprobs === false ? { responseLogprobs } : {};
  return { logprobs: typeof config.logprobs === 'number' ? { top: config.logprobs } : {} };
}

/** Names each field by its path, so that a loss names the exact field. */
function flatten(name: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([member, value]) => [`${name}.${member}`, value]));
}

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const encoding = createEncoding(request, model, lose, inPlace);
  const { systemInstruction, contents } = encodeTurns(request.turns, encoding);
  const { tools, toolConfig } = encodeTools(request, encoding);
  const { format, instruction, expects } = encodeFormat(request, encoding);
  const generation = overlay({}, encodeGeneration(request, outputLimit, format, encoding));
  const body = overlay(unflatten(bag.getFields(request)), {
    contents,
    systemInstruction: addInstruction(systemInstruction, instruction),
    tools,
    toolConfig,
    generationConfig: Object.keys(generation).length > 0 ? generation : undefined,
    serviceTier: encodeTier(request, encoding),
  });
  for (const name of ['user', 'metadata', 'cacheKey', 'verbosity'] as const) {
    const value = request[name];
    if (value !== undefined && !(typeof value === 'object' && Object.keys(value).length === 0))
      encoding.lose(name, 'generate-content has no such field');
  }
  return {
    body,
    losses: [...losses, ...listForeignFields(request, protocolName)],
    stops: splitStops(request, encoding).watched,
    expects,
  };
}

function addInstruction(
  system: ReturnType<typeof encodeTurns>['systemInstruction'],
  instruction: string | undefined,
): Fields | undefined {
  if (instruction === undefined) return system;
  return { ...system, parts: [...readList(system?.parts), { text: instruction }] };
}

const groups = ['generationConfig', 'toolConfig'];

/** Puts fields that were kept by their path back into their objects. */
function unflatten(fields: Fields): Fields {
  const whole: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const group = groups.find((each) => name.startsWith(`${each}.`));
    if (group === undefined) whole[name] = value;
    else whole[group] = { ...readObject(whole[group]), [name.slice(group.length + 1)]: value };
  }
  return whole;
}

/** Tiers that have other names in the canonical form. */
const canonicalTiers = new Map([
  ['unspecified', 'auto'],
  ['standard', 'default'],
]);
const tiers = new Set(['standard', 'flex', 'priority']);

function encodeTier(request: CanonicalRequest, { model, lose }: Encoding): string | undefined {
  const { serviceTier: asked } = request;
  if (asked === undefined) return undefined;
  const tier = asked === 'default' ? 'standard' : asked;
  if (!tiers.has(tier)) {
    if (tier !== 'auto') lose('serviceTier', 'Google has no such tier');
    return undefined;
  }
  if (!isUnpriced(tier, model)) return tier;
  lose('serviceTier', unpriced, 'model');
  return undefined;
}

const mostStops = 5;
const largestSeed = 2147483647;

function encodeGeneration(
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

function fitsSeed(seed: number | string): boolean {
  return typeof seed === 'number' && Number.isInteger(seed) && Math.abs(seed) <= largestSeed;
}

/** Sends as many stop sequences as the model accepts. The gateway watches the reply for the others. */
function splitStops(
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

/** Settings of the same name here, by the parameter of the catalogue that allows them. */
const sampling = [
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['topK', 'top_k'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['presencePenalty', 'presence_penalty'],
  ['seed', 'seed'],
] as const;

function encodeSampling(request: CanonicalRequest, encoding: Encoding): Fields {
  const fields: Record<string, unknown> = {};
  for (const [name, parameter] of sampling) {
    const value = request[name];
    if (value === undefined) continue;
    if (name === 'seed' && !fitsSeed(value))
      encoding.lose(name, 'generate-content only accepts seeds of 32 bits');
    else if (takesField(parameter, encoding)) fields[name] = fitToRange(name, Number(value), encoding);
    else encoding.lose(name, 'the model does not accept it', 'model');
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
