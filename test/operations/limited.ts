/** Gateways with limits, closed after each test, and calls to them. */
import { afterEach } from 'vitest';
import { z } from 'zod';
import { definePlugin, type Plugin } from '../../core/index.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';
import { chatReply } from '../support/replies.ts';
import {
  sendJson,
  startScriptedVendor,
  type Conduct,
  type ScriptedVendor,
} from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

const whole = chatReply('one', {}, [30, 70]);

export const answerWell: Conduct = (response) => sendJson(response, whole);

/** The client names its key; the part before the dash is the account. */
export const anyKey = definePlugin({
  name: 'any-key',
  options: z.strictObject({}),
  apply(host) {
    host.hooks.authenticate.tapPromise('any-key', async ({ headers }) => {
      const key = String(headers['x-key'] ?? 'a-1');
      return { kind: 'user', key, account: key.split('-')[0] ?? '' };
    });
  },
});

export let vendor: ScriptedVendor;
export const running: TestGateway[] = [];

export async function openVendor(conduct = answerWell): Promise<void> {
  vendor = await startScriptedVendor(conduct);
}

export async function start(
  limits: Parameters<typeof rateLimits>[0],
  conduct = answerWell,
  more: readonly Plugin[] = [],
): Promise<TestGateway[]> {
  await openVendor(conduct);
  return startAnother(limits, more);
}

export async function startAnother(
  limits: Parameters<typeof rateLimits>[0],
  more: readonly Plugin[] = [],
): Promise<TestGateway[]> {
  const endpoints = { 'chat-completions': `${vendor.origin}/v1/chat/completions` };
  running.push(
    await startGateway({
      plugins: [
        anyKey(),
        chatCompletions(),
        messages(),
        testProvider({ name: 'v', endpoints }),
        rateLimits(limits),
        ...more,
      ],
    }),
  );
  return running;
}

export async function call({ url }: TestGateway, key = 'a-1', content = 'Hi'): Promise<Response> {
  const response = await postJson(
    `${url}/v1/chat/completions`,
    { model: 'house/model', messages: [{ role: 'user', content }] },
    { 'x-key': key },
  );
  await response.clone().text();
  return response;
}

export function forgetGateways(): void {
  afterEach(() => void running.splice(0));
}
