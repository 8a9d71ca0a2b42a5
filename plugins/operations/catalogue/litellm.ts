/**
 * LiteLLM's `model_prices_and_context_window.json`: USD per token as JSON numbers, by names that often begin
 * with the provider's.
 */
import { z } from 'zod';
import { formatUsd } from '../../../core/index.ts';
import type { Facts, Figures } from './snapshot.ts';

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
const modes: Readonly<Record<string, string>> = { priority: 'fast' };

const kinds: Readonly<Record<string, string>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_creation_input_token_cost: 'cacheWrite5m',
  cache_creation_input_token_cost_above_1hr: 'cacheWrite1h',
  cache_creation_input_token_cost_above_12hr: 'cacheWrite12h',
  output_cost_per_reasoning_token: 'reasoning',
  input_cost_per_audio_token: 'inputAudio',
  output_cost_per_audio_token: 'outputAudio',
  input_cost_per_image_token: 'inputImage',
  output_cost_per_image_token: 'outputImage',
};

/** `…_above_200k_tokens` is a tier, `…_priority`, `…_ultrafast` and `…_flex` are modes. */
const variant = /^(.+?)(?:_above_(\d+)k_tokens)?(?:_(priority|ultrafast|flex))?$/;

const digitsBehind = 15;

/** USD per token → USD per million tokens: exact to the nano, the rest rounded to the nearest. */
export function toPerMillion(perToken: number): string | undefined {
  if (!Number.isFinite(perToken) || perToken < 0 || perToken > 1000) return undefined;
  const [, whole = '0', fraction = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(perToken)) ?? [];
  const shift = digitsBehind - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return formatUsd(digits * 10n ** BigInt(shift));
  const unit = 10n ** BigInt(-shift);
  return formatUsd((digits + unit / 2n) / unit);
}

function readFigure(name: string, value: unknown): [string, string][] {
  const [, base = '', above, mode] = variant.exec(name) ?? [];
  const known = [name, base].find((each) => Object.hasOwn(kinds, each));
  const kind = known === undefined ? undefined : kinds[known];
  const rate = typeof value === 'number' ? toPerMillion(value) : undefined;
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

function readFigures(facts: Readonly<Record<string, unknown>>): Figures {
  const limits = [
    ['contextLength', facts.max_input_tokens],
    ['outputLimit', facts.max_output_tokens],
  ].flatMap(([name, limit]) => (Number.isSafeInteger(limit) ? [[name, String(limit)]] : []));
  const rates = Object.entries(facts).flatMap(([name, value]) => readFigure(name, value));
  return nameOutput(Object.fromEntries([...rates, ...limits]));
}

export function isLiteLlm(content: unknown): boolean {
  return (
    typeof content === 'object' &&
    content !== null &&
    Object.values(content).some((each) => row.safeParse(each).success)
  );
}

/** Rows without a price for input and output tokens are left out. */
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
    if (figures.input === undefined || figures.output === undefined) continue;
    const models = found.get(provider) ?? new Map<string, Figures>();
    found.set(provider, models.set(model, figures));
  }
  return found;
}
