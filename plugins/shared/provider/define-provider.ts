/** `defineProvider` makes a plugin of a provider's data. It is off until its key (or base URL) is set. */
import { fileURLToPath } from 'node:url';
import {
  definePlugin,
  readEnvironment,
  toRegional,
  type Endpoint,
  type Model,
  type PluginFactory,
  type Provider,
} from '../../../core/index.ts';
import { readCatalogue } from './catalogue-file.ts';
import { watchListing } from './discovery.ts';
import { addProvider, type Probe } from './examine-vendor.ts';
import {
  addressSchema,
  buildDrainLimits,
  optionsSchema,
  secretSchema,
  type ProviderOptions,
} from './options.ts';
import { applyOwnModels } from './own-models.ts';

export interface ProviderSpec {
  readonly name: string;
  /** Environment variables that switch the provider on and set its base URL. */
  readonly env: { readonly key: string; readonly baseUrl: string };
  /** The vendor's base URL. Without one the provider is off until its URL is set. */
  readonly baseUrl?: string;
  /** Paths below the base URL, by protocol name. A function if the path depends on the call. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /** Chooses the protocol for a translated request, if the vendor speaks several. Default: the first. */
  readonly choose?: Provider['choose'];
  /** Whether the vendor routes calls itself, by a `provider` object like the gateway's. */
  readonly routes?: boolean;
  /** A catalogue file, or the path of the vendor's model list. */
  readonly models: URL | { readonly discover: string };
  /** A path whose GET costs nothing and tells whether the key works. Not needed if models are discovered. */
  readonly probe?: Omit<Probe, 'url' | 'variable' | 'body'> & { readonly path: string };
  /** Timeouts in milliseconds, if replies start later than usual. The operator's options win. */
  readonly patience?: Provider['patience'];
  /** Whether the vendor keeps the calls to a base URL in one region, which costs more (`price.regional`). */
  readonly isRegional?: (baseUrl: string) => boolean;
  /** How the key is sent. Default: `Authorization: Bearer`. */
  readonly buildCredential?: (key: string) => Readonly<Record<string, string>>;
}

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
        const { path, ...asked } = spec.probe ?? {
          path: spec.models instanceof URL ? '' : spec.models.discover,
        };
        const probe = { ...asked, url: base + path, variable: spec.env.key };
        addProvider(host, provider, probe);
        if (models) host.catalog.offer(provider, models);
        else if (!(spec.models instanceof URL))
          watchListing(host, provider, { url: base + spec.models.discover, headers, options });
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
