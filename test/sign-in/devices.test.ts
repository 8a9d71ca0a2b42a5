/** Devices sign in with the requests that Claude Code's `/login` makes, and a person confirms each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openHouse, type Browser, type House } from './house.ts';

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

/** Follows the link of a device as its person, and confirms or refuses. */
async function confirm(browser: Browser, link: string, answer = 'approve'): Promise<Response> {
  const page = await (await browser.open(link)).text();
  expect(page).toContain('claude_code claude-code/2.1.332');
  const code = new URL(link).searchParams.get('user_code') ?? '';
  return browser.post(`${house.publicUrl}/device`, { user_code: code, account: 'search', answer });
}

async function signIn(subject: string) {
  const begun = await begin();
  await confirm(await house.enter(subject, 'public'), begun.verification_uri_complete);
  return tokensSchema.parse(await (await poll(begun.device_code)).json());
}

function call(token: string): Promise<Response> {
  const body = { model: 'demo/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
  return fetch(`${house.publicUrl}/v1/messages?beta=true`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
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
