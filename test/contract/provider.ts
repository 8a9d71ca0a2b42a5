/**
 * What every provider must satisfy, bundled or third-party: it is off until it is enabled, it is called where
 * its options say, and only the provider sees its key.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  checkModel,
  freePrice,
  pluginInterface,
  type Operation,
  type Plugin,
  type Target,
} from '../../core/index.ts';
import { createHost, type TestHost } from '../support/host.ts';
import { plainProtocol } from '../support/plain-protocol.ts';

export interface ProviderFacts {
  readonly name: string;
  /** Makes the plugin, without any option of its own. */
  readonly plugin: () => Plugin;
  readonly env: { readonly key: string; readonly baseUrl: string };
  /** The provider's own URL, or one to set if it has none and is enabled by its URL. */
  readonly address: string;
  /** True for a provider on a machine of one's own, that needs no key. */
  readonly keyless?: boolean;
  /** Paths below the address, by protocol and operation: `{ messages: { generate: '/v1/messages' } }`. */
  readonly paths: Readonly<Record<string, Partial<Record<Operation, string>>>>;
  /** The path of a call for a stream, by protocol, if it differs. */
  readonly streams?: Readonly<Record<string, string>>;
  /** The header that holds `vendor-key`. */
  readonly credential: Readonly<Record<string, string>>;
  /** Where its models come from: the path of the provider's listing, or a catalogue. */
  readonly models: 'catalogue' | { readonly discover: string };
}

const operations: readonly Operation[] = ['generate', 'edit', 'count', 'compact'];

const anyModel = checkModel({
  id: 'some/model',
  upstream: 'some-model',
  name: 'A model',
  description: 'For tests.',
  created: '2026-04-23',
  contextLength: 1000,
  outputLimit: 100,
  input: ['text'],
  output: ['text'],
  free: true,
});

/** Where a provider would be called. */
function getUrl(
  host: TestHost,
  name: string,
  protocol: string,
  operation: Operation,
  stream: boolean,
): string | undefined {
  const provider = host.providers.get(name);
  const endpoint = provider.endpoints[protocol];
  const target: Target = {
    provider,
    protocol: plainProtocol,
    model: anyModel,
    price: freePrice,
  };
  return typeof endpoint === 'function' ? endpoint(target, operation, stream) : endpoint;
}

/** Registers the suite; call it at the top of a test file. */
export function testProvider({
  name,
  plugin,
  env,
  address,
  keyless = false,
  paths,
  streams = {},
  credential,
  models,
}: ProviderFacts): void {
  const switchOn = (base?: string): TestHost => {
    if (!keyless) vi.stubEnv(env.key, 'vendor-key');
    if (base !== undefined || keyless) vi.stubEnv(env.baseUrl, base ?? address);
    return createHost([plugin()]);
  };
  const calls = Object.entries(paths).flatMap(([protocol, byOperation]) =>
    operations.flatMap((operation): [string, Operation, string][] => {
      const path = byOperation[operation];
      return path === undefined ? [] : [[protocol, operation, path]];
    }),
  );

  describe(`${name}, the contract`, () => {
    beforeEach(() => {
      vi.stubEnv(env.key, undefined);
      vi.stubEnv(env.baseUrl, undefined);
    });
    afterEach(() => {
      vi.unstubAllEnvs();
      vi.unstubAllGlobals();
    });

    it('is made for this version of the plugin interface', () => {
      expect(plugin()).toMatchObject({ name, interface: pluginInterface });
    });

    it('is off until it is switched on', () => {
      vi.stubEnv(keyless ? env.key : env.baseUrl, keyless ? 'vendor-key' : 'http://127.0.0.1:1');
      const host = createHost([plugin()]);
      expect(host.providers.find(name)).toBeUndefined();
      expect(host.catalog.listModels()).toEqual([]);
    });

    it('takes a variable set to an empty string for an unset one', () => {
      vi.stubEnv(keyless ? env.baseUrl : env.key, '');
      expect(createHost([plugin()]).providers.find(name)).toBeUndefined();
    });

    it('leaves out of its key the line break that a file of secrets ends in', async () => {
      vi.stubEnv(env.key, 'vendor-key\n');
      if (keyless) vi.stubEnv(env.baseUrl, `${address}\n`);
      const request = { method: 'POST', url: `${address}/x`, headers: {}, body: '{}' } as const;
      expect(await createHost([plugin()]).providers.get(name).sign(request)).toMatchObject({
        headers: credential,
      });
    });

    it.each(calls)('is called by %s to %s at its own path', (protocol, operation, path) => {
      expect(getUrl(switchOn(), name, protocol, operation, false)).toBe(address + path);
      expect(getUrl(switchOn(), name, protocol, operation, true)).toBe(
        address + (operation === 'generate' ? (streams[protocol] ?? path) : path),
      );
    });

    it('is moved by its address, with or without a slash at its end', () => {
      const [protocol = '', operation = 'generate', path = ''] = calls[0] ?? [];
      for (const base of ['http://127.0.0.1:1/somewhere', 'http://127.0.0.1:1/somewhere/']) {
        expect(getUrl(switchOn(base), name, protocol, operation, false)).toBe(
          `http://127.0.0.1:1/somewhere${path}`,
        );
      }
    });

    it('shows its key to the vendor, in its header alone', async () => {
      vi.stubEnv(env.key, 'vendor-key');
      const request = {
        method: 'POST',
        url: `${address}/x`,
        headers: { accept: 'application/json' },
        body: '{}',
      } as const;
      const signed = await switchOn().providers.get(name).sign(request);
      expect(signed).toEqual({ ...request, headers: { ...request.headers, ...credential } });
    });

    it('knows its models from a catalogue, or asks the vendor for them', async () => {
      const host = switchOn();
      if (models === 'catalogue') {
        expect(host.catalog.listModels().length).toBeGreaterThan(0);
        for (const { id, price, free } of host.catalog.listModels())
          expect(price !== undefined || free, id).toBe(true);
        return;
      }
      const ask = vi.fn<typeof fetch>(async () => Response.json({ data: [] }));
      vi.stubGlobal('fetch', ask);
      await host.catalog.lookAtListings();
      expect(ask.mock.calls).toMatchObject([
        [address + models.discover, { headers: keyless ? {} : credential }],
      ]);
    });
  });
}
