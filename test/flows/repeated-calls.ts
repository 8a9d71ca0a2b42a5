/** Calls with an idempotency key, a new one for each test, and what they cost. */
import { beforeAll, beforeEach } from 'vitest';
import { apiKeyHeader } from '../../plugins/auth/api-key-header.ts';
import { googleApiKey } from '../../plugins/auth/google-api-key.ts';
import { rateLimits } from '../../plugins/operations/rate-limits.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { groq } from '../../plugins/providers/groq.ts';
import { openHarness, type Harness } from '../support/harness.ts';

/** A provider of chat-completions alone, so that the calls of all other protocols are translated. */
export const model = 'openai/gpt-oss-20b';
export const upstream = 'openai/gpt-oss-20b';

const plugins = [
  apiKeyHeader(),
  googleApiKey(),
  messages(),
  responses(),
  generateContent(),
  images(),
  demo(),
  rateLimits({ perKey: { requests: 100_000 } }),
];

export const largest = 100_000;
export let harness: Harness;
let orders = 0;
export let order: string;

/** The state before the test. */
export let before: { used: number; requests: number; ends: number };
export const readUsed = async (): Promise<number> => (await harness.balance()).used - before.used;
export const countCalls = (): number => harness.vendor.requests.length - before.requests;

export interface Ask {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export const families = {
  'chat-completions': (stream: boolean, text = 'Hello!'): Ask => ({
    path: '/v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: text }] },
  }),
  responses: (stream: boolean, text = 'Hello!'): Ask => ({
    path: '/v1/responses',
    body: { model, stream, input: text },
  }),
  messages: (stream: boolean, text = 'Hello!'): Ask => ({
    path: '/alpha/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: { model, stream, max_tokens: 100, messages: [{ role: 'user', content: text }] },
  }),
  'generate-content': (stream: boolean, text = 'Hello!'): Ask => ({
    path: `/beta/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text }] }] },
  }),
};

export const chat = families['chat-completions'];

export interface ClientReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export function start(
  { path, headers, body }: Ask,
  idempotencyKey: string | null,
  key = harness.key,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(harness.gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers,
      ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
}

export async function send(
  ask: Ask,
  idempotencyKey: string | null = order,
  key = harness.key,
): Promise<ClientReply> {
  const response = await start(ask, idempotencyKey, key);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Reads a stream up to this text, then disconnects. */
export async function leaveAfter(ask: Ask, text: string): Promise<string> {
  const controller = new AbortController();
  const response = await start(ask, order, harness.key, controller.signal);
  let seen = '';
  for await (const chunk of response.body ?? []) {
    seen += Buffer.from(chunk).toString('utf8');
    if (seen.includes(text)) break;
  }
  controller.abort();
  await harness.gateway.ended(before.ends + 1);
  return seen;
}

export function openOrders(): void {
  beforeAll(async () => {
    harness = await openHarness({ plugins, provider: groq, ledger: { idempotency: { largest, ttl: 60 } } });
  });
  beforeEach(async () => {
    orders += 1;
    order = `order-${orders}`;
    harness.vendor.script(upstream, {});
    before = {
      used: (await harness.balance()).used,
      requests: harness.vendor.requests.length,
      ends: harness.gateway.ends.length,
    };
  });
}
