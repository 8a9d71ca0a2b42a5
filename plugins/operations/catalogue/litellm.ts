/**
 * LiteLLM's `model_prices_and_context_window.json`: USD per token as JSON numbers, by names that often begin
 * with the provider's.
 */
import { z } from 'zod';
import { findKind, shiftDecimal } from '../../../core/index.ts';
import type { Facts, Figures } from './snapshot.ts';

/** Twelve digits: what JSON's numbers have beyond that is an error of their arithmetic. */
const exactDigits = 12;

/** A number of JSON as a decimal; undefined if it is none that can be a price. */
export function readDecimal(value: unknown): string | undefined {
  if (typeof value !== 'number' || !(value >= 0 && value < 1e15)) return undefined;
  const [, whole = '0', fraction = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(Number(value.toPrecision(exactDigits)))) ?? [];
  return shiftDecimal(fraction === '' ? whole : `${whole}.${fraction}`, Number(exponent));
}

const row = z.looseObject({ litellm_provider: z.string() });

/** Our providers by LiteLLM's names. */
const providers: Readonly<Record<string, string>> = {
  gemini: 'google',
  together_ai: 'together',
  fireworks_ai: 'fireworks',
  bedrock: 'amazon-bedrock',
  bedrock_converse: 'amazon-bedrock',
  dashscope: 'alibaba',
  cohere_chat: 'cohere',
  meta_llama: 'meta',
  nvidia_nim: 'nvidia',
};

/** Our service modes by LiteLLM's names. */
const modes: Readonly<Record<string, string>> = { priority: 'fast', batches: 'batch' };

/** Our units by LiteLLM's names, in the words of `nameKind`. */
const kinds: Readonly<Record<string, string>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_read_input_audio_token_cost: 'cacheReadAudio',
  cache_read_input_image_token_cost: 'cacheReadImage',
  cache_creation_input_audio_token_cost: 'cacheWrite5mAudio',
  cache_creation_input_token_cost: 'cacheWrite5m',
  cache_creation_input_token_cost_above_1hr: 'cacheWrite1h',
  cache_creation_input_token_cost_above_12hr: 'cacheWrite12h',
  output_cost_per_reasoning_token: 'reasoning',
  input_cost_per_audio_token: 'inputAudio',
  output_cost_per_audio_token: 'outputAudio',
  input_cost_per_image_token: 'inputImage',
  output_cost_per_image_token: 'outputImage',
  input_cost_per_video_token: 'inputVideo',
  output_cost_per_video_token: 'outputVideo',
  input_cost_per_character: 'character',
  input_cost_per_second: 'secondIn',
  input_cost_per_audio_per_second: 'secondInAudio',
  input_cost_per_video_per_second: 'secondInVideo',
  output_cost_per_second: 'secondOut',
  output_cost_per_video_per_second: 'secondOutVideo',
  input_cost_per_image: 'imageIn',
  output_cost_per_image: 'image',
  ocr_cost_per_page: 'page',
  input_cost_per_query: 'search',
  input_cost_per_request: 'request',
  code_interpreter_cost_per_session: 'container',
  file_search_cost_per_1k_calls: 'fileSearch',
};

/** `…_above_200k_tokens` is a tier, `…_priority`, `…_ultrafast`, `…_flex` and `…_batches` are modes. */
const variant = /^(.+?)(?:_above_(\d+)k_tokens)?(?:_(priority|ultrafast|flex|batches))?$/;

/** USD for one → USD for what a rate is for. */
export function readRate(name: string, value: unknown): string | undefined {
  const rate = readDecimal(value);
  if (rate === undefined) return undefined;
  if (name.endsWith('_per_1k_calls')) return shiftDecimal(rate, -3);
  return findKind(kinds[name] ?? '')?.per === 1 ? rate : shiftDecimal(rate, 6);
}

function readFigure(name: string, value: unknown): [string, string][] {
  const [, base = '', above, mode] = variant.exec(name) ?? [];
  const known = [name, base].find((each) => Object.hasOwn(kinds, each));
  const kind = known === undefined ? undefined : kinds[known];
  const rate = known === undefined ? undefined : readRate(known, value);
  // A mode of long inputs has no name of ours.
  if (kind === undefined || rate === undefined || (above && mode)) return [];
  if (Object.hasOwn(kinds, name)) return [[kind, rate]];
  return [[kind + (above ? ` above ${above}000` : ` served ${modes[String(mode)] ?? mode}`), rate]];
}

/** A model that makes pictures alone has one rate of output, which LiteLLM states as that of pictures. */
function nameOutput(figures: Figures): Figures {
  const { outputImage, ...others } = figures;
  return outputImage === undefined || others.output !== undefined
    ? figures
    : { ...others, output: outputImage };
}

/** The fee of a search, if it is the same for every size of its context. */
function readSearchFee({ search_context_cost_per_query: sizes }: Readonly<Record<string, unknown>>): Figures {
  if (typeof sizes !== 'object' || sizes === null) return {};
  const [fee, other] = new Set(Object.values(sizes).map(readDecimal));
  return fee === undefined || other !== undefined ? {} : { webSearch: fee };
}

/** Whether a figure goes with rates for tokens. */
function isBesideTokens(name: string): boolean {
  const kind = findKind(name);
  return kind?.per !== 1 || (kind.isFee === true && name !== 'image');
}

/**
 * Of a model with rates for tokens LiteLLM also says what they come to by the picture or second. Both would
 * be charged.
 */
function omitEquivalents(figures: Figures): Figures {
  if (Number(figures['input'] ?? 0) === 0 && Number(figures['output'] ?? 0) === 0) return figures;
  return Object.fromEntries(Object.entries(figures).filter(([name]) => isBesideTokens(name)));
}

function readFigures(facts: Readonly<Record<string, unknown>>): Figures {
  const limits = [
    ['contextLength', facts.max_input_tokens],
    ['outputLimit', facts.max_output_tokens],
  ].flatMap(([name, limit]) => (Number.isSafeInteger(limit) ? [[name, String(limit)]] : []));
  const rates = Object.entries(facts).flatMap(([name, value]) => readFigure(name, value));
  const stated = { ...readSearchFee(facts), ...Object.fromEntries([...rates, ...limits]) };
  return omitEquivalents(nameOutput(stated));
}

export function isLiteLlm(content: unknown): boolean {
  return (
    typeof content === 'object' &&
    content !== null &&
    Object.values(content).some((each) => row.safeParse(each).success)
  );
}

/** Rows without any rate, or with one for input or output tokens alone, are left out. */
export function readLiteLlm(content: unknown): ReadonlyMap<string, Facts> {
  const found = new Map<string, Map<string, Figures>>();
  for (const [name, facts] of Object.entries(z.looseObject({}).parse(content))) {
    const { success, data } = row.safeParse(facts);
    if (!success || name === 'sample_spec') continue;
    const { litellm_provider: theirs } = data;
    const provider = providers[theirs] ?? (theirs.startsWith('vertex_ai') ? 'google-vertex' : theirs);
    const model = name.startsWith(`${theirs}/`)
      ? name.slice(theirs.length + 1)
      : name.replace(/^vertex_ai\//, '');
    const figures = readFigures(data);
    const isUnpriced = Object.keys(figures).every((each) => findKind(each) === undefined);
    if (isUnpriced || (figures.input === undefined) !== (figures.output === undefined)) continue;
    const models = found.get(provider) ?? new Map<string, Figures>();
    found.set(provider, models.set(model, figures));
  }
  return found;
}
