import { globSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Operation, Target } from '../../core/index.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { mistral } from '../../plugins/providers/mistral.ts';
import { ollama } from '../../plugins/providers/ollama.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { openrouter } from '../../plugins/providers/openrouter.ts';
import { together } from '../../plugins/providers/together.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { xai } from '../../plugins/providers/xai.ts';
import { hostWith, type TestHost } from '../support/host.ts';
import { plainProtocol } from '../support/plain-protocol.ts';

const hosted = [
  ['openai', openai, 'OPENAI', 'https://api.openai.com/v1/chat/completions'],
  ['deepseek', deepseek, 'DEEPSEEK', 'https://api.deepseek.com/v1/chat/completions'],
  ['mistral', mistral, 'MISTRAL', 'https://api.mistral.ai/v1/chat/completions'],
  ['groq', groq, 'GROQ', 'https://api.groq.com/openai/v1/chat/completions'],
  ['xai', xai, 'XAI', 'https://api.x.ai/v1/chat/completions'],
  ['together', together, 'TOGETHER', 'https://api.together.ai/v1/chat/completions'],
  ['openrouter', openrouter, 'OPENROUTER', 'https://openrouter.ai/api/v1/chat/completions'],
] as const;

const local = [
  ['ollama', ollama, 'OLLAMA_BASE_URL', 'http://127.0.0.1:11434/v1'],
  ['vllm', vllm, 'VLLM_BASE_URL', 'http://127.0.0.1:8000/v1'],
] as const;

/** Where a provider would be called, by protocol and operation. */
function urlOf(host: TestHost, name: string, protocol: string, operation: Operation = 'generate'): string | undefined {
  const provider = host.providers.get(name);
  const endpoint = provider.endpoints[protocol];
  const [offer] = host.catalog.models().flatMap(({ id }) => host.catalog.find(id));
  if (typeof endpoint !== 'function' || !offer) return typeof endpoint === 'string' ? endpoint : undefined;
  const target: Target = { ...offer, protocol: plainProtocol };
  return endpoint(target, operation, false);
}

beforeEach(() => {
  for (const prefix of [...hosted.map(([, , variable]) => variable), 'OLLAMA', 'VLLM']) {
    vi.stubEnv(`${prefix}_API_KEY`, undefined);
    vi.stubEnv(`${prefix}_BASE_URL`, undefined);
  }
});
afterEach(() => vi.unstubAllEnvs());

describe.each(hosted)('%s', (name, factory, prefix, url) => {
  it('is off without a key', () => {
    vi.stubEnv(`${prefix}_BASE_URL`, 'http://127.0.0.1:1/v1');
    const host = hostWith([factory()]);
    expect(host.providers.find(name)).toBeUndefined();
    expect(host.catalog.models()).toEqual([]);
  });

  it('is switched on by its variable and shows its key to the vendor alone', async () => {
    vi.stubEnv(`${prefix}_API_KEY`, 'vendor-key');
    const host = hostWith([factory()]);
    expect(urlOf(host, name, 'chat-completions')).toBe(url);
    const signed = await host.providers.get(name).sign({ method: 'POST', url, headers: { accept: 'application/json' }, body: '{}' });
    expect(signed.headers).toEqual({ accept: 'application/json', authorization: 'Bearer vendor-key' });
  });

  it('is moved by its address, with or without a slash at its end', () => {
    vi.stubEnv(`${prefix}_API_KEY`, 'vendor-key');
    vi.stubEnv(`${prefix}_BASE_URL`, 'http://127.0.0.1:1/v1/');
    expect(urlOf(hostWith([factory()]), name, 'chat-completions')).toBe('http://127.0.0.1:1/v1/chat/completions');
  });

  it('takes a variable that is set to nothing for one that is not set', () => {
    vi.stubEnv(`${prefix}_API_KEY`, 'vendor-key');
    vi.stubEnv(`${prefix}_BASE_URL`, '');
    expect(urlOf(hostWith([factory()]), name, 'chat-completions')).toBe(url);
    vi.stubEnv(`${prefix}_API_KEY`, '');
    expect(hostWith([factory()]).providers.find(name)).toBeUndefined();
  });

  it('is listed from its catalogue, or asked for its models', () => {
    const host = hostWith([factory({ apiKey: 'given' })]);
    if (name === 'openrouter') {
      expect(host.discoveries).toMatchObject([{ url: 'https://openrouter.ai/api/v1/models', headers: { authorization: 'Bearer given' } }]);
    } else {
      expect(host.catalog.models().length).toBeGreaterThan(3);
      expect(host.discoveries).toEqual([]);
    }
  });
});

describe.each(local)('%s', (name, factory, variable, address) => {
  it('is off until its address is set', () => {
    vi.stubEnv(variable.replace('BASE_URL', 'API_KEY'), 'vendor-key');
    expect(hostWith([factory({ free: true })]).providers.find(name)).toBeUndefined();
  });

  it('needs no key, and is asked for its models', async () => {
    vi.stubEnv(variable, address);
    const host = hostWith([factory({ free: true })]);
    expect(host.discoveries).toMatchObject([{ url: `${address}/models`, headers: {}, options: { free: true, discoverEvery: 60 } }]);
    const request = { method: 'POST', url: `${address}/chat/completions`, headers: {}, body: '{}' } as const;
    expect(urlOf(host, name, 'chat-completions')).toBe(request.url);
    expect((await host.providers.get(name).sign(request)).headers).toEqual({});
  });
});

describe('OpenAI', () => {
  it.each([
    ['responses', 'generate', '/responses'],
    ['responses', 'count', '/responses/input_tokens'],
    ['images', 'generate', '/images/generations'],
    ['images', 'edit', '/images/edits'],
  ] as const)('is called for %s (%s) at %s', (protocol, operation, path) => {
    expect(urlOf(hostWith([openai({ apiKey: 'k' })]), 'openai', protocol, operation)).toBe(`https://api.openai.com/v1${path}`);
  });
});

it.each(globSync('plugins/providers/*.ts'))('%s is under 30 lines', (file) => {
  expect(readFileSync(file, 'utf8').trimEnd().split('\n').length).toBeLessThan(30);
});

it('two providers that serve one model are both found, in the order of the configuration', () => {
  const host = hostWith([together({ apiKey: 'k' }), groq({ apiKey: 'k' })]);
  expect(host.catalog.find('openai/gpt-oss-120b').map(({ provider }) => provider.name)).toEqual(['together', 'groq']);
});

it('a wrong option is told with the name of plugin and option', () => {
  expect(() => mistral({ baseUrl: 'api.mistral.ai' })).toThrow(/plugin "mistral": option "baseUrl"/);
});
