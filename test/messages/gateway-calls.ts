/** Calls of this protocol to a gateway, and what its provider was asked. */
import { onTestFinished } from 'vitest';
import type { Endpoint, ModelFacts, Plugin, UpstreamRequest } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { plain } from '../support/plain-protocol.ts';
import { postJson } from '../support/post.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

interface Asked extends UpstreamRequest {
  readonly json: unknown;
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

/** What the providers of this test were asked. */
export const requests: Asked[] = [];

/** A provider of one model that answers every call with this. */
export function buildVendor(
  protocols: Readonly<Record<string, Endpoint>>,
  body: string,
  status = 200,
): Plugin {
  const facts: Partial<ModelFacts> = {
    upstream: 'claude-test-upstream',
    contextLength: 200_000,
    outputLimit: 64_000,
    free: undefined,
    price: { input: '1', output: '2' },
    capabilities: {
      reasoning: { style: 'budget', budget: { min: 1024 } },
      wire: { messages: { midSystem: true } },
    },
  };
  return tappedVendor(
    'house',
    protocols,
    (request) => {
      requests.push({ ...request, json: JSON.parse(String(request.body)) });
      return { status, body };
    },
    facts,
  );
}

export async function start(...plugins: readonly Plugin[]): Promise<TestGateway> {
  requests.length = 0;
  const gateway = await startGateway({
    plugins: [acceptAnyKey(), messages(), chatCompletions(), plain(), ...plugins],
  });
  onTestFinished(() => gateway.close());
  return gateway;
}
