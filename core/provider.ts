/**
 * A provider is data: where each protocol is spoken, which models there are, and how a finished request is
 * signed. `defineProvider` makes a plugin of that data. It is off until its key (or base URL) is set.
 */
import { z } from 'zod';
import type { CanonicalRequest } from './canonical/request.ts';
import type { Target } from './exchange.ts';
import type { Model } from './model-facts.ts';
import { ownModelsSchema } from './own-models.ts';
import type { PriceSchedule } from './price-schedule.ts';
import { priceSchema, type Price } from './price.ts';
import type { Operation } from './protocol.ts';
import { longestDeadline, secondsOption } from './util/timeouts.ts';

export const drainSchema = z.strictObject({
  /** Seconds and bytes of text to read at most. */
  seconds: z.number().positive().max(longestDeadline).default(60),
  bytes: z
    .int()
    .positive()
    .default(4 * 1024 * 1024),
  /** Replies of the provider to drain at once. */
  atOnce: z.int().positive().default(20),
});

export type DrainLimits = z.output<typeof drainSchema>;

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

export const optionsSchema = z.strictObject({
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

/** One provider that serves one model. */
export interface Offer {
  readonly provider: Provider;
  readonly model: Model;
  readonly price: Price;
  /** When the rules of the price apply, if it has any. */
  readonly schedule?: PriceSchedule | undefined;
  /** The provider's offer of another model, by the vendor's own name, in case the vendor answers with it. */
  readonly findServed?: (upstream: string) => Offer | undefined;
}

/** A free request that shows whether the provider is up and accepts the key. */
export interface Probe {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether the path names nothing, so that a vendor that accepts the key answers 404. */
  readonly missing?: boolean | undefined;
  /** For a provider without a free GET: the body to POST, such as a token count. */
  readonly body?: string | undefined;
  /** The environment variable that usually holds the key. */
  readonly variable: string;
}
