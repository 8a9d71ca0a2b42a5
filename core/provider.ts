/**
 * A provider is data: where each protocol is spoken, which models there are, and how a finished request is
 * signed.
 */
import type { CanonicalRequest } from './canonical/request.ts';
import type { Target } from './exchange.ts';
import type { Model } from './model-facts.ts';
import type { PriceSchedule } from './price-schedule.ts';
import type { Price } from './price-terms.ts';
import type { BodySource, Operation } from './protocol.ts';

export interface Provider {
  readonly name: string;
  /** Number (from 1) of the key that signs, if there are several. Each is a target, and rests by itself. */
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
  /** The vendor refused the credential on this request: returns it with another, or undefined without one. */
  readonly renew?: (request: UpstreamRequest) => Promise<UpstreamRequest | undefined>;
}

/** An absolute URL. Or a function that makes one, if the provider counts or edits at another path. */
export type Endpoint = string | ((target: Target, operation: Operation, stream: boolean) => string);

/** A request as the provider sees it. Nothing of the client's headers is in it unless put here on purpose. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** The body, if it is not in memory. Then `body` is empty. */
  readonly source?: BodySource | undefined;
}

/** A provider's reply, its body as it arrives. Ending the iteration early closes the connection. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** How far a provider's reply is read after its client disconnected. */
export interface DrainLimits {
  /** Seconds and bytes of text to read at most. */
  readonly seconds: number;
  readonly bytes: number;
  /** Replies of the provider to drain at once. */
  readonly atOnce: number;
}

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
