/** A gateway that stores calls, with an operator and a key, and requests for what it stored. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { openapi } from '../../plugins/operations/openapi.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatReply } from '../support/replies.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';

export let gateway: TestGateway;
export let adminUrl: string;
export let secret: string;
export let key: { readonly key: string; readonly id: string };
const priced = { id: 'house/model', free: undefined, price: { input: '1000', output: '2000' } };

export async function fetchWithKey(
  url: string,
  secretText: string,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(url, {
    ...init,
    headers: { authorization: `Bearer ${secretText}`, 'content-type': 'application/json' },
  });
}

export async function createKey(account: string, more: object = {}): Promise<{ key: string; id: string }> {
  const response = await fetchWithKey(`${adminUrl}/admin/keys`, secret, {
    method: 'POST',
    body: JSON.stringify({ account, name: 'laptop', ...more }),
  });
  return z.object({ key: z.string(), id: z.string() }).parse(await response.json());
}

/** Makes a call and returns its id. */
export async function call(fields: object, by = key.key): Promise<string> {
  const response = await fetchWithKey(`${gateway.url}/v1/chat/completions`, by, {
    method: 'POST',
    body: JSON.stringify({
      model: 'house/model',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'SECRET PROMPT' }],
      ...fields,
    }),
  });
  await response.arrayBuffer();
  return response.headers.get('x-request-id') ?? '';
}

export async function readAdmin(path: string, status = 200) {
  const response = await fetchWithKey(`${adminUrl}/admin${path}`, secret);
  expect(response.status, path).toBe(status);
  return z
    .looseObject({ data: z.array(z.looseObject({ id: z.string() })).optional() })
    .parse(await response.json());
}

export async function listIds(path: string): Promise<string[]> {
  return ((await readAdmin(path)).data ?? []).map(({ id }) => id);
}

export function openHistory(): void {
  beforeAll(async () => {
    const failing = tappedVendor(
      'failing',
      ['chat-completions'],
      () => ({ status: 500, body: '{"error":{"message":"broken"}}' }),
      priced,
    );
    const answering = tappedVendor(
      'answering',
      ['chat-completions'],
      () => ({
        body: JSON.stringify(
          chatReply('Hi!', {
            usage: {
              prompt_tokens: 9,
              completion_tokens: 3,
              total_tokens: 12,
              prompt_tokens_details: { cached_tokens: 4 },
            },
          }),
        ),
      }),
      { ...priced },
    );
    gateway = await startGateway({
      plugins: [
        bearer(),
        chatCompletions(),
        failing,
        answering,
        demo(),
        preferences(),
        balance({ firstCredit: '0' }),
        calls({ most: 1 }),
        openapi(),
        admin({ port: 0 }),
      ],
    });
    adminUrl = findAdminUrl(gateway.printed);
    secret = readFileSync(join(gateway.dataFolder, 'operator-secret'), 'utf8').trim();
    key = await createKey('acme', { credit: '5', limits: { spendCap: '3', models: ['house/*', 'demo/*'] } });
  });
}
