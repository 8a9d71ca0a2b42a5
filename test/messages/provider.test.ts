import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Operation } from '../../core/index.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { hostWith, type TestHost } from '../support/host.ts';
import { protocol } from './bodies.ts';

beforeEach(() => {
  vi.stubEnv('ANTHROPIC_API_KEY', undefined);
  vi.stubEnv('ANTHROPIC_BASE_URL', undefined);
});
afterEach(() => vi.unstubAllEnvs());

function urlOf(host: TestHost, operation: Operation): string | undefined {
  const endpoint = host.providers.get('anthropic').endpoints['messages'];
  const [offer] = host.catalog.models().flatMap(({ id }) => host.catalog.find(id));
  return typeof endpoint === 'function' && offer ? endpoint({ ...offer, protocol }, operation, false) : undefined;
}

describe('anthropic', () => {
  it('is off without a key', () => {
    expect(hostWith([anthropic()]).providers.find('anthropic')).toBeUndefined();
  });

  it('is called and asked for counts at addresses below its base, which has no version in it', () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'vendor-key');
    const host = hostWith([anthropic()]);
    expect([urlOf(host, 'generate'), urlOf(host, 'count')]).toEqual(['https://api.anthropic.com/v1/messages', 'https://api.anthropic.com/v1/messages/count_tokens']);
    vi.stubEnv('ANTHROPIC_BASE_URL', 'http://127.0.0.1:1/');
    expect(urlOf(hostWith([anthropic()]), 'generate')).toBe('http://127.0.0.1:1/v1/messages');
  });

  it('is shown its key in its own header, beside the version the protocol states', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'vendor-key');
    const { sign } = hostWith([anthropic()]).providers.get('anthropic');
    const signed = await sign({ method: 'POST', url: 'https://api.anthropic.com/v1/messages', headers: { ...protocol.upstream.headers({}) }, body: '{}' });
    expect(signed.headers).toEqual({ 'x-api-key': 'vendor-key', 'anthropic-version': '2023-06-01' });
  });

  it('has a price, a limit and a manner of thinking for each of its models', () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'vendor-key');
    const models = hostWith([anthropic()]).catalog.models();
    expect(models.length).toBeGreaterThan(5);
    for (const { id, price, capabilities } of models) {
      expect(price, id).toBeDefined();
      expect(['none', 'budget', 'adaptive'], id).toContain(capabilities.reasoning.style);
    }
  });
});
