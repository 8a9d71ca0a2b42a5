import { expect, it } from 'vitest';
import { getRate, type Plugin } from '../../core/index.ts';
import { alibaba } from '../../plugins/providers/alibaba.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { cerebras } from '../../plugins/providers/cerebras.ts';
import { cohere } from '../../plugins/providers/cohere.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { fireworks } from '../../plugins/providers/fireworks.ts';
import { google } from '../../plugins/providers/google.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { huggingface } from '../../plugins/providers/huggingface.ts';
import { jina } from '../../plugins/providers/jina.ts';
import { meta } from '../../plugins/providers/meta.ts';
import { minimax } from '../../plugins/providers/minimax.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { moonshot } from '../../plugins/providers/moonshot.ts';
import { nvidia } from '../../plugins/providers/nvidia.ts';
import { ollama } from '../../plugins/providers/ollama.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { openrouter } from '../../plugins/providers/openrouter.ts';
import { perplexity } from '../../plugins/providers/perplexity.ts';
import { together } from '../../plugins/providers/together.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { voyage } from '../../plugins/providers/voyage.ts';
import { xai } from '../../plugins/providers/xai.ts';
import { zai } from '../../plugins/providers/zai.ts';
import { findPriceOrigin } from '../../plugins/shared/provider/catalogue-file.ts';
import { testProvider } from '../contract/provider.ts';
import { createHost } from '../support/host.ts';

const chat = { 'chat-completions': { generate: '/chat/completions' } };
const embed = (wire: string): Record<string, { generate: string }> => ({
  [wire]: { generate: '/embeddings' },
});
const hosted = [
  ['deepseek', deepseek, 'DEEPSEEK', 'https://api.deepseek.com/v1'],
  ['mistral', mistral, 'MISTRAL', 'https://api.mistral.ai/v1', embed('mistral-embed')],
  ['groq', groq, 'GROQ', 'https://api.groq.com/openai/v1'],
  ['xai', xai, 'XAI', 'https://api.x.ai/v1'],
  ['together', together, 'TOGETHER', 'https://api.together.ai/v1', embed('embeddings')],
  ['moonshot', moonshot, 'MOONSHOT', 'https://api.moonshot.ai/v1'],
  ['zai', zai, 'ZAI', 'https://api.z.ai/api/paas/v4'],
  ['minimax', minimax, 'MINIMAX', 'https://api.minimax.io/v1'],
  ['meta', meta, 'META', 'https://api.meta.ai/v1'],
  ['alibaba', alibaba, 'DASHSCOPE', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1'],
  ['cerebras', cerebras, 'CEREBRAS', 'https://api.cerebras.ai/v1'],
  ['fireworks', fireworks, 'FIREWORKS', 'https://api.fireworks.ai/inference/v1'],
  ['cohere', cohere, 'COHERE', 'https://api.cohere.ai/compatibility/v1'],
  ['nvidia', nvidia, 'NVIDIA', 'https://integrate.api.nvidia.com/v1', embed('nvidia-embed')],
  ['openrouter', openrouter, 'OPENROUTER', 'https://openrouter.ai/api/v1', embed('embeddings')],
] as const;

for (const [name, plugin, prefix, address, paths = {}] of hosted) {
  testProvider({
    name,
    plugin,
    address,
    env: { key: `${prefix}_API_KEY`, baseUrl: `${prefix}_BASE_URL` },
    paths: { ...chat, ...paths },
    credential: { authorization: 'Bearer vendor-key' },
    models: name === 'openrouter' ? { discover: '/models' } : 'catalogue',
  });
}

for (const [name, plugin, address] of [
  ['voyage', voyage, 'https://api.voyageai.com/v1'],
  ['jina', jina, 'https://api.jina.ai/v1'],
] as const)
  testProvider({
    name,
    plugin,
    address,
    env: { key: `${name.toUpperCase()}_API_KEY`, baseUrl: `${name.toUpperCase()}_BASE_URL` },
    paths: embed(`${name}-embed`),
    credential: { authorization: 'Bearer vendor-key' },
    models: 'catalogue',
  });

testProvider({
  name: 'huggingface',
  plugin: huggingface,
  address: 'https://router.huggingface.co/v1',
  env: { key: 'HF_TOKEN', baseUrl: 'HF_BASE_URL' },
  paths: chat,
  credential: { authorization: 'Bearer vendor-key' },
  models: 'catalogue',
});

testProvider({
  name: 'perplexity',
  plugin: perplexity,
  address: 'https://api.perplexity.ai/v1',
  env: { key: 'PERPLEXITY_API_KEY', baseUrl: 'PERPLEXITY_BASE_URL' },
  paths: { responses: { generate: '/responses' } },
  credential: { authorization: 'Bearer vendor-key' },
  models: 'catalogue',
});

testProvider({
  name: 'openai',
  plugin: openai,
  env: { key: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL' },
  address: 'https://api.openai.com/v1',
  paths: {
    ...chat,
    responses: { generate: '/responses', count: '/responses/input_tokens' },
    images: { generate: '/images/generations', edit: '/images/edits' },
    ...embed('embeddings'),
  },
  credential: { authorization: 'Bearer vendor-key' },
  models: 'catalogue',
});

testProvider({
  name: 'anthropic',
  plugin: anthropic,
  env: { key: 'ANTHROPIC_API_KEY', baseUrl: 'ANTHROPIC_BASE_URL' },
  address: 'https://api.anthropic.com',
  paths: { messages: { generate: '/v1/messages', count: '/v1/messages/count_tokens' } },
  credential: { 'x-api-key': 'vendor-key' },
  models: 'catalogue',
});

testProvider({
  name: 'google',
  plugin: google,
  env: { key: 'GEMINI_API_KEY', baseUrl: 'GOOGLE_GEMINI_BASE_URL' },
  address: 'https://generativelanguage.googleapis.com',
  paths: {
    'generate-content': {
      generate: '/v1beta/models/some-model:generateContent',
      count: '/v1beta/models/some-model:countTokens',
    },
    'embed-content': { generate: '/v1beta/models/some-model:batchEmbedContents' },
  },
  streams: { 'generate-content': '/v1beta/models/some-model:streamGenerateContent?alt=sse' },
  credential: { 'x-goog-api-key': 'vendor-key' },
  models: 'catalogue',
});

const local = [
  ['ollama', ollama, 'OLLAMA', 'http://127.0.0.1:11434/v1'],
  ['vllm', vllm, 'VLLM', 'http://127.0.0.1:8000/v1'],
] as const;

for (const [name, plugin, prefix, address] of local) {
  testProvider({
    name,
    address,
    plugin: () => plugin({ free: true }),
    keyless: true,
    env: { key: `${prefix}_API_KEY`, baseUrl: `${prefix}_BASE_URL` },
    paths: chat,
    credential: { authorization: 'Bearer vendor-key' },
    models: { discover: '/models' },
  });
}

it('two providers that serve one model are both found, in the order of the configuration', () => {
  const host = createHost([together({ apiKey: 'k' }), groq({ apiKey: 'k' })]);
  expect(host.catalog.find('openai/gpt-oss-120b').map(({ provider }) => provider.name)).toEqual([
    'together',
    'groq',
  ]);
});

it('reports a wrong option with the names of plugin and option', () => {
  expect(() => mistral({ baseUrl: 'api.mistral.ai' })).toThrow(/plugin "mistral": option "baseUrl"/);
});

it.each([
  ['https://api.openai.com/v1', undefined, '2'],
  ['https://eu.api.openai.com/v1', 'standard-regional', '2.2'],
  ['https://eu.api.openai.com.example/v1', undefined, '2'],
])('OpenAI at %s has the rates named %s', (baseUrl, name, input) => {
  const { catalog } = createHost([openai({ apiKey: 'k', baseUrl })]);
  const [offer] = catalog.find('openai/gpt-6.1-sol');
  expect([offer?.price.name, offer && getRate(offer.price, 'input')]).toEqual([name, input]);
  expect(offer && findPriceOrigin(offer.price)?.asOf).toBe('2026-11-26');
  // Older models cost the same everywhere.
  expect(getRate(catalog.find('openai/gpt-5.2')[0]?.price, 'input')).toBe('1.75');
});

it('an endpoint beside the base URL is a whole address wherever that is', () => {
  const find = (plugin: Plugin, name: string, wire: string): unknown =>
    createHost([plugin]).providers.get(name).endpoints[wire];
  expect(find(cohere({ apiKey: 'k' }), 'cohere', 'cohere-embed')).toBe('https://api.cohere.ai/v2/embed');
  const moved = cohere({ apiKey: 'k', baseUrl: 'http://127.0.0.1:9/cohere/compatibility/v1/' });
  expect(find(moved, 'cohere', 'cohere-embed')).toBe('http://127.0.0.1:9/cohere/v2/embed');
  expect(find(ollama({ free: true, baseUrl: 'http://127.0.0.1:9/v1' }), 'ollama', 'ollama-embed')).toBe(
    'http://127.0.0.1:9/api/embed',
  );
});
