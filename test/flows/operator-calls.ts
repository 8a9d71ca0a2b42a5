/** A gateway as it is delivered, and calls to its admin API, its command line and its models. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll } from 'vitest';
import { z } from 'zod';
import { askAdmin, type AdminReply } from '../support/admin-listener.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { startDelivered } from '../support/delivered.ts';
import type { TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, startProcess, type RunningGateway } from '../support/process.ts';

const data = makeDataFolder();

const topUpSecret = 'what the payment provider signs with';

export const environment = { TOLLGATE_DATA: data, TOLLGATE_TOP_UP_SECRET: topUpSecret };

export let gateway: { readonly url: string };

export let adminUrl: string;

export let secret: string;

export function callAdmin(method: string, path: string, body?: unknown, key = secret): Promise<AdminReply> {
  return askAdmin(adminUrl, key, [method, path, body]);
}

export const made = z.object({ key: z.string(), id: z.string() });

/** An account with money for the calls of tests. */
export async function addAcme(): Promise<void> {
  await callAdmin('POST', '/accounts', { name: 'acme' });
  await callAdmin('POST', '/credits', { account: 'acme', amount: '2.5', reference: 'card-1' });
}

export async function createKey(body: object): Promise<z.output<typeof made>> {
  return made.parse((await callAdmin('POST', '/keys', body)).body);
}

export function call(key: string, model = 'demo/echo', maxTokens = 20): Promise<Response> {
  return postJson(
    `${gateway.url}/v1/chat/completions`,
    { model, max_tokens: maxTokens, messages: [{ role: 'user', content: 'Hello!' }] },
    { authorization: `Bearer ${key}` },
  );
}

export async function fetchStatus(key: string): Promise<number> {
  return (await call(key)).status;
}

export const soon = { timeout: 120_000, interval: 100 };

/** Starts the gateway as an operator does: as a process of its own. */
export function openProcess(): void {
  let running: RunningGateway;
  beforeAll(async () => {
    gateway = running = await startProcess(environment);
    adminUrl = findAdminUrl(running.printed());
    secret = readFileSync(join(data, 'operator-secret'), 'utf8').trim();
  });
}

/** Starts it in this process, which takes less time. */
export function openGateway(): void {
  let running: TestGateway;
  beforeAll(async () => {
    gateway = running = await startDelivered();
    adminUrl = findAdminUrl(running.printed);
    secret = readFileSync(join(running.dataFolder, 'operator-secret'), 'utf8').trim();
  });
}
