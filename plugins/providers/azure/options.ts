/** What Azure has to be told: the resource, how to show who calls, and which deployment serves which model. */
import { z } from 'zod';
import { addressSchema, keySchema, onAbortSchema, patienceSchema, type Model } from '../../../core/index.ts';

export const optionsSchema = z.strictObject({
  /** The resource's address, `https://<resource>.openai.azure.com`; `AZURE_OPENAI_ENDPOINT` unless given. */
  baseUrl: addressSchema.optional(),
  /** The resource's key, or several; `AZURE_OPENAI_API_KEY` unless given, and without one a token of Entra ID is asked for. */
  apiKey: keySchema.optional(),
  /** A dated version asks at the deployments' own addresses; `OPENAI_API_VERSION` unless given, and without one it is `v1`. */
  apiVersion: z.string().regex(/^[\w-]+$/, 'a version such as 2024-10-21, or preview').optional(),
  /** Deployments by Azure's name of their model: `{ 'gpt-5': 'our-gpt-5' }`. Only these models are offered; without it all, by their own names. */
  deployments: z.record(z.string(), z.string().regex(/^[\w.-]+$/, 'a name of letters, digits, ".", "_" and "-"')).optional(),
  onAbort: onAbortSchema,
  timeouts: patienceSchema,
});

type Options = z.output<typeof optionsSchema>;

/** The options, and the usual variables for what they leave open; one that is set to nothing is not set. */
export function resourceOf({ baseUrl, apiKey, apiVersion }: Options): Pick<Options, 'baseUrl' | 'apiKey' | 'apiVersion'> {
  const { AZURE_OPENAI_ENDPOINT: address, AZURE_OPENAI_API_KEY: key, OPENAI_API_VERSION: version } = process.env;
  return {
    baseUrl: (baseUrl ?? (address || undefined))?.replace(/\/+$/, ''),
    apiKey: apiKey ?? (key || undefined),
    apiVersion: apiVersion ?? (version || undefined),
  };
}

/** The models that are deployed, each by its deployment's name. Throws where one is named that Azure has not. */
export function deployed(models: readonly Model[], deployments: Options['deployments']): readonly Model[] {
  if (!deployments) return models;
  return Object.entries(deployments).map(([name, upstream]) => {
    const model = models.find((each) => each.upstream === name);
    if (!model) throw new Error(`option "deployments": Azure has no model "${name}"; it has ${models.map((each) => each.upstream).join(', ')}`);
    return { ...model, upstream };
  });
}
