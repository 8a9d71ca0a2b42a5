/** `defineProvider` makes a plugin of a provider's data. It is off until its key (or base URL) is set. */
import {
  definePlugin,
  readEnvironment,
  toRegional,
  type Endpoint,
  type PluginFactory,
  type Provider,
} from '../../../core/index.ts';
import { watchListing } from './discovery.ts';
import type { Probe } from './examine-vendor.ts';
import { offerVendor } from './offer.ts';
import { addressSchema, optionsSchema, secretSchema } from './options.ts';
import { signWithHeaders, signWithKey } from './sign-with-key.ts';

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

/** A path that begins with `/..` is beside the base URL, and never above its host. */
function joinPath(base: string, path: string): string {
  return path.startsWith('/..') ? new URL(base + path).href : base + path;
}

function joinEndpoint(base: string, path: Endpoint): Endpoint {
  return typeof path === 'string' ? joinPath(base, path) : (...call) => joinPath(base, path(...call));
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
      const { name, models, choose, routes, patience, isRegional, probe } = spec;
      const build = spec.buildCredential ?? buildBearer;
      const signed = keys.map((key) => signWithKey(host, name, key, build));
      const endpoints = Object.fromEntries(
        Object.entries(spec.endpoints).map(([protocol, path]) => [protocol, joinEndpoint(base, path)]),
      );
      const { path, ...asked } = probe ?? { path: models instanceof URL ? '' : models.discover };
      offerVendor(host, {
        provider: { name, endpoints, choose, routes, patience },
        keys: signed.length > 0 ? signed : [signWithHeaders({})],
        probe: { ...asked, url: joinPath(base, path), variable: spec.env.key },
        options,
        ...(models instanceof URL
          ? { catalogue: models, choose: (all) => (isRegional?.(base) ? all.map(toRegional) : all) }
          : {
              discover: (provider, key) =>
                watchListing(host, provider, {
                  url: base + models.discover,
                  key: keys[key],
                  options,
                }),
            }),
      });
    },
  });
}
