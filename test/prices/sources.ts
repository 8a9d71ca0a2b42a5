/** Where prices and models are read from: LiteLLM's package, and the lists of vendors whose keys are set. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Provider } from '../../core/index.ts';
import { createHost } from '../support/host.ts';
import { listBundledPlugins } from '../support/inventory.ts';
import { readVendorListing, type Listing } from './compare.ts';

const run = promisify(execFile);
const priceFile = 'litellm/model_prices_and_context_window_backup.json';

export interface PriceFile {
  /** The version of the package. */
  readonly version: string;
  readonly content: unknown;
}

/** The price file of the newest package at PyPI, which pip downloads into a temporary folder. */
export async function downloadPriceFile(): Promise<PriceFile> {
  const folder = await mkdtemp(join(tmpdir(), 'prices-'));
  try {
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, 'litellm']);
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip downloaded no wheel of litellm');
    await run('python3', ['-m', 'zipfile', '--extract', join(folder, wheel), folder]);
    return {
      version: wheel.split('-')[1] ?? '',
      content: JSON.parse(await readFile(join(folder, priceFile), 'utf8')),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where a vendor lists its models. Undefined if its protocols do not say, as at clouds. */
function findListing({ endpoints }: Provider): string | undefined {
  const base = Object.values(endpoints).find((endpoint) => typeof endpoint === 'string');
  return base?.toString().replace(/\/(chat\/completions|responses)$/, '/models');
}

/** Vendors whose addresses depend on the call. */
const ownListings: Readonly<Record<string, { readonly variable: string; readonly url: string }>> = {
  anthropic: { variable: 'ANTHROPIC_BASE_URL', url: 'https://api.anthropic.com/v1/models?limit=1000' },
  google: {
    variable: 'GOOGLE_GEMINI_BASE_URL',
    url: 'https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000',
  },
};

function findAddress(provider: Provider): string | undefined {
  const own = ownListings[provider.name];
  if (!own) return findListing(provider);
  const { pathname, search } = new URL(own.url);
  const base = process.env[own.variable];
  return base === undefined ? own.url : base.replace(/\/+$/, '') + pathname + search;
}

/** Providers whose keys are in the environment, and that list models in a file of the catalogue. */
async function listKeyedProviders(vendors: readonly string[]): Promise<Provider[]> {
  const plugins = await listBundledPlugins();
  return plugins.flatMap(({ name, path, factory }) => {
    if (!path.startsWith('plugins/providers/') || !vendors.includes(name)) return [];
    const host = createHost([factory()]);
    return [...host.providers.list()].slice(0, 1);
  });
}

/** The lists of the vendors whose keys are set. `report` gets those that could not be read. */
export async function fetchListings(
  vendors: readonly string[],
  report: (vendor: string, error: unknown) => void,
): Promise<ReadonlyMap<string, Listing>> {
  const listings = new Map<string, Listing>();
  for (const provider of await listKeyedProviders(vendors)) {
    const url = findAddress(provider);
    if (url === undefined) continue;
    try {
      const asked = { method: 'GET', url, headers: { 'anthropic-version': '2023-06-01' }, body: '' } as const;
      const { headers } = await provider.sign(asked);
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      listings.set(provider.name, readVendorListing(await response.json()));
    } catch (error) {
      report(provider.name, error);
    }
  }
  return listings;
}
