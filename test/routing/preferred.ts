/** A gateway with several providers of its models, and a call with a preference. */
import { beforeAll, beforeEach } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { aliases } from '../../plugins/routing/aliases.ts';
import { cost } from '../../plugins/routing/cost.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { keyHeaders, textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { startReplayingVendor, type ReplayingVendor } from '../support/replaying-vendor.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

export let vendor: ReplayingVendor;

/** Refuses everything until a test says otherwise. */
export let down: ScriptedVendor;
export let gateway: TestGateway;
export let keys: readonly string[];

const refuse: Parameters<typeof startScriptedVendor>[0] = (response) =>
  void response.writeHead(503, { 'retry-after': '4' }).end('{"error":{"message":"busy"}}');

async function createKey(account: string): Promise<string> {
  return gateway.newKey({ account, credit: '5' });
}

export function ask(provider: unknown, more: object = {}): Promise<Response> {
  const body = {
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hi' }],
    ...(provider === undefined ? {} : { provider }),
    ...more,
  };
  return postJson(`${gateway.url}/v1/chat/completions`, body, { authorization: `Bearer ${keys[0]}` });
}

export async function findProvider(provider: unknown, more: object = {}): Promise<string> {
  const response = await ask(provider, more);
  await response.text();
  return response.headers.get('x-tollgate-provider') ?? String(response.status);
}

export function openPreferred(): void {
  beforeAll(async () => {
    vendor = await startReplayingVendor();
    down = await startScriptedVendor(refuse);
    const chat = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
    gateway = await startGateway({
      plugins: [
        ...keyHeaders(),
        ...textProtocols(),
        testProvider({
          name: 'dear',
          endpoints: chat,
          models: [{ price: { input: '3', output: '9', request: '0.01' } }],
        }),
        testProvider({
          name: 'cheap',
          endpoints: chat,
          models: [{ price: { input: '1', output: '2', tiers: [{ above: 400, input: '8', output: '8' }] } }],
        }),
        testProvider({ name: 'free', endpoints: chat, models: [{ price: { input: '0', output: '0' } }] }),
        testProvider({
          name: 'down',
          endpoints: { 'chat-completions': `${down.origin}/v1/chat/completions` },
          models: [{}, { id: 'house/broken', price: { input: '4', output: '8' } }],
        }),
        testProvider({
          name: 'anthropic-like',
          endpoints: { messages: `${vendor.origin}/v1/messages` },
          models: [
            { id: 'other/claude', price: { input: '4', output: '8' } },
            { id: 'other/dear', price: { input: '40', output: '80' } },
            { id: 'other/large', price: { input: '40', output: '80' }, contextLength: 2_000_000 },
            { id: 'other/roomy', price: { input: '0.4', output: '0.8' }, contextLength: 2_000_000 },
          ],
        }),
        testProvider({
          name: 'google-like',
          endpoints: { 'generate-content': `${vendor.origin}/v1beta/models/x:generateContent` },
          models: [{ id: 'other/gemini' }],
        }),
        testProvider({
          name: 'responses-like',
          endpoints: { responses: `${vendor.origin}/v1/responses` },
          models: [{ id: 'other/gpt' }],
        }),
        testProvider({
          name: 'broker',
          endpoints: chat,
          models: [{ id: 'other/brokered', price: { input: '4', output: '8' } }],
          routes: true,
        }),
        preferences(),
        cost(),
        calls(),
        aliases({ 'house/fast': 'house/model' }),
        balance({ firstCredit: '0' }),
      ],
    });
    keys = [await createKey('tester'), await createKey('somebody-else')];
  });
  beforeEach(() => down.conduct(refuse));
}
