/** Azure's options: the resource, the credentials, and which deployment serves which model. */
import { z } from 'zod';
import { readEnvironment, type Model } from '../../../core/index.ts';
import { cloudOptions } from '../../shared/cloud/offer.ts';
import { addressSchema, keySchema, secretSchema } from '../../shared/provider/options.ts';

const versionSchema = z.string().regex(/^[\w-]+$/, 'a version such as 2024-10-21, or preview');

export const optionsSchema = z.strictObject({
  /** The resource's address, `https://<resource>.openai.azure.com`; `AZURE_OPENAI_ENDPOINT` unless given. */
  baseUrl: addressSchema.optional(),
  /**
   * The resource's key, or several; `AZURE_OPENAI_API_KEY` unless given, and without one a token of Entra ID
   * is asked for.
   */
  apiKey: keySchema.optional(),
  /**
   * With a dated version, calls go to the deployments' own addresses; `OPENAI_API_VERSION` unless given, and
   * `v1` without either.
   */
  apiVersion: versionSchema.optional(),
  /**
   * The deployment of each model, by Azure's name of the model: `{ 'gpt-5': 'our-gpt-5' }`. Only these models
   * are offered; without the option all are, each under its own name.
   */
  deployments: z
    .record(z.string(), z.string().regex(/^[\w.-]+$/, 'a name of letters, digits, ".", "_" and "-"'))
    .optional(),
  ...cloudOptions,
});

type Options = z.output<typeof optionsSchema>;

/** Completes the options from the usual variables. */
export function completeOptions({
  baseUrl,
  apiKey,
  apiVersion,
}: Options): Pick<Options, 'baseUrl' | 'apiKey' | 'apiVersion'> {
  return {
    baseUrl: (baseUrl ?? readEnvironment('AZURE_OPENAI_ENDPOINT', addressSchema))?.replace(/(?<!\/)\/+$/, ''),
    apiKey: apiKey ?? readEnvironment('AZURE_OPENAI_API_KEY', secretSchema),
    apiVersion: apiVersion ?? readEnvironment('OPENAI_API_VERSION', versionSchema),
  };
}

/** The models that are deployed, each with the name of its deployment. Throws if Azure has no such model. */
export function listDeployedModels(
  models: readonly Model[],
  deployments: Options['deployments'],
): readonly Model[] {
  if (!deployments) return models;
  return Object.entries(deployments).map(([name, upstream]) => {
    const model = models.find((each) => each.upstream === name);
    if (!model)
      throw new Error(
        `option "deployments": Azure has no model "${name}"; ` +
          `it has ${models.map((each) => each.upstream).join(', ')}`,
      );
    return { ...model, upstream };
  });
}
