/** Devices sign in with the requests that Claude Code's `/login` makes, and a person confirms each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openHouse, type Browser, type House } from './house.ts';
import { clientId, signingKey } from './identity.ts';

const begunSchema = z.object({
  device_code: z.string(),
  user_code: z.string().regex(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
  verification_uri: z.url(),
  verification_uri_complete: z.url(),
  expires_in: z.number(),
  interval: z.literal(5),
  login_notice: z.literal('Only for work.'),
});
const tokensSchema = z.object({
  access_token: z.string().startsWith('ga-'),
  token_type: z.literal('Bearer'),
  expires_in: z.number().min(1).max(900),
  refresh_token: z.string().startsWith('gr-'),
  email: z.string().optional(),
});

const budgetSchema = z.looseObject({ current: z.looseObject({ resets: z.string() }) });

let house: House;
beforeAll(async () => {
  house = await openHouse();
  await house.ask('POST', '/admin/accounts', { name: 'search' });
  await house.ask('POST', '/admin/credits', { account: 'search', amount: '5' });
});
afterEach(() => vi.useRealTimers());
afterAll(() => house.close());

/** Moves the clock of the gateway and of the identity provider. */
function skip(minutes: number): void {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(now + minutes * 60_000);
}

function postForm(path: string, form: Readonly<Record<string, string>>): Promise<Response> {
  const headers = { 'user-agent': 'claude-code/2.1.332' };
  return fetch(house.publicUrl + path, {
    method: 'POST',
    headers,
    body: new URLSearchParams(form),
    redirect: 'error',
  });
}

const begin = async () =>
  begunSchema.parse(await (await postForm('/oauth/device_authorization', { surface: 'claude_code' })).json());

const poll = (code: string): Promise<Response> =>
  postForm('/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code });

const renew = (token: string): Promise<Response> =>
  postForm('/oauth/token', { grant_type: 'refresh_token', refresh_token: token });

async function removeBudgets(): Promise<void> {
  const list = z.object({ data: z.array(z.object({ id: z.number() })) });
  const { data } = list.parse(await (await house.ask('GET', '/admin/budgets')).json());
  for (const { id } of data) await house.ask('DELETE', `/admin/budgets/${id}`);
}

/** Follows the link of a device as its person, and confirms or refuses. */
async function confirm(browser: Browser, link: string, answer = 'approve'): Promise<Response> {
  const shown = await browser.open(link);
  // Under `no-referrer` browsers send `Origin: null` with its form, which is refused.
  expect(shown.headers.get('referrer-policy')).toBe('same-origin');
  expect(shown.headers.get('content-security-policy')).toContain("form-action 'self'");
  const page = await shown.text();
  expect(page).toContain('claude_code claude-code/2.1.332');
  const code = new URL(link).searchParams.get('user_code') ?? '';
  return browser.post(`${house.publicUrl}/device`, { user_code: code, account: 'search', answer });
}

async function signIn(subject: string) {
  const begun = await begin();
  await confirm(await house.enter(subject, 'public'), begun.verification_uri_complete);
  return tokensSchema.parse(await (await poll(begun.device_code)).json());
}

function readLimits({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('anthropic-ratelimit')));
}

function call(token: string, tags = 'none'): Promise<Response> {
  const body = { model: 'demo/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
  return fetch(`${house.publicUrl}/v1/messages?beta=true`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'x-tollgate-tags': tags,
    },
    body: JSON.stringify(body),
  });
}

describe('a device', () => {
  it('finds the addresses of its sign-in, all of them on the configured origin', async () => {
    const reply = await fetch(`${house.publicUrl}/.well-known/oauth-authorization-server`);
    expect(await reply.json()).toMatchObject({
      issuer: house.publicUrl,
      device_authorization_endpoint: `${house.publicUrl}/oauth/device_authorization`,
      token_endpoint: `${house.publicUrl}/oauth/token`,
      revocation_endpoint: `${house.publicUrl}/oauth/revoke`,
    });
  });

  it('gets tokens once its person confirms the code, and calls are charged to their account', async () => {
    const begun = await begin();
    expect(await (await poll(begun.device_code)).json()).toMatchObject({ error: 'authorization_pending' });
    expect(await (await poll(begun.device_code)).json()).toMatchObject({ error: 'slow_down' });
    const browser = await house.enter('max', 'public');
    expect(await (await confirm(browser, begun.verification_uri_complete)).text()).toContain('signed in');
    skip(0.1);
    const tokens = tokensSchema.parse(await (await poll(begun.device_code)).json());
    expect(tokens.email).toBe('max@house.example');
    expect(await (await poll(begun.device_code)).json()).toMatchObject({ error: 'expired_token' });
    const reply = await call(tokens.access_token);
    expect(reply.status).toBe(200);
    const own = await fetch(`${house.publicUrl}/v1/key`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    expect(await own.json()).toMatchObject({ account: 'search' });
  });

  it('learns of the budget that leaves the least with each reply, and of a full one by a 429', async () => {
    const { access_token: token } = await signIn('max');
    const ask = async () => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${house.publicUrl}/api/oauth/usage`, { headers })).json();
    };
    const free = await call(token);
    expect(readLimits(free)).toEqual({});
    expect(await ask()).toMatchObject({
      extra_usage: {
        monthly_limit: null,
        utilization: null,
        daily: { limit: null },
        weekly: { limit: null },
      },
      limits: [],
    });
    const [, month] = await Promise.all(
      [
        { scope: 'team', subject: 'search', limit: '10', per: 'day' },
        { scope: 'account', subject: 'search', limit: '0.0001', per: 'month' },
      ].map(async (budget) => (await house.ask('POST', '/admin/budgets', budget)).json()),
    );
    const resets = Date.parse(budgetSchema.parse(month).current.resets) / 1000;
    const replies = [await call(token, 'step:0')];
    while (replies.at(-1)?.status === 200) replies.push(await call(token, `step:${replies.length}`));
    const [first, refused] = [replies[0], replies.at(-1)];
    const warned = replies.at(-2);
    const prefix = 'anthropic-ratelimit-unified';
    expect(first && readLimits(first)).toEqual({
      [`${prefix}-status`]: 'allowed',
      [`${prefix}-overage-status`]: 'allowed',
      [`${prefix}-representative-claim`]: 'overage',
      [`${prefix}-overage-utilization`]: expect.stringMatching(/^0\.\d\d$/),
      [`${prefix}-reset`]: String(resets),
      [`${prefix}-overage-reset`]: String(resets),
    });
    expect(warned && readLimits(warned)).toMatchObject({
      [`${prefix}-status`]: 'allowed_warning',
      [`${prefix}-overage-surpassed-threshold`]: expect.stringMatching(/^0\.(?:75|95)$/),
    });
    expect(refused?.status).toBe(429);
    expect(refused && readLimits(refused)).toEqual({
      [`${prefix}-status`]: 'rejected',
      [`${prefix}-reset`]: String(resets),
      [`${prefix}-overage-reset`]: String(resets),
      [`${prefix}-overage-utilization`]: '1',
      [`${prefix}-overage-surpassed-threshold`]: '1',
      [`${prefix}-overage-period`]: 'monthly',
      [`${prefix}-overage-disabled-reason`]: 'org_spend_cap_reached',
      [`${prefix}-overage-scope`]: 'group_pool',
    });
    expect(refused?.headers.get('x-should-retry')).toBe('false');
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused?.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'billing_error',
        message: expect.stringMatching(/budget of 0\.0001 USD a month .* It resets at .* Ask an operator/),
      },
    });
    const usage = z
      .object({ limits: z.array(z.looseObject({ resets_at: z.string(), is_active: z.boolean() })) })
      .loose()
      .parse(await ask());
    expect(usage).toMatchObject({
      extra_usage: {
        is_enabled: true,
        monthly_limit: 0.01,
        utilization: expect.any(Number),
        currency: 'USD',
      },
    });
    expect(usage.limits.map((limit) => limit.is_active)).toEqual([true, false]);
    const [active] = usage.limits;
    expect(active).toMatchObject({
      kind: 'spend',
      group: 'monthly',
      severity: expect.stringMatching(/^(?:warning|critical)$/),
    });
    expect(Date.parse(active?.resets_at ?? '') / 1000).toBe(resets);
  });

  it('shares one key with other devices of its person, and gets none while that is off', async () => {
    const listSchema = z.object({ data: z.array(z.looseObject({ id: z.string() })) });
    const list = async () => {
      const found = listSchema.parse(await (await house.ask('GET', '/admin/keys')).json());
      return found.data.filter(({ name, holder }) => name === lent && String(holder).startsWith('mia@'));
    };
    const lent = 'signed-in devices';
    for (let devices = 0; devices < 2; devices += 1) await signIn('mia');
    const [key, ...others] = await list();
    expect(others).toEqual([]);
    await house.ask('PATCH', `/admin/keys/${key?.id}`, { disabled: true });
    // The key is known for a second.
    await sleep(1500);
    const begun = await begin();
    const refused = await confirm(await house.enter('mia', 'public'), begun.verification_uri_complete);
    expect(refused.status).toBe(401);
    expect(await list()).toHaveLength(1);
    await house.ask('PATCH', `/admin/keys/${key?.id}`, { disabled: false });
  });

  it('leaves keys as they are: 402 in place of 429, and no headers of a device', async () => {
    const made = z
      .object({ key: z.string() })
      .parse(await (await house.ask('POST', '/admin/keys', { account: 'search' })).json());
    const refused = await call(made.key);
    expect(refused.status).toBe(402);
    expect(readLimits(refused)).toEqual({});
    const headers = { authorization: `Bearer ${made.key}` };
    expect((await fetch(`${house.publicUrl}/api/oauth/usage`, { headers })).status).toBe(404);
  });

  it('ends by a revocation, and when a renewal is used long after it was replaced', async () => {
    await removeBudgets();
    const revoked = await signIn('max');
    expect((await postForm('/oauth/revoke', { token: revoked.refresh_token })).status).toBe(200);
    expect((await call(revoked.access_token)).status).toBe(401);
    const first = await signIn('max');
    const second = tokensSchema.parse(await (await renew(first.refresh_token)).json());
    // Another process of the client renews at the same time.
    expect((await renew(first.refresh_token)).status).toBe(200);
    expect((await call(first.access_token)).status).toBe(200);
    skip(2);
    expect((await renew(first.refresh_token)).status).toBe(401);
    expect((await renew(second.refresh_token)).status).toBe(401);
  });

  it('is refused if the person says so, and if the code is wrong or old', async () => {
    const browser = await house.enter('max', 'public');
    const refused = await begin();
    await confirm(browser, refused.verification_uri_complete, 'deny');
    expect(await (await poll(refused.device_code)).json()).toMatchObject({ error: 'access_denied' });
    const old = await begin();
    expect(
      (await browser.post(`${house.publicUrl}/device`, { user_code: 'BCDF-GHJK', answer: 'approve' })).status,
    ).toBe(404);
    const foreign = { user_code: old.user_code, account: 'sales', answer: 'approve' };
    expect((await browser.post(`${house.publicUrl}/device`, foreign)).status).toBe(403);
    const elsewhere = await browser.post(`${house.publicUrl}/device`, foreign, 'https://evil.example');
    expect([elsewhere.status, await elsewhere.text()]).toEqual([403, expect.stringContaining('other sites')]);
    skip(11);
    expect(await (await poll(old.device_code)).json()).toMatchObject({ error: 'expired_token' });
    expect(await (await poll('gd-nonsense')).json()).toMatchObject({ error: 'invalid_grant' });
    const form = new URLSearchParams([
      ['grant_type', 'refresh_token'],
      ['grant_type', 'other'],
    ]);
    const twice = await fetch(`${house.publicUrl}/oauth/token`, { method: 'POST', body: form });
    expect(house.gateway.log.filter((line) => line.includes('a route failed'))).toEqual([]);
    expect([twice.status, await twice.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_request' }),
    ]);
  });

  it('keeps its session while the identity provider is away', async () => {
    const tokens = await signIn('max');
    house.identity.isAway = true;
    skip(51);
    const away = await renew(tokens.refresh_token);
    house.identity.isAway = false;
    expect([away.status, await away.json()]).toEqual([
      503,
      expect.objectContaining({ error: 'temporarily_unavailable' }),
    ]);
    skip(2);
    expect((await renew(tokens.refresh_token)).status).toBe(200);
  });

  it('is refused within a minute of its person being logged out at the identity provider', async () => {
    const tokens = await signIn('max');
    expect((await call(tokens.access_token)).status).toBe(200);
    const logout = await new SignJWT({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } })
      .setProtectedHeader({ alg: 'RS256', kid: 'first' })
      .setIssuer(house.identity.issuer)
      .setAudience(clientId)
      .setSubject('max')
      .setJti('of-a-device')
      .setIssuedAt()
      .sign(signingKey);
    expect((await postForm('/sign-in/logout', { logout_token: logout })).status).toBe(200);
    await expect
      .poll(async () => (await call(tokens.access_token)).status, { timeout: 60_000, interval: 500 })
      .toBe(401);
    expect((await renew(tokens.refresh_token)).status).toBe(401);
  });

  it('is asked to sign in again once its person is in another team', async () => {
    const tokens = await signIn('max');
    house.identity.staff.set('max', { email: 'max@house.example', groups: ['viewers'] });
    skip(51);
    expect((await renew(tokens.refresh_token)).status).toBe(401);
    house.identity.staff.set('max', { email: 'max@house.example', groups: ['search'] });
  });

  it('is asked to sign in again after its person has left, and their keys are disabled', async () => {
    const tokens = await signIn('mia');
    expect((await call(tokens.access_token)).status).toBe(200);
    const holder = z
      .object({ data: z.array(z.object({ holder: z.string().nullable(), disabled: z.boolean() })) })
      .parse(await (await house.ask('GET', '/admin/keys')).json())
      .data.find((key) => key.holder?.startsWith('mia@'));
    expect(holder).toMatchObject({ disabled: false });
    house.identity.staff.delete('mia');
    skip(51);
    const refused = await renew(tokens.refresh_token);
    expect([refused.status, await refused.json()]).toEqual([
      401,
      expect.objectContaining({ error: 'invalid_grant' }),
    ]);
    const keys = await (await house.ask('GET', '/admin/keys')).json();
    expect(keys).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ holder: holder?.holder, disabled: true })]),
    });
    vi.useRealTimers();
    await sleep(1000);
    expect((await call(tokens.access_token)).status).toBe(401);
  });
});
