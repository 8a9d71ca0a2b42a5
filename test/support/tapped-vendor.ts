/**
 * Vendors that are taps on `dispatch`, for flows in which only bodies matter and no socket is needed behind
 * the gateway.
 */
import { z } from 'zod';
import {
  checkModel,
  definePlugin,
  type ModelFacts,
  type Plugin,
  type Endpoint,
  type Routed,
  type UpstreamRequest,
} from '../../core/index.ts';
import { houseModel } from './house-model.ts';

export interface TappedReply {
  readonly status?: number;
  /** By default that of a stream if the body comes in pieces or starts like one, otherwise that of JSON. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string>;
}

async function* streamBytes(body: TappedReply['body']): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') yield Buffer.from(body);
  else for await (const piece of body) yield Buffer.from(piece);
}

function guessType(body: TappedReply['body']): string {
  return typeof body !== 'string' || /^(event|data):/.test(body) ? 'text/event-stream' : 'application/json';
}

/** A provider that serves one model by these protocols, and answers what a test says. */
export function tappedVendor(
  name: string,
  protocols: readonly string[] | Readonly<Record<string, Endpoint>>,
  answer: (request: UpstreamRequest, exchange: Routed) => TappedReply | Promise<TappedReply>,
  facts: Partial<ModelFacts> = {},
): Plugin {
  return definePlugin({
    name,
    options: z.strictObject({}),
    apply(host) {
      const endpoints = Array.isArray(protocols)
        ? Object.fromEntries(protocols.map((protocol) => [protocol, `https://${name}.example/${protocol}`]))
        : protocols;
      const provider = { name, endpoints, sign: (request: UpstreamRequest) => request };
      host.providers.add(provider);
      host.catalog.offer(provider, [checkModel({ ...houseModel, ...facts })]);
      host.hooks.dispatch.tapPromise(name, async (request, exchange) => {
        if (exchange.attempt.target.provider !== provider) return undefined;
        exchange.attempt.sent = true;
        const { status = 200, body, type = guessType(body), headers } = await answer(request, exchange);
        return { status, headers: { 'content-type': type, ...headers }, body: streamBytes(body) };
      });
    },
  })();
}
