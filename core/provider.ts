/**
 * A provider is data: where each protocol is spoken, which models there are, and how a finished request is
 * signed. `defineProvider` makes a plugin of that data. It is off until its key (or base URL) is set.
 */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { priceSchema } from './billing/price.ts';
import type { CanonicalRequest } from './canonical/request.ts';
import type { Target } from './exchange.ts';
import { examineVendor, type Probe } from './host/diagnostics.ts';
import { readEnvironment } from './host/environment.ts';
import { applyOwnModels, ownModelsSchema } from './host/own-models.ts';
import { readCatalogue, toRegional, type Model } from './model-facts.ts';
import { definePlugin, type PluginFactory } from './plugin.ts';
import type { Operation } from './protocol.ts';
import { drainSchema, type DrainLimits } from './upstream/drain.ts';
import { longestDeadline, secondsOption } from './util/deadlines.ts';

/** A request as the provider sees it. Nothing of the client's headers is in it unless put here on purpose. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/**
 * A provider's reply: status, headers, and the body as it arrives. Ending the iteration early closes the
 * connection.
 */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * An absolute URL, or a function that makes one. A provider that counts tokens, or edits, at another URL uses
 * a function.
 */
export type Endpoint = string | ((target: Target, operation: Operation, stream: boolean) => string);

export interface Provider {
  readonly name: string;
  /**
   * Number (from 1) of the key that signs, if the provider has several. Each key is a target of its own and
   * rests by itself.
   */
  readonly credential?: number;
  /** URL of each protocol, by protocol name. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /**
   * Chooses among several protocols if the provider does not speak the client's, or rejects the call on it.
   * Returns a protocol name; undefined: the first one.
   */
  readonly choose?: ((request: CanonicalRequest, model: Model) => string | undefined) | undefined;
  /** Whether it routes calls itself, by a `provider` object in their bodies, as brokers do. */
  readonly routes?: boolean | undefined;
  /**
   * How far to read a reply after its client disconnected, if the provider bills all of it. Undefined: cancel
   * at once.
   */
  readonly onAbort?: DrainLimits | undefined;
  /**
   * For clouds that wrap a protocol: returns the finished request as the cloud accepts it. It splices the
   * body, so that verbatim bytes stay.
   */
  readonly wrap?: (request: UpstreamRequest, target: Target, operation: Operation) => UpstreamRequest;
  /** The way back: returns the cloud's reply as the protocol has it, frames as server-sent events. */
  readonly unwrap?: (
    response: UpstreamResponse,
    target: Target,
    operation: Operation,
  ) => UpstreamResponse | Promise<UpstreamResponse>;
  /** Milliseconds to the first event of a stream, and to a JSON reply, instead of the gateway's. */
  readonly patience?:
    | { readonly firstEvent?: number | undefined; readonly reply?: number | undefined }
    | undefined;
  /** Returns the finished request with our credential on it. */
  sign(request: UpstreamRequest): UpstreamRequest | Promise<UpstreamRequest>;
}

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

/** When a client disconnects: cancel the provider's reply, or drain it for its usage, within limits. */
export const onAbortSchema = z
  .union([z.literal('cancel'), z.literal('drain'), z.strictObject({ drain: drainSchema })])
  .default('cancel');

/** Limits of draining. */
export function buildDrainLimits(choice: z.output<typeof onAbortSchema>): DrainLimits | undefined {
  if (choice === 'cancel') return undefined;
  return choice === 'drain' ? drainSchema.parse({}) : choice.drain;
}

/** Seconds to the first event of a stream, and to a JSON reply, instead of the gateway's. */
export const patienceSchema = z
  .strictObject({ firstEvent: secondsOption, reply: secondsOption })
  .partial()
  .optional();

/** Characters that a header can hold: a key with a line break would fail every call without saying why. */
export const secretSchema = z
  .string()
  .regex(/^[!-~]+$/, 'has to be a key: letters, digits and signs, without a space or a line break');
/** One key, or several that take turns. */
export const keySchema = z.union([secretSchema, z.array(secretSchema).min(1)]);

/** A base URL. */
export const addressSchema = z.url({
  protocol: /^https?$/,
  error: 'has to be an address with its scheme, as https://host/v1',
});

const optionsSchema = z.strictObject({
  /** Key or keys. Default: the usual environment variable. */
  apiKey: keySchema.optional(),
  /** Base URL with its version segment. Default: the usual environment variable, or the vendor's own. */
  baseUrl: addressSchema.optional(),
  /** Discovered models cost nothing. */
  free: z.literal(true).optional(),
  /** Price of discovered models in USD per million tokens. */
  price: priceSchema.optional(),
  /** Context length in tokens of discovered models that do not state it. */
  contextLength: z.int().positive().default(8192),
  /** Models to add, change or hide, by id. */
  models: ownModelsSchema,
  /** Seconds between two reads of the model list. */
  discoverEvery: z.int().positive().max(longestDeadline).default(60),
  onAbort: onAbortSchema,
  timeouts: patienceSchema,
});

export type ProviderOptions = z.output<typeof optionsSchema>;

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
