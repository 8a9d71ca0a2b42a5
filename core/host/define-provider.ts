/** `defineProvider` makes a plugin of a provider's data. It is off until its key (or base URL) is set. */
import { fileURLToPath } from 'node:url';
import { definePlugin } from '../define-plugin.ts';
import { readCatalogue, toRegional, type Model } from '../model-facts.ts';
import { applyOwnModels } from '../own-models.ts';
import type { PluginFactory } from '../plugin.ts';
import {
  type Endpoint,
  type Provider,
  type ProviderSpec,
  buildDrainLimits,
  secretSchema,
  addressSchema,
  optionsSchema,
  type ProviderOptions,
} from '../provider.ts';
import { readEnvironment } from '../util/environment.ts';
import { examineVendor } from './diagnostics.ts';

/** The models of a catalogue file, at the prices of one region if calls stay in it. */
function readModels(file: URL, isRegional = false): Model[] {
  const models = readCatalogue(file);
  return isRegional ? models.map(toRegional) : models;
}

function joinEndpoint(base: string, path: Endpoint): Endpoint {
  return typeof path === 'string' ? base + path : (...call) => base + path(...call);
}

function buildBearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

/**
 * Makes a provider plugin from data. It registers nothing without a key (or base URL, for a local server).
 */
export function defineProvider(spec: ProviderSpec): PluginFactory<typeof optionsSchema> {
  // A plugin in plain JavaScript may leave them out.
  const missing = (['name', 'env', 'endpoints', 'models'] as const).filter((field) => !spec[field]);
  if (missing.length > 0) throw new Error(`defineProvider of "${spec.name}" lacks ${missing.join(', ')}`);
  return definePlugin({
    name: spec.name,
    options: optionsSchema,
    apply(host, options) {
      const keys = [options.apiKey ?? readEnvironment(spec.env.key, secretSchema) ?? []].flat();
      const base = (
        options.baseUrl ??
        readEnvironment(spec.env.baseUrl, addressSchema) ??
        spec.baseUrl
      )?.replace(/(?<!\/)\/+$/, '');
      if (!base || (spec.baseUrl && keys.length === 0)) {
        host.noteOff(`set ${spec.baseUrl ? spec.env.key : spec.env.baseUrl}`);
        return;
      }
      if (spec.models instanceof URL) host.watchFile(fileURLToPath(spec.models));
      const models =
        spec.models instanceof URL
          ? applyOwnModels(spec.name, readModels(spec.models, spec.isRegional?.(base)), options.models)
          : undefined;
      const credentials = keys.length > 0 ? keys.map(spec.buildCredential ?? buildBearer) : [{}];
      for (const [index, headers] of credentials.entries()) {
        const number = credentials.length > 1 ? index + 1 : undefined;
        const provider = createProvider(spec, { base, credential: headers, number }, options);
        if (index === 0) host.providers.add(provider);
        const { path, ...asked } = spec.probe ?? {
          path: spec.models instanceof URL ? '' : spec.models.discover,
        };
        const probe = { ...asked, url: base + path, variable: spec.env.key };
        host.examinations.add({
          name: `${spec.name} ${index + 1}`,
          examine: () => examineVendor(provider, probe),
        });
        if (models) host.catalog.offer(provider, models);
        else if (!(spec.models instanceof URL))
          host.discoverModels(provider, { url: base + spec.models.discover, headers, options });
      }
    },
  });
}

interface Access {
  readonly base: string;
  /** Headers that hold the key. */
  readonly credential: Readonly<Record<string, string>>;
  /** Which of several keys it is. */
  readonly number: number | undefined;
}

function createProvider(
  spec: ProviderSpec,
  { base, credential, number }: Access,
  { onAbort, timeouts }: ProviderOptions,
): Provider {
  return {
    name: spec.name,
    ...(number === undefined ? {} : { credential: number }),
    endpoints: Object.fromEntries(
      Object.entries(spec.endpoints).map(([protocol, path]) => [protocol, joinEndpoint(base, path)]),
    ),
    choose: spec.choose,
    routes: spec.routes,
    onAbort: buildDrainLimits(onAbort),
    patience: spec.patience ? { ...spec.patience, ...timeouts } : timeouts,
    sign: (request) => ({ ...request, headers: { ...request.headers, ...credential } }),
  };
}
