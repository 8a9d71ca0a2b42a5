/**
 * A client's request to the canonical form. What has no canonical name and how things were spelt is kept beside
 * them, so that the encoder of this protocol can restore the request.
 */
import type { CanonicalRequest } from '../../../core/index.ts';
import { leftover, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { decodeTurns } from './decode-contents.ts';
import { decodeToolConfig, decodeTools, openApiForm } from './decode-tools.ts';
import { namesBy, placesBy } from './field-names.ts';
import { fromOpenApi } from './openapi-schema.ts';
import { spellingOf } from './spelling.ts';
import type { WireGeneration, WireRequest } from './wire.ts';

type Format = NonNullable<CanonicalRequest['format']>;
type Reasoning = NonNullable<CanonicalRequest['reasoning']>;

/** What an address and a body's text tell beside the body. */
export interface Circumstances {
  readonly model: string;
  readonly stream: boolean;
  readonly text: string;
  readonly words: readonly string[];
}

const requestFields = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'serviceTier',
  'model',
]);
/** Fields inside `generationConfig` that are read whole; `thinkingConfig` and the format are read apart. */
const generationFields = new Set([
  'temperature',
  'topP',
  'topK',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
  'responseModalities',
]);

export function decodeRequest(
  wire: WireRequest,
  { model, stream, text, words }: Circumstances,
): CanonicalRequest {
  const config = wire.generationConfig ?? {};
  const calling = decodeToolConfig(wire.toolConfig);
  const format = decodeFormat(config);
  const thinking = decodeThinking(config);
  const logprobs = decodeLogprobs(config);
  const known = new Set([...generationFields, ...format.read, ...thinking.read, ...logprobs.read]);
  const generation = { ...leftover(config, known), ...thinking.rest };
  const groups = (['generationConfig', 'toolConfig'] as const).filter((name) => wire[name]);
  const form = [
    'read',
    ...words,
    ...thinking.form,
    ...groups,
    ...('model' in wire ? ['model'] : []),
    ...modalityForm(config),
    ...(wire.serviceTier ? [`tier:${wire.serviceTier}`] : []),
  ];
  // How to route is the gateway's own business, and told in the preferences.
  const { provider: _preferences, ...vendorsOwn } = wire;
  const own = {
    ...leftover(vendorsOwn, requestFields),
    ...flattened('toolConfig', calling.rest),
    ...flattened('generationConfig', generation),
  };
  const spell = spellingOf(words);
  const request: CanonicalRequest = {
    model,
    stream,
    turns: decodeTurns(wire, text),
    tools: decodeTools(wire.tools),
    toolChoice: calling.choice,
    outputLimit: config.maxOutputTokens ?? undefined,
    candidates: config.candidateCount ?? undefined,
    temperature: config.temperature ?? undefined,
    topP: config.topP ?? undefined,
    topK: config.topK ?? undefined,
    frequencyPenalty: config.frequencyPenalty ?? undefined,
    presencePenalty: config.presencePenalty ?? undefined,
    seed: config.seed ?? undefined,
    stop: config.stopSequences ?? undefined,
    logprobs: logprobs.value,
    format: format.value,
    reasoning: thinking.value,
    modalities: config.responseModalities?.map((each) => each.toLowerCase()),
    serviceTier: wire.serviceTier ? (tiers.get(wire.serviceTier) ?? wire.serviceTier) : undefined,
    names: namesBy(
      spell ?? asRead,
      own,
      config.responseSchema ? 'generationConfig.responseSchema' : 'generationConfig.responseJsonSchema',
    ),
    ...bag.keep(own, form),
  };
  return spell ? placesBy(spell, request) : request;
}

function asRead(path: string): string {
  return path;
}

/** Google's words for a tier where others have another. */
const tiers = new Map([
  ['unspecified', 'auto'],
  ['standard', 'default'],
]);

/** Members by their paths, so that each is told by its own when it is lost. */
function flattened(name: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([member, value]) => [`${name}.${member}`, value]));
}

interface Read<Value> {
  readonly value: Value | undefined;
  /** The fields that the value says. */
  readonly read: readonly string[];
}

function decodeFormat(config: WireGeneration): Read<Format> {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const read = ['responseMimeType'];
  if (type === 'text/plain') return { value: { type: 'text' }, read };
  if (type !== 'application/json') return { value: undefined, read: [] };
  if (responseSchema) {
    return {
      value: {
        type: 'schema',
        schema: fromOpenApi(responseSchema),
        ...bag.keep({}, [openApiForm + JSON.stringify(responseSchema)]),
      },
      read: [...read, 'responseSchema'],
    };
  }
  if (responseJsonSchema === undefined || responseJsonSchema === null)
    return { value: { type: 'json' }, read };
  return { value: { type: 'schema', schema: responseJsonSchema }, read: [...read, 'responseJsonSchema'] };
}

const thinkingFields = new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel']);

/** The level as it was written stands in the form: SDKs write it in upper case, the documentation in lower. */
function decodeThinking({
  thinkingConfig: config,
}: WireGeneration): Read<Reasoning> & { readonly rest: Fields; readonly form: readonly string[] } {
  if (!config) return { value: undefined, read: [], form: [], rest: {} };
  const { includeThoughts: shown, thinkingBudget: budget, thinkingLevel: level } = config;
  const effort = level && level !== 'THINKING_LEVEL_UNSPECIFIED' ? level.toLowerCase() : undefined;
  const value = {
    ...(effort === undefined ? {} : { effort }),
    ...(typeof budget === 'number' ? { budget } : {}),
    ...(typeof shown === 'boolean' ? { display: shown ? ('summary' as const) : ('none' as const) } : {}),
  };
  const rest = leftover(config, thinkingFields);
  return {
    value: Object.keys(value).length > 0 ? value : undefined,
    read: ['thinkingConfig'],
    form: ['thinking', ...(typeof level === 'string' ? [`level:${level}`] : [])],
    rest: Object.keys(rest).length > 0 ? { thinkingConfig: rest } : {},
  };
}

function decodeLogprobs({
  responseLogprobs: asked,
  logprobs: top,
}: WireGeneration): Read<NonNullable<CanonicalRequest['logprobs']>> {
  if (!asked) return { value: undefined, read: [] };
  return { value: typeof top === 'number' ? { top } : {}, read: ['responseLogprobs', 'logprobs'] };
}

/** Modalities as they were written, where that is not in upper case. */
function modalityForm({ responseModalities: modalities }: WireGeneration): string[] {
  return modalities?.some((each) => each !== each.toUpperCase()) ? [`modalities:${modalities.join()}`] : [];
}
