import { describe, expect, it } from 'vitest';
import type { Operation, Provider } from '../../core/index.ts';
import { google } from '../../plugins/providers/google.ts';
import { urlPath } from '../../plugins/shared/url-path.ts';
import { hostWith } from '../support/host.ts';
import { modelWith, protocol } from './bodies.ts';

const host = hostWith([google({ apiKey: 'secret-key', baseUrl: 'https://gemini.example/' })]);
const provider = host.providers.get('google');

function address(upstream: string, operation: Operation, stream: boolean): string {
  const endpoint = provider.endpoints['generate-content'];
  if (typeof endpoint !== 'function') throw new Error('the address depends on the call');
  return endpoint({ provider, protocol, model: modelWith({ upstream }), price: { input: 0n, output: 0n, tiers: [] } }, operation, stream);
}

describe('Google', () => {
  it('is called at an address that names model and method', () => {
    expect(address('gemini-3-pro', 'generate', false)).toBe('https://gemini.example/v1beta/models/gemini-3-pro:generateContent');
    expect(address('gemini-3-pro', 'generate', true)).toBe('https://gemini.example/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse');
    expect(address('gemini-3-pro', 'count', false)).toBe('https://gemini.example/v1beta/models/gemini-3-pro:countTokens');
  });

  it('is shown its key in the header alone', async () => {
    const signed = await provider.sign({ method: 'POST', url: 'https://gemini.example/x', headers: { accept: '*/*' }, body: '{}' });
    expect(signed).toEqual({ method: 'POST', url: 'https://gemini.example/x', headers: { accept: '*/*', 'x-goog-api-key': 'secret-key' }, body: '{}' });
  });

  it('serves the models of its catalogue', () => {
    const offers: readonly { readonly provider: Provider }[] = host.catalog.find('google/gemini-2.5-flash');
    expect(offers.map((offer) => offer.provider)).toEqual([provider]);
  });
});

describe('a name that becomes part of an address', () => {
  it.each(['gemini-3-pro', 'tunedModels/my-model', 'a.b_c~d'])('%s may be one', (name) => {
    expect(urlPath(name)).toBe(name);
  });

  it.each(['../files', 'a/../b', 'a//b', '/a', 'a/', '', '.', 'a?b', 'a#b', 'a%2fb', 'a:b', 'a b', 'a\\b', 'ü'])('%j may not', (name) => {
    expect(() => urlPath(name)).toThrow(/cannot be part of an address/);
  });
});
