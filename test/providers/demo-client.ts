/** The official SDK, with the demo model at the other end of its `fetch`. */
import OpenAI from 'openai';
import type { Routed, Target, UpstreamResponse } from '../../core/index.ts';
import { Cancellation } from '../../core/util/cancellation.ts';
import { protocol as chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { createProtocol as createImages } from '../../plugins/protocols/images/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { buildRouted } from '../support/exchange.ts';
import { createHost, type TestHost } from '../support/host.ts';

/** Cancelled when the signal fires. */
export function followSignal(signal: AbortSignal | null | undefined): Cancellation {
  const cancellation = new Cancellation();
  signal?.addEventListener('abort', () => cancellation.cancel());
  return cancellation;
}

export const introduction =
  "This is Tollgate's demo model. It answers offline and knows nothing but what you send it.";

export function requireTarget(host: TestHost, model: string): Target {
  const [offer] = host.catalog.find(model);
  if (!offer) throw new Error(`no ${model}`);
  const painted = offer.model.output.includes('image');
  return { ...offer, protocol: painted ? createImages({ quality: 'optional' }) : chatCompletions };
}

export async function ask(
  host: TestHost,
  exchange: Routed,
  body: string,
): Promise<UpstreamResponse | undefined> {
  return host.calls.dispatch.promise(
    { method: 'POST', url: 'http://demo.invalid/v1/chat/completions', headers: {}, body },
    exchange,
  );
}

/** The official SDK, with the demo model at the other end of its `fetch`. */
export function createClient(host: TestHost = createHost([demo({ pace: 0 })])): OpenAI {
  return new OpenAI({
    apiKey: 'unused',
    maxRetries: 0,
    async fetch(_url, init) {
      const exchange = buildRouted(requireTarget(host, 'demo/echo'), {
        cancellation: followSignal(init?.signal),
      });
      const response = await ask(host, exchange, String(init?.body));
      if (!response) throw new Error('nothing answered');
      const headers = { 'content-type': String(response.headers['content-type']) };
      return new Response(ReadableStream.from(response.body), { status: response.status, headers });
    },
  });
}

export const model = 'echo';
export const hello = { model, messages: [{ role: 'user' as const, content: 'hello' }] };
