/**
 * A gateway with the real providers in front of the strict vendors, with every protocol's SDK as a client,
 * and credit to spend.
 */
import type { ConfigInput } from '../../core/config.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { deepseek } from '../../plugins/providers/deepseek.ts';
import { google } from '../../plugins/providers/google.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { keyHeaders, textProtocols } from './front.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import type { Wire } from './replaying-vendor.ts';
import { createSdkClients, type Client } from './sdk-clients.ts';
import { startVendors, type JournalEntry, type Stage, type Vendors } from './vendor/index.ts';

export interface VendorHarness {
  readonly gateway: TestGateway;
  readonly vendors: Vendors;
  readonly key: string;
  readonly clients: Readonly<Record<Wire, Client>>;
  /** The vendors' requests, in order of arrival. */
  journal(): readonly JournalEntry[];
  close(): Promise<void>;
}

/** The wire of a vendor's request. */
export function readWire({ received: { path } }: JournalEntry): Wire {
  if (path.endsWith('/chat/completions')) return 'chat-completions';
  if (path.startsWith('/v1/responses')) return 'responses';
  return path.startsWith('/v1/messages') ? 'messages' : 'generate-content';
}

/** Keeps models that the tests use beyond their last day. */
function keepModels(...ids: readonly string[]): Record<string, { readonly expires: null }> {
  return Object.fromEntries(ids.map((id) => [id, { expires: null }]));
}

/** `plugins` are beside the usual ones. */
export async function openVendorHarness(plugins: ConfigInput['plugins'] = []): Promise<VendorHarness> {
  const vendors = await startVendors();
  const toOptions = ({ key, url }: Pick<Stage, 'key' | 'url'>): { apiKey: string; baseUrl: string } => ({
    apiKey: key,
    baseUrl: url,
  });
  const gateway = await startGateway({
    plugins: [
      ...keyHeaders(),
      ...textProtocols(),
      openai({
        ...toOptions(vendors.openai),
        models: keepModels('openai/gpt-4o-mini', 'openai/gpt-4-turbo'),
      }),
      deepseek({ ...toOptions(vendors.deepseek), models: keepModels('deepseek/deepseek-chat') }),
      anthropic(toOptions(vendors.anthropic)),
      google(toOptions(vendors.google)),
      balance({ firstCredit: '0' }),
      ...plugins,
    ],
  });
  const key = await gateway.newKey({ account: 'tester', credit: '1000' });
  const all = [vendors.openai, vendors.deepseek, vendors.anthropic, vendors.google];
  return {
    gateway,
    vendors,
    key,
    clients: createSdkClients(gateway.url, key),
    journal: () =>
      all
        .flatMap(({ journal }) => journal)
        .toSorted((one, other) => one.received.receivedAt - other.received.receivedAt),
    async close() {
      await gateway.close();
      await vendors.close();
    },
  };
}
