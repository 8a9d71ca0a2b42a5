/**
 * Every protocol's endpoint refuses what a key may not do, in its own format and before any provider is
 * asked.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { issueKey, type KeyOrder } from '../../plugins/meters/balance/keys.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { openBooks } from '../support/books.ts';
import { keyHeaders, textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postJson } from '../support/post.ts';

let gateway: TestGateway;
let store: Store;
beforeAll(async () => {
  gateway = await startGateway({
    plugins: [
      ...keyHeaders(),
      ...textProtocols(),
      images(),
      demo({ pace: 1 }),
      balance({ firstCredit: '0' }),
    ],
  });
  ({ store } = await openBooks(gateway));
  await gateway.verb('credit add', ['tester', '5']);
});
afterAll(async () => {
  await store.close();
  await gateway.close();
});

const user = [{ role: 'user', content: 'Hello!' }];

interface Family {
  readonly path: string;
  readonly body: object;
  /** The header in which its clients send their key. */
  readonly credential: (key: string) => Record<string, string>;
}

const buildBearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

const families: Readonly<Record<string, Family>> = {
  'chat-completions': {
    path: '/v1/chat/completions',
    body: { model: 'demo/echo', max_tokens: 20, messages: user },
    credential: buildBearer,
  },
  responses: {
    path: '/v1/responses',
    body: { model: 'demo/echo', max_output_tokens: 20, input: 'Hello!' },
    credential: buildBearer,
  },
  messages: {
    path: '/alpha/v1/messages',
    body: { model: 'demo/echo', max_tokens: 20, messages: user },
    credential: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  },
  'generate-content': {
    path: '/beta/v1beta/models/demo/echo:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
    credential: (key) => ({ 'x-goog-api-key': key }),
  },
  images: {
    path: '/v1/images/generations',
    body: { model: 'demo/paint', prompt: 'A lighthouse', quality: 'low', size: '512x512' },
    credential: buildBearer,
  },
};

async function createKey(
  limits: Partial<KeyOrder> = {},
): Promise<{ readonly secret: string; readonly id: string }> {
  const made = await issueKey(store, { name: '', account: 'tester', ...limits });
  if (!made) throw new Error('there is no such account');
  return made;
}

interface ClientReply {
  readonly status: number;
  readonly retry: string | null;
  readonly after: string | null;
  readonly body: unknown;
}

async function call(family: string, key: string): Promise<ClientReply> {
  const { path, body, credential } = families[family] ?? { path: '', body: {}, credential: buildBearer };
  const response = await postJson(gateway.url + path, body, credential(key));
  return {
    status: response.status,
    retry: response.headers.get('x-should-retry'),
    after: response.headers.get('retry-after'),
    body: await response.json(),
  };
}

type Shape = 'openai' | 'messages' | 'generate-content';

function getShape(family: string): Shape {
  return family === 'messages' || family === 'generate-content' ? family : 'openai';
}

/** An error's status, and what its body says in each format. */
interface Refusal {
  readonly status: number;
  readonly message: RegExp;
  readonly openai: { readonly type: string; readonly code: string; readonly param: string | null };
  readonly messages: string;
  readonly 'generate-content': { readonly status: string; readonly reason: string };
}

function buildBody(family: string, refusal: Refusal): object {
  const message = expect.stringMatching(refusal.message);
  switch (getShape(family)) {
    case 'openai':
      return { error: { message, ...refusal.openai } };
    case 'messages':
      return {
        type: 'error',
        error: { type: refusal.messages, message },
        request_id: expect.stringMatching(/^[\w-]{36}$/),
      };
    case 'generate-content': {
      const { status, reason } = refusal['generate-content'];
      return {
        error: {
          code: refusal.status,
          message,
          status,
          details: expect.arrayContaining([expect.objectContaining({ reason })]),
        },
      };
    }
  }
}

const refusals = {
  spent: {
    status: 402,
    message: /the key \w{16} has 0\.000000001 USD left to spend/,
    openai: { type: 'insufficient_quota', code: 'insufficient_quota', param: null },
    messages: 'billing_error',
    'generate-content': { status: 'FAILED_PRECONDITION', reason: 'OUT_OF_BALANCE' },
  },
  budgeted: {
    status: 402,
    message: new RegExp(
      String.raw`the budget \d+ of the key "\w{16}" has 0\.000000001 of 0\.000000001 USD left for this ` +
        String.raw`hour\. It resets at 20\d\d-\d\d-\d\d \d\d:00 \(UTC\)\. .* tollgate budgets raise \d+ `,
    ),
    openai: { type: 'insufficient_quota', code: 'insufficient_quota', param: null },
    messages: 'billing_error',
    'generate-content': { status: 'FAILED_PRECONDITION', reason: 'BUDGET_EXCEEDED' },
  },
  barred: {
    status: 403,
    message: /may not call this model; it may call openai\/\*/,
    openai: { type: 'invalid_request_error', code: 'permission_denied', param: 'model' },
    messages: 'permission_error',
    'generate-content': { status: 'PERMISSION_DENIED', reason: 'FORBIDDEN' },
  },
  expired: {
    status: 401,
    message: /expired at 2026-01-01T00:00:00\.000Z/,
    openai: { type: 'invalid_request_error', code: 'invalid_api_key', param: null },
    messages: 'authentication_error',
    'generate-content': { status: 'UNAUTHENTICATED', reason: 'API_KEY_INVALID' },
  },
  disabled: {
    status: 401,
    message: /is disabled/,
    openai: { type: 'invalid_request_error', code: 'invalid_api_key', param: null },
    messages: 'authentication_error',
    'generate-content': { status: 'UNAUTHENTICATED', reason: 'API_KEY_INVALID' },
  },
  tooOften: {
    status: 429,
    message: /has made the 1 call that it may make in a minute/,
    openai: { type: 'requests', code: 'rate_limit_exceeded', param: null },
    messages: 'rate_limit_error',
    'generate-content': { status: 'RESOURCE_EXHAUSTED', reason: 'RATE_LIMITED' },
  },
} as const satisfies Record<string, Refusal>;

describe.each(Object.keys(families))('a key at the endpoint of %s', (family) => {
  const never = { retry: 'false', after: null };

  it('that has spent its cap is refused like an empty account', async () => {
    const { secret } = await createKey({ spendCap: 1n });
    // The responses API has no status of its own for it.
    const status = family === 'responses' ? 429 : 402;
    expect(await call(family, secret)).toEqual({ status, ...never, body: buildBody(family, refusals.spent) });
  });

  it('whose budget is spent is refused, and the error names the budget and its reset', async () => {
    const { secret, id } = await createKey();
    const counted = { scope: 'key', subject: id, per: 'hour', zone: 'UTC' } as const;
    await store.createBudget({ ...counted, limit: 1n, hard: true, thresholds: [], at: Date.now() });
    expect(await call(family, secret)).toEqual({
      status: family === 'responses' ? 429 : 402,
      retry: 'false',
      after: expect.stringMatching(/^\d{1,4}$/),
      body: buildBody(family, refusals.budgeted),
    });
  });

  it('that may not call the model is refused, and the error names the models it may call', async () => {
    const { secret } = await createKey({ models: ['openai/*'] });
    expect(await call(family, secret)).toEqual({
      status: 403,
      ...never,
      body: buildBody(family, refusals.barred),
    });
  });

  it('that has expired is refused', async () => {
    const { secret } = await createKey({ expires: Date.UTC(2026, 0, 1) });
    expect(await call(family, secret)).toEqual({
      status: 401,
      ...never,
      body: buildBody(family, refusals.expired),
    });
  });

  it('that is disabled is refused', async () => {
    const { secret, id } = await createKey();
    await store.changeKey({ id, changes: { disabled: true } });
    expect(await call(family, secret)).toEqual({
      status: 401,
      ...never,
      body: buildBody(family, refusals.disabled),
    });
  });

  it('that calls too often learns when to retry', async () => {
    const { secret } = await createKey({ callsPerMinute: 1 });
    expect((await call(family, secret)).status).toBe(200);
    const refused = await call(family, secret);
    expect(refused).toEqual({
      status: 429,
      retry: null,
      after: expect.stringMatching(/^[1-6]?\d$/),
      body: buildBody(family, refusals.tooOften),
    });
  });
});

it('refused calls cost nothing, and each reservation has ended', async () => {
  const calls = Object.keys(families).length;
  await gateway.ended(calls * 7);
  expect(await store.audit()).toMatchObject({ ok: true, pending: 0, findings: [] });
  expect(await store.sumUsage({ by: ['account'] })).toMatchObject([{ account: 'tester', calls }]);
});

it('the balance endpoint refuses an expired key in its own format', async () => {
  const { secret } = await createKey({ expires: Date.UTC(2026, 0, 1) });
  const reply = await fetch(`${gateway.url}/v1/user/balance`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  expect([reply.status, await reply.json()]).toEqual([401, { error: 'unauthenticated', is_active: false }]);
});
