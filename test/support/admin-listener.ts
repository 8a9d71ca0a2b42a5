/** A gateway with an admin listener, and its admin API as an operator calls it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { findAdminUrl } from './admin-url.ts';
import { startGateway, type TestGateway } from './gateway.ts';

export interface AdminReply {
  readonly status: number;
  /** Parsed if it is JSON; undefined if it is empty. */
  readonly body: unknown;
  readonly text: string;
}

export interface AdminListener {
  readonly gateway: TestGateway;
  /** URL of the admin listener. */
  readonly url: string;
  readonly secret: string;
  ask(method: string, path: string, body?: unknown): Promise<AdminReply>;
}

export async function askAdmin(
  url: string,
  secret: string,
  [method, path, body]: readonly [string, string, unknown?],
): Promise<AdminReply> {
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const response = await fetch(`${url}/admin${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text || undefined, text };
}

export async function openAdminListener(
  plugins: readonly Plugin[],
  settings: Partial<Omit<Parameters<typeof startGateway>[0], 'plugins'>> = {},
): Promise<AdminListener> {
  const gateway = await startGateway({ ...settings, plugins: [bearer(), ...plugins, admin({ port: 0 })] });
  const url = findAdminUrl(gateway.printed);
  const secret = readFileSync(join(gateway.dataFolder, 'operator-secret'), 'utf8').trim();
  return { gateway, url, secret, ask: (...request) => askAdmin(url, secret, request) };
}
