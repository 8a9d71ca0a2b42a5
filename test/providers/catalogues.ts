/** The models of every catalogue file. */
import { type Model } from '../../core/model-facts.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';

export const vendors = [
  'openai',
  'anthropic',
  'google',
  'deepseek',
  'mistral',
  'groq',
  'xai',
  'together',
  'moonshot',
  'zai',
  'minimax',
  'meta',
  'alibaba',
  'cerebras',
  'fireworks',
  'perplexity',
  'cohere',
  'huggingface',
  'nvidia',
  'voyage',
  'jina',
];

export function getFileUrl(vendor: string): URL {
  return new URL(`../../plugins/providers/catalogue/${vendor}.json`, import.meta.url);
}

export const catalogues = new Map(vendors.map((vendor) => [vendor, readCatalogue(getFileUrl(vendor))]));

export const models = [...catalogues].flatMap(([vendor, listed]) =>
  listed.map((model) => ({ vendor, ...model })),
);

export function requireModel(vendor: string, upstream: string): Model {
  const found = catalogues.get(vendor)?.find((model) => model.upstream === upstream);
  if (!found) throw new Error(`${vendor} lists no ${upstream}`);
  return found;
}
