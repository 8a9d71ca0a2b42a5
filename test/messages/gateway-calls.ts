/** Calls of this protocol to a gateway, and what its provider was asked. */
import { z } from 'zod';
import { definePlugin, type Endpoint, type PluginFactory, type UpstreamRequest } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { plain } from '../support/plain-protocol.ts';
import { postJson } from '../support/post.ts';
import { makeModel } from './bodies.ts';

interface Asked extends UpstreamRequest {
  readonly json: unknown;
}

async function* streamOnce(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

export const getUrl: Endpoint = (_target, operation) =>
  operation === 'count' ? 'https://a.example/count' : 'https://a.example/messages';

export const message =
  '{"id":"msg_1", "type":"message","role":"assistant","model":"claude-test-upstream",' +
  '"content":[{"type":"text","text":"Ahoy"}],' +
  '"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}';

export const headers = {
  'anthropic-version': '2026-10-21',
  'anthropic-beta': 'new-thing-2026-11-01',
  'x-api-key': 'sk-client',
  cookie: 'c=1',
};

export function post({ url }: TestGateway, path: string, body: object): Promise<Response> {
  return postJson(
    url + path,
    {
      model: 'house/model',
      messages: [{ role: 'user', content: 'Ahoy there' }],
      ...body,
    },
    headers,
  );
}

let running: TestGateway | undefined;

/** What the providers of this test were asked. */
export const requests: Asked[] = [];

/** Closes the gateway, and forgets what was asked. */
export async function stop(): Promise<void> {
  await running?.close();
  running = undefined;
  requests.length = 0;
}

/** A provider of one model that answers every call with this. */
export function createVendor(
  name: string,
  endpoints: Record<string, Endpoint>,
  reply: string,
  { status = 200, type = 'application/json' } = {},
): PluginFactory<z.ZodObject> {
  return definePlugin({
    name,
    options: z.strictObject({}),
    apply(host) {
      const provider = { name, endpoints, sign: (request: UpstreamRequest) => request };
      host.providers.add(provider);
      host.catalog.offer(provider, [
        makeModel({ id: 'house/model', free: undefined, price: { input: '1', output: '2' } }),
      ]);
      host.hooks.authenticate.tapPromise(name, async () => ({ kind: 'user', account: 'a', key: 'k' }));
      host.hooks.dispatch.tapPromise(name, async (request, exchange) => {
        if (exchange.attempt.target.provider !== provider) return undefined;
        requests.push({ ...request, json: JSON.parse(String(request.body)) });
        exchange.attempt.sent = true;
        return { status, headers: { 'content-type': type }, body: streamOnce(reply) };
      });
    },
  });
}

export async function start(...plugins: ReturnType<PluginFactory<z.ZodObject>>[]): Promise<TestGateway> {
  running = await startGateway({ plugins: [messages(), chatCompletions(), plain(), ...plugins] });
  return running;
}
