/** A gateway in front of a fake vendor, with an account and a key, which most flows need. */
import OpenAI from 'openai';
import type { ConfigInput } from '../../core/config.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { startVendor, type Vendor } from './vendor/chat-completions.ts';

export interface Harness {
  readonly gateway: TestGateway;
  readonly vendor: Vendor;
  readonly key: string;
  /** The official SDK, with the gateway as its base URL. */
  readonly client: OpenAI;
  /** Posts a chat-completions body unchanged: an object as JSON, text as text. */
  post(body: unknown, init?: RequestInit): Promise<Response>;
  /** The balance endpoint's reply. */
  balance(): Promise<{ balance: number; total: number; used: number }>;
  close(): Promise<void>;
}

function isBalance(value: unknown): value is { balance: number; total: number; used: number } {
  return typeof value === 'object' && value !== null && 'balance' in value && 'used' in value;
}

interface HarnessOptions {
  /** USD of the one account; none if it is empty. */
  readonly credit?: string;
  /** Plugins beside the usual ones. */
  readonly plugins?: ConfigInput['plugins'];
  readonly settings?: Partial<ConfigInput>;
  readonly ledger?: Parameters<typeof balance>[0];
  /** The vendor's name and options in the gateway's configuration. */
  readonly provider?: typeof openai;
}

export async function openHarness({
  credit = '5',
  plugins = [],
  settings = {},
  ledger = {},
  provider = openai,
}: HarnessOptions = {}): Promise<Harness> {
  const vendor = await startVendor();
  const gateway = await startGateway({
    ...settings,
    plugins: [
      bearer(),
      chatCompletions(),
      // Tests set the clock beyond the model's last day.
      provider({
        apiKey: vendor.key,
        baseUrl: vendor.url,
        ...(provider === openai && { models: { 'openai/gpt-4o-mini': { expires: null } } }),
      }),
      preferences(),
      balance({ firstCredit: '0', ...ledger }),
      ...plugins,
    ],
  });
  const key = await gateway.newKey({
    account: 'tester',
    ...(credit ? { credit } : {}),
  });
  return {
    gateway,
    vendor,
    key,
    client: new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 }),
    post(body, init = {}) {
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...Object.fromEntries(new Headers(init.headers)),
      };
      const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
      return fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        ...init,
        headers,
        body: Buffer.from(text),
      });
    },
    async balance() {
      const response = await fetch(`${gateway.url}/v1/user/balance`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const body: unknown = await response.json();
      if (!isBalance(body)) throw new Error(`no balance: ${response.status}`);
      return body;
    },
    async close() {
      await gateway.close();
      await vendor.close();
    },
  };
}
