/**
 * A provider is data: where each protocol is spoken, which models there are, and how a finished request is
 * signed. `defineProvider` makes a plugin of that data; switched off until its key (or address) is set.
 */
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { CanonicalRequest } from './canonical/request.ts';
import { readCatalogue, type Model } from './catalog.ts';
import type { Target } from './exchange.ts';
import { examineVendor } from './host/diagnostics.ts';
import { fromEnvironment } from './host/environment.ts';
import { priceSchema } from './money.ts';
import { definePlugin, type PluginFactory } from './plugin.ts';
import type { Operation } from './protocol.ts';
import { drainSchema, type DrainLimits } from './upstream/drain.ts';
import { longestDeadline } from './util/deadlines.ts';

/** A request as the vendor will see it: nothing of the client's but what was put here on purpose. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** A vendor's reply: its head, and its body as it arrives. Ending the iteration early lets go of the connection. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * An absolute URL, or how to make one. A plain one is the address of calls; a vendor that counts tokens, or edits
 * at another address, gives a function.
 */
export type Endpoint = string | ((target: Target, operation: Operation, stream: boolean) => string);

export interface Provider {
  readonly name: string;
  /** Where the provider has several keys, the number (from 1) of the one that signs: each is a target of its own, and rests by itself. */
  readonly credential?: number;
  /** Where the provider speaks a protocol, by the protocol's name: an absolute URL, or how to make one. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /**
   * Asked where the provider speaks several protocols, and either not the client's or its vendor refuses the call on it:
   * passed the request and the model it is for; the answer is the name of the protocol to use, undefined for the first.
   */
  readonly choose?: ((request: CanonicalRequest, model: Model) => string | undefined) | undefined;
  /** How far a reply is read on whose client has left, for a vendor that bills the whole of it; cancelled at once where undefined. */
  readonly onAbort?: DrainLimits | undefined;
  /** Of a cloud that wraps a protocol: passed the finished request and what it asks; the answer is that request as the cloud takes it, its body spliced so that what is verbatim stays so. */
  readonly wrap?: (request: UpstreamRequest, target: Target, operation: Operation) => UpstreamRequest;
  /** The way back: passed the cloud's reply; the answer is the reply as the protocol has it, frames as server-sent events. */
  readonly unwrap?: (
    response: UpstreamResponse,
    target: Target,
    operation: Operation,
  ) => UpstreamResponse | Promise<UpstreamResponse>;
  /** Milliseconds it has to the first event of a stream, and to a whole JSON reply, where these are not the gateway's own. */
  readonly patience?:
    | { readonly firstEvent?: number | undefined; readonly reply?: number | undefined }
    | undefined;
  /** Passed the finished request; the answer is the same request with the vendor's credential on it. */
  sign(request: UpstreamRequest): UpstreamRequest | Promise<UpstreamRequest>;
}

export interface ProviderSpec {
  readonly name: string;
  /** The environment variables that switch the provider on and move its address. */
  readonly env: { readonly key: string; readonly baseUrl: string };
  /** The vendor's own address; without one the provider is off until its address is set. */
  readonly baseUrl?: string;
  /** Paths below the address, by protocol name; a function where the path depends on the call. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  /** Which protocol suits a translated request, where the vendor speaks several; the first unless there is a reason. */
  readonly choose?: Provider['choose'];
  /** A catalogue file, or the path below the address where the vendor lists its models. */
  readonly models: URL | { readonly discover: string };
  /** A path below the address where a GET that costs nothing tells whether the key is accepted; not needed where models are discovered. */
  readonly probe?: { readonly path: string; readonly headers?: Readonly<Record<string, string>> };
  /** Its own timeouts in milliseconds, where its replies begin later than those of most vendors; the operator's go first. */
  readonly patience?: Provider['patience'];
  /** How the key is shown to the vendor; `Authorization: Bearer` unless said otherwise. */
  readonly credential?: (key: string) => Readonly<Record<string, string>>;
}

/** When a client leaves: the vendor's reply is cancelled at once, or read on for its figures, within limits. */
export const onAbortSchema = z
  .union([z.literal('cancel'), z.literal('drain'), z.strictObject({ drain: drainSchema })])
  .default('cancel');

/** How far a reply is read on by that choice. */
export function drainLimits(choice: z.output<typeof onAbortSchema>): DrainLimits | undefined {
  if (choice === 'cancel') return undefined;
  return choice === 'drain' ? drainSchema.parse({}) : choice.drain;
}

const seconds = z
  .number()
  .positive()
  .max(longestDeadline)
  .transform((value) => value * 1000);

/** Seconds to the first event of a stream, and to a whole JSON reply, where these are not the gateway's own: a machine of one's own may be slow. */
export const patienceSchema = z.strictObject({ firstEvent: seconds, reply: seconds }).partial().optional();

/** What a header can hold: a key with a line break behind it would fail every call without saying why. */
export const secretSchema = z
  .string()
  .regex(/^[!-~]+$/, 'has to be a key: letters, digits and signs, without a space or a line break');
/** One key, or several that take turns. */
export const keySchema = z.union([secretSchema, z.array(secretSchema).min(1)]);

/** Where a vendor is asked. */
export const addressSchema = z.url({
  protocol: /^https?$/,
  error: 'has to be an address with its scheme, as https://host/v1',
});

const optionsSchema = z.strictObject({
  /** The vendor's key, or several of them; its usual environment variable unless given. */
  apiKey: keySchema.optional(),
  /** The vendor's address, with its version segment; its usual environment variable, or the vendor's own, unless given. */
  baseUrl: addressSchema.optional(),
  /** Of discovered models: that they cost nothing. */
  free: z.literal(true).optional(),
  /** Of discovered models: what each costs, in USD per million tokens. */
  price: priceSchema.optional(),
  /** Of discovered models whose vendor does not say: how many tokens of input and output fit into one. */
  contextLength: z.int().positive().default(8192),
  /** Seconds between two looks at the vendor's list of models. */
  discoverEvery: z.int().positive().max(longestDeadline).default(60),
  onAbort: onAbortSchema,
  timeouts: patienceSchema,
});

export type ProviderOptions = z.output<typeof optionsSchema>;

function below(base: string, path: Endpoint): Endpoint {
  return typeof path === 'string' ? base + path : (...call) => base + path(...call);
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

/** Makes a provider plugin of its data. The plugin registers nothing while it has neither key nor, for a local one, address. */
export function defineProvider(spec: ProviderSpec): PluginFactory<typeof optionsSchema> {
  return definePlugin({
    name: spec.name,
    options: optionsSchema,
    apply(host, options) {
      const keys = [options.apiKey ?? fromEnvironment(spec.env.key, secretSchema) ?? []].flat();
      const base = (
        options.baseUrl ??
        fromEnvironment(spec.env.baseUrl, addressSchema) ??
        spec.baseUrl
      )?.replace(/\/+$/, '');
      if (!base || (spec.baseUrl && keys.length === 0)) {
        host.off(`set ${spec.baseUrl ? spec.env.key : spec.env.baseUrl}`);
        return;
      }
      if (spec.models instanceof URL) host.readsFrom(fileURLToPath(spec.models));
      const models = spec.models instanceof URL ? readCatalogue(spec.models) : undefined;
      const credentials = keys.length > 0 ? keys.map(spec.credential ?? bearer) : [{}];
      for (const [index, headers] of credentials.entries()) {
        const provider = providerOf(
          spec,
          base,
          headers,
          credentials.length > 1 ? index + 1 : undefined,
          options,
        );
        if (index === 0) host.providers.add(provider);
        const { path, headers: own } = spec.probe ?? {
          path: spec.models instanceof URL ? '' : spec.models.discover,
        };
        const probe = { url: base + path, headers: own, variable: spec.env.key };
        host.examinations.add({
          name: `${spec.name} ${index + 1}`,
          examine: () => examineVendor(provider, probe),
        });
        if (models) host.catalog.offer(provider, models);
        else if (!(spec.models instanceof URL))
          host.discover(provider, { url: base + spec.models.discover, headers, options });
      }
    },
  });
}

function providerOf(
  spec: ProviderSpec,
  base: string,
  credential: Readonly<Record<string, string>>,
  number: number | undefined,
  { onAbort, timeouts }: ProviderOptions,
): Provider {
  return {
    name: spec.name,
    ...(number === undefined ? {} : { credential: number }),
    endpoints: Object.fromEntries(
      Object.entries(spec.endpoints).map(([protocol, path]) => [protocol, below(base, path)]),
    ),
    choose: spec.choose,
    onAbort: drainLimits(onAbort),
    patience: spec.patience ? { ...spec.patience, ...timeouts } : timeouts,
    sign: (request) => ({ ...request, headers: { ...request.headers, ...credential } }),
  };
}
