/**
 * Azure's options, addresses and credentials. The version without a date has one address for all deployments,
 * and the body names the deployment as its model. A dated version has an address for each deployment, and the
 * version in the query. Calls show the resource's key, or a token of Entra ID for the identity of this
 * machine.
 */
import { z } from 'zod';
import { readEnvironment, type Model, type Provider, type Target } from '../../../core/index.ts';
import { checkUrlPath } from '../../shared/cloud/address.ts';
import { ExpiringCredential, signWith, type Fetched, loadOptional } from '../../shared/cloud/credential.ts';
import { responsesPaths } from '../../shared/openai/responses-paths.ts';
import { addressSchema, keySchema, secretSchema, vendorOptions } from '../../shared/provider/options.ts';

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
  ...vendorOptions,
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

interface Root {
  readonly root: string;
  readonly query: string;
  readonly isDated: boolean;
}

function buildRoot(base: string, version: string | undefined): Root {
  const isDated = version !== undefined && /^\d{4}-/.test(version);
  return {
    root: isDated ? `${base}/openai` : `${base}/openai/v1`,
    query: version === undefined || version === 'v1' ? '' : `?api-version=${version}`,
    isDated,
  };
}

/** Where the resource lists the models that it could serve. */
export function buildListingAddress(base: string, version: string | undefined): string {
  const { root, query } = buildRoot(base, version);
  return `${root}/models${query}`;
}

export function buildEndpoints(base: string, version: string | undefined): Provider['endpoints'] {
  const { root, query, isDated } = buildRoot(base, version);
  const buildDeploymentRoot = ({ model }: Target): string =>
    `${root}${isDated ? `/deployments/${checkUrlPath(model.upstream)}` : ''}`;
  return {
    'chat-completions': (target) => `${buildDeploymentRoot(target)}/chat/completions${query}`,
    responses: (_target, operation) => `${root}/responses${responsesPaths[operation] ?? ''}${query}`,
    embeddings: (target) => `${buildDeploymentRoot(target)}/embeddings${query}`,
    images: (target, operation) =>
      `${buildDeploymentRoot(target)}/images/${operation === 'edit' ? 'edits' : 'generations'}${query}`,
  };
}

const scope = 'https://cognitiveservices.azure.com/.default';

async function fetchHeaders(): Promise<Fetched<Record<string, string>>> {
  const { DefaultAzureCredential } = await loadOptional(
    'azure',
    '@azure/identity',
    () => import('@azure/identity'),
  );
  const { token, expiresOnTimestamp } = await new DefaultAzureCredential().getToken(scope);
  return { value: { authorization: `Bearer ${token}` }, expires: expiresOnTimestamp };
}

export function signWithToken(): Pick<Provider, 'sign' | 'unwrap'> {
  return signWith(new ExpiringCredential('azure', fetchHeaders));
}
