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
  type Routed,
  type UpstreamRequest,
} from '../../core/index.ts';
import { houseModel } from './house-model.ts';

export interface TappedReply {
  readonly status?: number;
  /** A stream if it starts like one, otherwise JSON. */
  readonly text: string;
}

async function* streamText(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A provider that serves one model by these protocols, and answers what a test says. */
export function tappedVendor(
  name: string,
  protocols: readonly string[],
  answer: (request: UpstreamRequest, exchange: Routed) => TappedReply,
  facts: Partial<ModelFacts> = {},
): Plugin {
  return definePlugin({
    name,
    options: z.strictObject({}),
    apply(host) {
      const endpoints = Object.fromEntries(
        protocols.map((protocol) => [protocol, `https://${name}.example/${protocol}`]),
      );
      const provider = { name, endpoints, sign: (request: UpstreamRequest) => request };
      host.providers.add(provider);
      host.catalog.offer(provider, [checkModel({ ...houseModel, ...facts })]);
      host.hooks.dispatch.tapPromise(name, async (request, exchange) => {
        if (exchange.attempt.target.provider !== provider) return undefined;
        exchange.attempt.sent = true;
        const { status = 200, text } = answer(request, exchange);
        return {
          status,
          headers: { 'content-type': /^(event|data):/.test(text) ? 'text/event-stream' : 'application/json' },
          body: streamText(text),
        };
      });
    },
  })();
}
