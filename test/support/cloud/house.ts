/** A gateway with one cloud behind it, an account and a key, and the official SDKs as its clients. */
import type { Plugin } from '../../../core/index.ts';
import { apiKeyHeader } from '../../../plugins/auth/api-key-header.ts';
import { bearer } from '../../../plugins/auth/bearer.ts';
import { googleApiKey } from '../../../plugins/auth/google-api-key.ts';
import { balance } from '../../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../../plugins/protocols/generate-content/index.ts';
import { images } from '../../../plugins/protocols/images/index.ts';
import { messages } from '../../../plugins/protocols/messages/index.ts';
import { responses } from '../../../plugins/protocols/responses/index.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import type { Wire } from '../replaying-vendor.ts';
import { sdkClients, type Client } from '../sdk-clients.ts';

export interface CloudHouse {
  readonly gateway: TestGateway;
  readonly key: string;
  readonly clients: Readonly<Record<Wire, Client>>;
  /** Posts a body to a path of the gateway with the credential its protocol uses. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

export async function openCloudHouse(...providers: readonly Plugin[]): Promise<CloudHouse> {
  const gateway = await startGateway({
    plugins: [
      bearer(),
      apiKeyHeader(),
      googleApiKey(),
      chatCompletions(),
      responses(),
      messages(),
      generateContent(),
      images(),
      ...providers,
      balance({ firstCredit: '0' }),
    ],
  });
  const made: unknown = await gateway.verb('keys create', [], { account: 'tester', credit: '1000' });
  const key = typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
  return {
    gateway,
    key,
    clients: sdkClients(gateway.url, key),
    post(path, body, init = {}) {
      const isPlain = typeof body === 'string' || body instanceof FormData;
      const type = body instanceof FormData ? {} : { 'content-type': 'application/json' };
      const headers = {
        authorization: `Bearer ${key}`,
        'anthropic-version': '2023-06-01',
        ...type,
        ...Object.fromEntries(new Headers(init.headers)),
      };
      return fetch(gateway.url + path, {
        method: 'POST',
        ...init,
        headers,
        body: isPlain ? body : JSON.stringify(body),
      });
    },
    close: () => gateway.close(),
  };
}
