/** The official SDK of every client family reaches a vendor of every wire, whole and streamed, and pays for it. */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { google } from '../../plugins/providers/google.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startReplayingVendor, wires, type ReplayingVendor, type Wire } from '../support/replaying-vendor.ts';

/** A model that only this wire reaches, and what its golden reply says. */
const models: Readonly<Record<Wire, { readonly model: string; readonly says: RegExp }>> = {
  'chat-completions': { model: 'deepseek/deepseek-v4-flash', says: /^High water is at 14:05 – blame the moon 🌕\.$/ },
  responses: { model: 'openai/gpt-5.5-pro', says: /^High water at Whitby is at 05:12 – mind the “race”, ünd 橋 🌊\.$/ },
  messages: { model: 'anthropic/claude-sonnet-4-5', says: /^High water is at 14:20 – 3\.1 m\.$/ },
  'generate-content': { model: 'google/gemini-2.5-flash', says: /^Thyme, sage and rosemary\.$/ },
};

let vendor: ReplayingVendor;
let gateway: TestGateway;
let key = '';
beforeAll(async () => {
  vendor = await startReplayingVendor();
  const at = { apiKey: 'vendor-key' };
  gateway = await startGateway({
    plugins: [
      bearer(), apiKeyHeader(), googleApiKey(),
      chatCompletions(), responses(), messages(), generateContent(),
      openai({ ...at, baseUrl: `${vendor.origin}/v1` }), deepseek({ ...at, baseUrl: `${vendor.origin}/v1` }),
      anthropic({ ...at, baseUrl: vendor.origin }), google({ ...at, baseUrl: vendor.origin }),
      balance({ firstCredit: '0' }),
    ],
  });
  const made: unknown = await gateway.verb('keys create', [], { account: 'tester', credit: '1000' });
  key = typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
});
afterAll(async () => {
  await gateway.close();
  await vendor.close();
});

interface Client {
  whole(model: string): Promise<string>;
  streamed(model: string): Promise<string>;
}

const question = 'Which herbs, and when is high water?';

const clients: Readonly<Record<Wire, () => Client>> = {
  'chat-completions': () => {
    const sdk = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const body = (model: string) => ({ model, messages: [{ role: 'user' as const, content: question }] });
    return {
      whole: async (model) => (await sdk.chat.completions.create(body(model))).choices[0]?.message.content ?? '',
      streamed: async (model) => (await sdk.chat.completions.stream(body(model)).finalChatCompletion()).choices[0]?.message.content ?? '',
    };
  },
  responses: () => {
    const sdk = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    return {
      whole: async (model) => (await sdk.responses.create({ model, input: question })).output_text,
      streamed: async (model) => (await sdk.responses.stream({ model, input: question }).finalResponse()).output_text,
    };
  },
  messages: () => {
    const sdk = new Anthropic({ apiKey: key, baseURL: `${gateway.url}/alpha`, maxRetries: 0 });
    const body = (model: string) => ({ model, max_tokens: 200, messages: [{ role: 'user' as const, content: question }] });
    const textOf = ({ content }: Anthropic.Message): string => content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return {
      whole: async (model) => textOf(await sdk.messages.create(body(model))),
      streamed: async (model) => textOf(await sdk.messages.stream(body(model)).finalMessage()),
    };
  },
  'generate-content': () => {
    const sdk = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${gateway.url}/beta` } });
    return {
      whole: async (model) => (await sdk.models.generateContent({ model, contents: question })).text ?? '',
      streamed: async (model) => {
        const chunks = await Array.fromAsync(await sdk.models.generateContentStream({ model, contents: question }));
        return chunks.map(({ text = '' }) => text).join('');
      },
    };
  },
};

const pairs = wires.flatMap((client) => wires.map((wire): [client: Wire, wire: Wire] => [client, wire]));

describe.each(pairs)('a %s client and a %s vendor', (client, wire) => {
  const { model, says } = models[wire];

  it.each(['whole', 'streamed'] as const)('understand each other, %s', async (form) => {
    const before = gateway.ends.length;
    expect(await clients[client]()[form](model)).toMatch(says);
    expect(vendor.requests.at(-1)?.wire).toBe(wire);
    const end = (await gateway.ended(before + 1))[before];
    expect(end).toMatchObject({ type: 'answered', outcome: 'completed', charge: { basis: 'usage' } });
    expect(end?.type === 'answered' && end.charge.cost).toBeGreaterThan(0n);
  });
});
