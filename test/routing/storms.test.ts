/** How often today's clients come again, with their own settings, after each way a call can fail: once where that cannot help. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { station } from '../support/station.ts';

let vendor: ScriptedVendor;
let gateway: TestGateway;
const keys = new Map<string, string>();

beforeAll(async () => {
  vendor = await startScriptedVendor((response) => void response.writeHead(500).end());
  const endpoints = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
  gateway = await startGateway({
    plugins: [
      bearer(), apiKeyHeader(), chatCompletions(), responses(), messages(), station({ name: 'one', endpoints }), station({ name: 'two', endpoints }),
      health(), balance({ firstCredit: '0' }), rateLimits({ perAccount: { requests: 1000 }, window: 2 }),
    ],
  });
  for (const [account, credit] of [['rich', '5'], ['poor', '']] as const) {
    const made: unknown = await gateway.verb('keys create', [], { account, ...(credit ? { credit } : {}) });
    keys.set(account, typeof made === 'object' && made && 'key' in made ? String(made.key) : '');
  }
  keys.set('nobody', 'sk-nobody');
});
afterAll(async () => {
  await gateway.close();
  await vendor.close();
});

const ask: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
  'chat-completions': (key) => new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1` }).chat.completions.create({ model: 'house/model', messages: [{ role: 'user', content: 'Hi' }] }),
  responses: (key) => new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1` }).responses.create({ model: 'house/model', input: 'Hi' }),
  messages: (key) => new Anthropic({ apiKey: key, baseURL: `${gateway.url}/alpha` }).messages.create({ model: 'house/model', max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] }),
};

describe.each(Object.entries(ask))('an SDK of %s', (family, call) => {
  it.each([
    ['a bad key', 'nobody', 401],
    ['an empty account', 'poor', family === 'responses' ? 429 : 402],
    ['vendors that are all down', 'rich', family === 'messages' ? 529 : 503],
  ])('comes once to %s', async (_, account, status) => {
    const before = gateway.ends.length;
    await expect(call(keys.get(account) ?? '')).rejects.toMatchObject({ status });
    expect((await gateway.ended(before + 1)).length - before).toBe(1);
  });
});
