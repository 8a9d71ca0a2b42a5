/**
 * Every protocol's endpoint refuses what a key may not do, in its own format and before any provider is
 * asked.
 */
import { beforeAll, expect, it } from 'vitest';
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

async function call(family: string, key: string) {
  const { path, body, credential } = families[family] ?? { path: '', body: {}, credential: buildBearer };
  const response = await postJson(gateway.url + path, body, credential(key));
  const { headers, status } = response;
  const [retry, after] = [headers.get('x-should-retry'), headers.get('retry-after')];
  return { status, retry, after, body: await response.json() };
}

/** An error's status and message, and its code in each format. */
type Refusal = readonly [status: number, message: RegExp, openai: string, anthropic: string, google: string];

const refusals = {
  spent: [
    402,
    /the key \w{16} has 0\.000000001 USD left to spend/,
    'insufficient_quota',
    'billing_error',
    'FAILED_PRECONDITION OUT_OF_BALANCE',
  ],
  budgeted: [
    402,
    new RegExp(
      String.raw`the budget \d+ of the key "\w{16}" has 0\.000000001 of 0\.000000001 USD left for this ` +
        String.raw`hour\. It resets at 20\d\d-\d\d-\d\d \d\d:00 \(UTC\)\. .* tollgate budgets raise \d+ `,
    ),
    'insufficient_quota',
    'billing_error',
    'FAILED_PRECONDITION BUDGET_EXCEEDED',
  ],
  barred: [
    403,
    /may not call this model; it may call openai\/\*/,
    'permission_denied',
    'permission_error',
    'PERMISSION_DENIED FORBIDDEN',
  ],
  expired: [
    401,
    /expired at 2026-01-01T00:00:00\.000Z/,
    'invalid_api_key',
    'authentication_error',
    'UNAUTHENTICATED API_KEY_INVALID',
  ],
  disabled: [
    401,
    /is disabled/,
    'invalid_api_key',
    'authentication_error',
    'UNAUTHENTICATED API_KEY_INVALID',
  ],
  tooOften: [
    429,
    /has made the 1 call that it may make in a minute/,
    'rate_limit_exceeded',
    'rate_limit_error',
    'RESOURCE_EXHAUSTED RATE_LIMITED',
  ],
} as const satisfies Record<string, Refusal>;

function buildBody(family: string, [code, words, openai, anthropic, google]: Refusal): object {
  const message = expect.stringMatching(words);
  if (family === 'messages')
    return {
      type: 'error',
      error: { type: anthropic, message },
      request_id: expect.stringMatching(/^[\w-]{36}$/),
    };
  if (family !== 'generate-content') return { error: { message, code: openai } };
  const [status, reason] = google.split(' ');
  const details = expect.arrayContaining([expect.objectContaining({ reason })]);
  return { error: { code, message, status, details } };
}

const limits: Readonly<Record<keyof typeof refusals, () => Promise<{ readonly secret: string }>>> = {
  spent: () => createKey({ spendCap: 1n }),
  async budgeted() {
    const made = await createKey();
    const counted = { scope: 'key', subject: made.id, per: 'hour', zone: 'UTC' } as const;
    await store.createBudget({ ...counted, limit: 1n, hard: true, thresholds: [], at: Date.now() });
    return made;
  },
  barred: () => createKey({ models: ['openai/*'] }),
  expired: () => createKey({ expires: Date.UTC(2026, 0, 1) }),
  async disabled() {
    const made = await createKey();
    await store.changeKey({ id: made.id, changes: { disabled: true } });
    return made;
  },
  tooOften: () => createKey({ callsPerMinute: 1 }),
};

const never = { retry: 'false', after: null };
/** What tells the client when to try again. */
const advice: Partial<Record<keyof typeof refusals, object>> = {
  budgeted: { retry: 'false', after: expect.stringMatching(/^\d{1,4}$/) },
  tooOften: { retry: null, after: expect.stringMatching(/^[1-6]?\d$/) },
};

const cases = [
  ['spent', 'that has spent its cap is refused like an empty account'],
  ['budgeted', 'whose budget is spent is refused, and learns which budget and when it resets'],
  ['barred', 'that may not call the model learns which models it may call'],
  ['expired', 'that has expired is refused'],
  ['disabled', 'that is disabled is refused'],
  ['tooOften', 'that calls too often learns when to retry'],
] as const;
it.each(
  Object.keys(families).flatMap((family) => cases.map(([name, what]) => [family, what, name] as const)),
)('at the endpoint of %s a key %s', async (family, _, name) => {
  const { secret } = await limits[name]();
  if (name === 'tooOften') expect((await call(family, secret)).status).toBe(200);
  const refusal = refusals[name];
  // The responses API has no status of its own for an empty account.
  const status = family === 'responses' && refusal[0] === 402 ? 429 : refusal[0];
  const body = buildBody(family, refusal);
  expect(await call(family, secret)).toMatchObject({ status, ...(advice[name] ?? never), body });
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
