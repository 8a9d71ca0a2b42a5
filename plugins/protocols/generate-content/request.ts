/**
 * A request in both directions, with its settings. Fields without a canonical name are kept in the bag, by
 * their paths. What this protocol or the model cannot express is reported as lost, by its canonical path.
 */
import type { CanonicalRequest, EncodedRequest, ImageSettings, Model } from '../../../core/index.ts';
import { spellNames, spellPlaces, type Spelling } from '../../shared/google/spelling.ts';
import { makeCallIdsUnique, moveResultsToCalls } from '../../shared/wire-kit/calls-and-results.ts';
import { fitLimit, fitModalities, listsParameter } from '../../shared/wire-kit/fit-to-model.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { offerTools, removeForbiddenTools } from '../../shared/wire-kit/hosted-tools.ts';
import { fitSettings, loseSettings } from '../../shared/wire-kit/image-settings.ts';
import { collectLosses } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { buildLost, refused, sendUnchanged, Settings, type Fit } from '../../shared/wire-kit/settings.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { overlay, trackReads, type Fields, type Tracked } from '../../shared/wire-kit/vendor-bag.ts';
import { Conversation, decodeTurns } from './conversation.ts';
import { bag, createEncoding, protocolName, readFlags, type Encoding } from './encoding.ts';
import {
  decodeFormat,
  decodeThinking,
  describeUnenforced,
  encodeFormat,
  encodeThinking,
} from './thinking.ts';
import { decodeToolChoice, decodeTools, encodeTools } from './tools.ts';
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
  const body = trackReads(wire);
  const { model: _model, provider: _preferences } = body.seen;
  const config = body.open('generationConfig') ?? trackReads<Wire.Generation>({});
  const request: CanonicalRequest = {
    model,
    stream,
    turns: decodeTurns(body.seen, text),
    tools: decodeTools(body.seen.tools),
    ...settings.decode({ body, config }),
  };
  const { toolConfig, generationConfig, ...rest } = body.pickRest();
  const own = {
    ...rest,
    ...flatten('toolConfig', readObject(toolConfig)),
    ...flatten('generationConfig', readObject(generationConfig)),
  };
  const schemaName = wire.generationConfig?.responseSchema ? 'responseSchema' : 'responseJsonSchema';
  const names = spellNames(spelling, fieldNames, {
    ...fieldNames,
    'format.schema': `generationConfig.${schemaName}`,
    ...Object.fromEntries(Object.keys(own).map((name) => [name, name])),
  });
  return spellPlaces(spelling, { ...request, names, ...bag.keep(own) });
}

/** Names each field by its path, so that a loss names the exact field. */
function flatten(name: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([member, value]) => [`${name}.${member}`, value]));
}

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  granted: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const encoding = createEncoding(request, { model, lose, inPlace });
  const turns = moveResultsToCalls(makeCallIdsUnique(request.turns));
  const fields = unflatten(bag.getFields(request));
  const { sent, watched } = splitStops(request.stop, encoding);
  const { instructions, instructionFields, contents } = new Conversation(turns, encoding);
  const offered = offerTools(request, protocolName, encoding, removeForbiddenTools(request));
  const { tools, toolConfig } = encodeTools(request, offered, encoding);
  const { instruction, expects } = describeUnenforced(request, encoding);
  if (instruction !== undefined) instructions.push({ text: instruction });
  const circumstances = { ...encoding, stops: sent, inWords: instruction !== undefined };
  return {
    body: overlay(fields, {
      contents,
      systemInstruction: instructions.length > 0 ? { ...instructionFields, parts: instructions } : undefined,
      tools,
      toolConfig,
      ...settings.encode({ ...request, outputLimit: granted ?? request.outputLimit }, circumstances),
    }),
    losses: [...losses, ...listForeignFields(request, protocolName)],
    stops: watched,
    expects,
  };
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

/**
 * Whether a model accepts a parameter. Models without sampling accept only `stop` and `seed`. A list of
 * supported parameters is complete except for `top_k`.
 */
function takesField(name: string, { model }: Encoding): boolean {
  if (!model.capabilities.sampling && name !== 'stop' && name !== 'seed') return false;
  return name === 'top_k' || listsParameter(model, name);
}

const mostStops = 5;

/** Sends as many stop sequences as the model accepts. The gateway watches the reply for the others. */
function splitStops(
  stop: CanonicalRequest['stop'],
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

/** What rows decode from. */
interface Read {
  readonly body: Tracked<Wire.Request>;
  readonly config: Tracked<Wire.Generation>;
}

interface Circumstances extends Encoding {
  /** The stop sequences that the model accepts. */
  readonly stops: readonly string[] | undefined;
  /** Whether an instruction asks for the format. */
  readonly inWords: boolean;
}

/** A setting of a model that takes this parameter of the catalogue. */
function fitParameter<Value>(name: string, fit: (value: Value) => Fit = sendUnchanged) {
  return (value: Value, encoding: Encoding): Fit => (takesField(name, encoding) ? fit(value) : refused);
}

/** A setting that is one value of `generationConfig`. */
function buildSetting<Name extends keyof Wire.Generation & string>(
  name: Name,
  fit: (value: Wire.Generation[Name] & {}, circumstances: Circumstances) => Fit,
) {
  return { field: `generationConfig.${name}`, decode: ({ config }: Read) => config.seen[name], fit };
}

/** Google refuses 2, which OpenAI accepts. */
const mostPenalty = 1.99;

function fitPenalty(value: number): Fit {
  return value <= mostPenalty
    ? [value]
    : [mostPenalty, `sent as ${mostPenalty}, since Google accepts less than 2`, 'approximated'];
}

const largestSeed = 2147483647;

function fitSeed(seed: number | string, encoding: Encoding): Fit {
  return typeof seed === 'number' && Number.isInteger(seed) && Math.abs(seed) <= largestSeed
    ? fitParameter<number>('seed')(seed, encoding)
    : [undefined, 'generate-content only accepts seeds of 32 bits'];
}

const mostCandidates = 8;

/** Tiers that have other names in the canonical form. */
const canonicalTiers: ReadonlyMap<unknown, string> = new Map([
  ['unspecified', 'auto'],
  ['standard', 'default'],
]);
const tiers = new Set(['standard', 'flex', 'priority']);

function fitTier(asked: string, { model }: Encoding): Fit {
  const tier = asked === 'default' ? 'standard' : asked;
  if (!tiers.has(tier)) return [undefined, tier === 'auto' ? undefined : 'Google has no such tier'];
  return isUnpriced(tier, model) ? [undefined, unpriced, 'model'] : [tier];
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
function fitImage(image: ImageSettings, { model, lose }: Encoding): Fit {
  const { size } = fitSettings(image, model.capabilities, lose);
  loseSettings(image, ['size', 'quality', 'format', 'background'], lose);
  return [size === undefined || size === 'auto' ? undefined : { aspectRatio: findNearestShape(size) }];
}

const settings = new Settings<Read, Circumstances>({
  tools: {},
  toolChoice: { field: 'toolConfig.functionCallingConfig', decode: ({ body }) => decodeToolChoice(body) },
  parallelToolCalls: {},
  temperature: buildSetting('temperature', fitParameter('temperature')),
  topP: buildSetting('topP', fitParameter('top_p')),
  topK: buildSetting(
    'topK',
    fitParameter('top_k', (value) => (value < 1 ? [undefined, 'Google accepts 1 and more'] : [value])),
  ),
  frequencyPenalty: buildSetting('frequencyPenalty', fitParameter('frequency_penalty', fitPenalty)),
  presencePenalty: buildSetting('presencePenalty', fitParameter('presence_penalty', fitPenalty)),
  seed: { field: 'generationConfig.seed', decode: ({ config }) => config.seen.seed, fit: fitSeed },
  stop: buildSetting('stopSequences', (_, { stops }) => [stops]),
  outputLimit: buildSetting('maxOutputTokens', (limit, encoding) => [
    fitLimit(limit, encoding.model, encoding),
  ]),
  candidates: buildSetting('candidateCount', (count, { model }) => {
    const most = readFlags(model.capabilities).oneCandidate ? 1 : mostCandidates;
    if (count <= most) return [count];
    return [most, `sent as ${most}, the most that the model gives`, 'approximated'];
  }),
  logprobs: {
    field: 'generationConfig.responseLogprobs',
    place: 'generationConfig',
    // Without the switch, the number of alternatives means nothing here.
    decode({ config: { seen, keep } }) {
      if (!seen.responseLogprobs) return void keep('responseLogprobs');
      return typeof seen.logprobs === 'number' ? { top: seen.logprobs } : {};
    },
    fit: fitParameter('logprobs', ({ top }) => [{ responseLogprobs: true, logprobs: top }]),
  },
  format: {
    field: 'generationConfig.responseMimeType',
    place: 'generationConfig',
    decode: ({ config }) => decodeFormat(config),
    fit: (format, encoding) => [encoding.inWords ? undefined : encodeFormat(format, encoding)],
  },
  modalities: {
    field: 'generationConfig.responseModalities',
    decode: ({ config }) => config.seen.responseModalities?.map((each) => each.toLowerCase()),
    fit(asked, encoding) {
      const modalities = fitModalities({ modalities: asked }, encoding.model, encoding);
      // Google's models that output audio output nothing else.
      return [modalities?.includes('audio') ? ['AUDIO'] : modalities?.map((each) => each.toUpperCase())];
    },
  },
  image: { field: 'generationConfig.imageConfig', fit: fitImage },
  reasoning: {
    field: 'generationConfig.thinkingConfig',
    decode: ({ config }) => decodeThinking(config),
    fit: (reasoning, encoding) => [encodeThinking(reasoning, encoding)],
  },
  serviceTier: {
    field: 'serviceTier',
    decode: ({ body: { seen } }) => canonicalTiers.get(seen.serviceTier) ?? (seen.serviceTier || undefined),
    fit: fitTier,
  },
  user: buildLost(protocolName, () => true),
  metadata: buildLost(protocolName, (fields) => Object.keys(fields).length > 0),
  cacheKey: buildLost(protocolName, () => true),
  verbosity: buildLost(protocolName, () => true),
});

/** This protocol's names of canonical fields, for the paths of losses. */
export const fieldNames: Readonly<Record<string, string>> = {
  ...settings.fieldNames,
  turns: 'contents',
  'logprobs.top': 'generationConfig.logprobs',
  'format.schema': 'generationConfig.responseJsonSchema',
  'reasoning.effort': 'generationConfig.thinkingConfig.thinkingLevel',
  'reasoning.budget': 'generationConfig.thinkingConfig.thinkingBudget',
  'reasoning.display': 'generationConfig.thinkingConfig.includeThoughts',
  '.schema': 'parametersJsonSchema',
  '.arguments': 'functionCall.args',
  '.isError': 'functionResponse.response.error',
  '.source': 'fileData.fileUri',
  '.detail': 'mediaResolution',
  '.opaque': 'thoughtSignature',
};
