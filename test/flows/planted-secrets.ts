/** A gateway with canaries in everything secret, whose outgoing sockets are noted. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { callLog } from '../../plugins/operations/call-log.ts';
import { calls } from '../../plugins/operations/calls.ts';
import { prometheus } from '../../plugins/operations/prometheus.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { openHarness, type Harness } from '../support/harness.ts';

export const model = 'openai/gpt-4o-mini';

export const canary = {
  prompt: 'canary-of-the-prompt-7f3a',
  reply: 'canary-of-the-reply-9c1e',
  junk: 'sk-canary-of-a-wrong-key-4b2d',
};

export const body = { model, messages: [{ role: 'user', content: canary.prompt }] };
export let harness: Harness;

/** The hosts that this process, and the gateway in it, has connected to or looked up. */
export const opened = new Set<string>();

function note(message: unknown): void {
  const socket =
    typeof message === 'object' && message && 'socket' in message && message.socket instanceof Socket
      ? message.socket
      : undefined;
  socket
    ?.on('connect', () => void opened.add(`${socket.remoteAddress}:${socket.remotePort}`))
    .on('lookup', (_error, _address, _family, host) => void opened.add(host));
}

export function getAdminUrl(): string {
  return findAdminUrl(harness.gateway.printed);
}

export async function send(
  path: string,
  sent: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(harness.gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${harness.key}`, 'anthropic-version': '2023-06-01', ...headers },
    body: typeof sent === 'string' ? sent : JSON.stringify(sent),
  });
}

export function openCanaries(): void {
  beforeAll(async () => {
    opened.clear();
    subscribe('net.client.socket', note);
    harness = await openHarness({
      plugins: [
        apiKeyHeader(),
        googleApiKey(),
        responses(),
        messages(),
        generateContent(),
        prometheus(),
        callLog(),
        calls(),
        admin({ port: 0 }),
      ],
      settings: { timeouts: { firstEvent: 0.3, reply: 0.3, idle: 0.3 } },
    });
  });
  afterAll(async () => {
    unsubscribe('net.client.socket', note);
  });
}
