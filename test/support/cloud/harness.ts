/** A gateway with one cloud behind it, an account and a key, and the official SDKs as its clients. */
import { expect } from 'vitest';
import type { Plugin } from '../../../core/index.ts';
import { balance } from '../../../plugins/meters/balance/index.ts';
import { images } from '../../../plugins/protocols/images/index.ts';
import { keyHeaders, textProtocols } from '../front.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import type { Wire } from '../replaying-vendor.ts';
import { createSdkClients, type Client } from '../sdk-clients.ts';
import type { Scenario } from '../vendor/index.ts';

export interface CloudHarness {
  readonly gateway: TestGateway;
  readonly key: string;
  readonly clients: Readonly<Record<Wire, Client>>;
  /** Posts a body to a path of the gateway with the credential its protocol uses. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

const tools = [
  {
    name: 'find',
    description: 'Finds.',
    schema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  },
];

/** Lets a client ask what its model answers with text and a call, and continue with the call's result. */
export async function expectToolLoop(
  client: Client,
  vendor: { script(model: string, ...scenarios: readonly [Scenario, ...Scenario[]]): void },
  model: string,
  form: 'whole' | 'streamed',
): Promise<void> {
  vendor.script(
    '*',
    { text: 'Let me look.', toolCalls: [{ name: 'find', arguments: '{"place":"Ålesund"}' }] },
    { text: 'It is there.' },
  );
  const talk = client({ text: 'Where is it?', system: 'Be brief.', tools });
  expect(await talk.ask(model, form)).toMatchObject({
    text: 'Let me look.',
    calls: [{ name: 'find', arguments: { place: 'Ålesund' } }],
  });
  talk.answer(['by the sea']);
  expect(await talk.ask(model, form)).toMatchObject({ text: 'It is there.', calls: [] });
}

export async function openCloudHarness(...providers: readonly Plugin[]): Promise<CloudHarness> {
  const gateway = await startGateway({
    plugins: [...keyHeaders(), ...textProtocols(), images(), ...providers, balance({ firstCredit: '0' })],
  });
  const key = await gateway.newKey({ account: 'tester', credit: '1000' });
  return {
    gateway,
    key,
    clients: createSdkClients(gateway.url, key),
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
