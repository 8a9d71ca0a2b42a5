/**
 * Reads a provider's own model list (`GET /models`, chat style) into catalogue facts. A model is left out if
 * neither the list nor the operator gives its price.
 */
import { z } from 'zod';
import type { priceSchema } from '../billing/price.ts';
import { checkModel, type Model } from '../model-facts.ts';
import { formatUsd } from '../money.ts';
import type { ProviderOptions } from '../provider.ts';
import { applyOwnModels } from './own-models.ts';

const listSchema = z.looseObject({ data: z.array(z.unknown()).nullable() });

const listedSchema = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  created: z.number().nullish(),
  context_length: z.number().nullish(),
  /** vLLM's name for the context length. */
  max_model_len: z.number().nullish(),
  top_provider: z.looseObject({ max_completion_tokens: z.number().nullish() }).nullish(),
  architecture: z
    .looseObject({
      input_modalities: z.array(z.string()).nullish(),
      output_modalities: z.array(z.string()).nullish(),
    })
    .nullish(),
  supported_parameters: z.array(z.string()).nullish(),
  /** OpenRouter's prices: USD per token, and per request, as decimal strings; "-1" if the price varies. */
  pricing: z.record(z.string(), z.unknown()).nullish(),
});

type Listed = z.output<typeof listedSchema>;

/**
 * Converts USD per token to USD per million tokens: `"0.00000014"` → `"0.14"`. Exact to the nano-dollar, then
 * rounded up. Undefined if the price varies.
 */
function toPerMillion(perToken: unknown): string | undefined {
  const match = typeof perToken === 'string' ? /^(\d+)(?:\.(\d+))?$/.exec(perToken) : undefined;
  if (!match) return undefined;
  const [, whole = '0', fraction = ''] = match;
  const digits = fraction.padEnd(15, '0');
  return formatUsd(BigInt(whole + digits.slice(0, 15)) + (/[1-9]/.test(digits.slice(15)) ? 1n : 0n));
}

/** A listed model's price. A part at "0" has no price of its own; it is not free. */
function readPrice(pricing: Listed['pricing']): z.input<typeof priceSchema> | undefined {
  const input = toPerMillion(pricing?.prompt);
  const output = toPerMillion(pricing?.completion);
  if (input === undefined || output === undefined) return undefined;
  const { request, web_search: search } = pricing ?? {};
  const parts = {
    cacheRead: toPerMillion(pricing?.input_cache_read),
    cacheWrite5m: toPerMillion(pricing?.input_cache_write),
    reasoning: toPerMillion(pricing?.internal_reasoning),
    inputAudio: toPerMillion(pricing?.audio),
    request: typeof request === 'string' && Number(request) > 0 ? request : undefined,
    webSearch: typeof search === 'string' && Number(search) > 0 ? search : undefined,
  };
  return {
    input,
    output,
    ...Object.fromEntries(Object.entries(parts).filter(([, rate]) => rate !== undefined && rate !== '0')),
  };
}

const knownModalities = new Set(['text', 'image', 'audio', 'video', 'pdf', 'file']);
const modelId = /^[\w.-]+\/./;

function findCount(...listed: readonly (number | null | undefined)[]): number | undefined {
  return listed.find((count): count is number => Number.isSafeInteger(count) && Number(count) > 0);
}

function buildId(provider: string, { id }: Listed): string {
  return modelId.test(id) ? id : `${provider}/${id.replace(/^\/+/, '')}`;
}

function readFacts(provider: string, listed: Listed, unknownContext: number): object {
  const name = listed.name ?? listed.id;
  const contextLength = findCount(listed.context_length, listed.max_model_len) ?? unknownContext;
  const input = listed.architecture?.input_modalities?.filter((modality) => knownModalities.has(modality));
  const parameters = listed.supported_parameters;
  return {
    id: buildId(provider, listed),
    upstream: listed.id,
    name,
    description: `${name}, as ${provider} lists it.`,
    created: new Date((listed.created ?? 0) * 1000).toISOString().slice(0, 10),
    contextLength,
    outputLimit: findCount(listed.top_provider?.max_completion_tokens) ?? contextLength,
    input: input?.length ? input : ['text'],
    output: ['text'],
    supportedParameters: parameters ?? [],
    ...(parameters && {
      capabilities: {
        tools: parameters.includes('tools'),
        structuredOutput: parameters.includes('structured_outputs'),
        sampling: parameters.includes('temperature'),
        reasoning: { style: parameters.includes('reasoning') ? 'effort' : 'none' },
      },
    }),
  };
}

/** The operator's options for models whose provider does not list everything. */
type ListingOptions = Pick<ProviderOptions, 'free' | 'price' | 'contextLength' | 'models'>;

/** One row as a model. Undefined if it has no price, or makes more than text. */
function readModel(
  provider: string,
  row: unknown,
  { free, price, contextLength, models = {} }: ListingOptions,
): Model | undefined {
  const listed = listedSchema.parse(row);
  const theirs = readPrice(listed.pricing);
  if (listed.architecture?.output_modalities?.some((modality) => modality !== 'text')) return undefined;
  const own = models[buildId(provider, listed)] || {};
  if (!free && !price && !theirs && !own.price && !own.free) return undefined;
  const model = checkModel({
    ...readFacts(provider, listed, contextLength),
    ...(theirs && !price && !free ? { price: theirs } : { free: true }),
  });
  return price ? { ...model, free: undefined, price } : model;
}

/** Reads a list. An unreadable row is skipped. Throws if the body is not a list. */
export function readListing(provider: string, body: unknown, options: ListingOptions): Model[] {
  const models = new Map<string, Model>();
  for (const row of listSchema.parse(body).data ?? []) {
    try {
      const model = readModel(provider, row, options);
      // Local servers list a model twice if two names lead to it. The first row counts.
      if (model && !models.has(model.id)) models.set(model.id, model);
    } catch {
      continue;
    }
  }
  return applyOwnModels(provider, [...models.values()], options.models, { listed: options });
}
