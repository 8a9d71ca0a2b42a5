/**
 * Reads a provider's own model list (`GET /models`, chat style) into catalogue facts. A model is left out if
 * neither the list nor the operator gives its price. Lists differ in what they state and how, so an
 * unreadable fact is an unknown one, and only a row without a usable id is left out for its form.
 */
import { z } from 'zod';
import {
  checkModel,
  facts,
  getMessage,
  isDecimal,
  joinIssues,
  shiftDecimal,
  type Model,
  type Rate,
} from '../../../core/index.ts';
import type { ProviderOptions } from './options.ts';
import { applyOwnModels } from './own-models.ts';

const listSchema = z.looseObject({ data: z.array(z.unknown()).nullable() });

/** A number, which some servers write as a string. */
const number = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,15}(\.\d{1,9})?$/)
      .transform(Number),
  ])
  .nullish()
  .catch(undefined);

/** A day, or the day of a moment. */
const day = z
  .string()
  .transform((text) => text.slice(0, 10))
  .pipe(z.iso.date())
  .nullish()
  .catch(undefined);

const listedSchema = z.looseObject({
  id: z.string(),
  name: z.string().min(1).nullish().catch(undefined),
  created: number,
  context_length: number,
  /** vLLM's name for the context length. */
  max_model_len: number,
  /** llama.cpp's: the context that the server runs with, not the one the model was trained for. */
  meta: z.looseObject({ n_ctx: number }).nullish().catch(undefined),
  /** OpenAI: the first day without the model. */
  shutdown_date: day,
  /** OpenRouter: the last day of the model. */
  expiration_date: day,
  top_provider: z.looseObject({ max_completion_tokens: number }).nullish(),
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

/** OpenRouter's names of rates. */
const listedRates = [
  ['prompt', { unit: 'input' }],
  ['completion', { unit: 'output' }],
  ['input_cache_read', { unit: 'cacheRead' }],
  ['input_cache_write', { unit: 'cacheWrite5m' }],
  ['internal_reasoning', { unit: 'reasoning' }],
  ['audio', { unit: 'input', modality: 'audio' }],
  ['request', { unit: 'request' }],
  ['web_search', { unit: 'webSearch' }],
] as const;

/**
 * A listed model's price, from USD for one of each unit. A part at "0" has no price of its own; it is not
 * free. Undefined if the price varies.
 */
function readPrice(pricing: Listed['pricing']): Rate[] | undefined {
  const rates = listedRates.flatMap(([name, billed]): Rate[] => {
    const stated = pricing?.[name];
    if (typeof stated !== 'string' || !isDecimal(stated)) return [];
    const isWhole = name === 'prompt' || name === 'completion';
    if (Number(stated) === 0 && !isWhole) return [];
    return [{ ...billed, rate: facts[billed.unit].per === 1 ? stated : shiftDecimal(stated, 6) }];
  });
  const [input, output] = rates;
  return input?.unit === 'input' && output?.unit === 'output' ? rates : undefined;
}

const knownModalities = new Set(['text', 'image', 'audio', 'video', 'pdf', 'file']);
const modelId = /^[\w.-]+\/./;
const oneDay = 24 * 60 * 60 * 1000;

function findCount(...listed: readonly (number | null | undefined)[]): number | undefined {
  return listed.find((count): count is number => Number.isSafeInteger(count) && Number(count) > 0);
}

/** The id that clients send. Characters that our ids cannot have become hyphens. */
function buildId(provider: string, { id }: Listed): string {
  const plain = id.replace(/^\/+/, '').replace(/[^\w./:@+-]+/g, '-');
  if (!/^\w/.test(id.replace(/^\/+/, '')))
    throw new Error('its id does not begin with a letter or a digit of ASCII');
  return modelId.test(id) ? plain : `${provider}/${plain}`;
}

/** The day of release. Some servers state milliseconds. */
function readCreated({ created }: Listed): string {
  const seconds = Number(created ?? 0);
  const at = new Date(seconds > 1e11 ? seconds : seconds * 1000);
  return at.getTime() >= 0 ? at.toISOString().slice(0, 10) : '1970-01-01';
}

/** The last day of service. */
function readExpiry({ shutdown_date: gone, expiration_date: last }: Listed): string | null {
  if (!gone) return last ?? null;
  return new Date(Date.parse(gone) - oneDay).toISOString().slice(0, 10);
}

/** What models of embeddings are called by lists that do not say what a model makes. */
const embeddingName = /embed|\b(?:bge|gte|e5|minilm)\b/i;

/** Rerankers are named after the same models, and make no vectors. */
function canEmbed({ id, architecture }: Listed): boolean {
  const stated = architecture?.output_modalities ?? [];
  if (stated.length > 0) return stated.every((modality) => modality === 'embeddings');
  return embeddingName.test(id) && !/rerank/i.test(id);
}

function readFacts(provider: string, listed: Listed, unknownContext: number): object {
  const name = listed.name ?? listed.id;
  const { context_length: stated, max_model_len: served, meta } = listed;
  const contextLength = findCount(stated, served, meta?.n_ctx) ?? unknownContext;
  const input = listed.architecture?.input_modalities?.filter((modality) => knownModalities.has(modality));
  const parameters = listed.supported_parameters;
  const embeds = canEmbed(listed);
  return {
    id: buildId(provider, listed),
    upstream: listed.id,
    name,
    description: `${name}, as ${provider} lists it.`,
    created: readCreated(listed),
    expires: readExpiry(listed),
    contextLength,
    outputLimit: embeds ? 1 : (findCount(listed.top_provider?.max_completion_tokens) ?? contextLength),
    input: input?.length ? input : ['text'],
    output: [embeds ? 'embeddings' : 'text'],
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

/** Why a model without a price is left out. */
export const withoutPrice = 'it has no price: the options "free", "price" and "models" state one';

/** The operator's options for models whose provider does not list everything. */
type ListingOptions = Pick<ProviderOptions, 'free' | 'price' | 'contextLength' | 'models'>;

/** One row as a model. Throws an Error that says why it is left out. */
function readModel(
  provider: string,
  row: unknown,
  { free, price, contextLength, models = {} }: ListingOptions,
): Model {
  const listed = listedSchema.parse(row);
  const theirs = readPrice(listed.pricing);
  if (!canEmbed(listed) && listed.architecture?.output_modalities?.some((modality) => modality !== 'text'))
    throw new Error('it makes more than text');
  const own = models[buildId(provider, listed)] || {};
  if (!free && !price && !theirs && !own.price && !own.free) throw new Error(withoutPrice);
  const model = checkModel({
    ...readFacts(provider, listed, contextLength),
    ...(theirs && !price && !free ? { price: theirs } : { free: true }),
  });
  return price ? { ...model, free: undefined, price } : model;
}

function readId(row: unknown): string | undefined {
  return z.looseObject({ id: z.string() }).safeParse(row).data?.id;
}

/** A row that is not offered. */
export interface LeftOut {
  readonly id: string;
  readonly reason: string;
}

/** Reads a list, and adds the rows that are not offered to `leftOut`. Throws if the body is not a list. */
export function readListing(
  provider: string,
  body: unknown,
  options: ListingOptions,
  leftOut: LeftOut[] = [],
): Model[] {
  const models = new Map<string, Model>();
  for (const [index, row] of (listSchema.parse(body).data ?? []).entries()) {
    const id = readId(row) ?? `row ${index + 1}`;
    try {
      const model = readModel(provider, row, options);
      const other = models.get(model.id);
      // Local servers list a model twice if two names lead to it. The first row counts.
      if (!other) models.set(model.id, model);
      else if (other.upstream !== model.upstream)
        leftOut.push({ id, reason: `the model "${other.upstream}" has the same id here, ${model.id}` });
    } catch (error) {
      leftOut.push({ id, reason: error instanceof z.ZodError ? joinIssues(error) : getMessage(error) });
    }
  }
  return applyOwnModels(provider, [...models.values()], options.models, { listed: options });
}
