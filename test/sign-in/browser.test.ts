/** People sign in to the console at a real identity provider, and others try to get in by forged replies. */
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Browser, openHouse, type House } from './house.ts';
import { clientId, signingKey } from './identity.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
});
beforeEach(() => {
  house.identity.now = 'ann';
});
afterAll(() => house.close());

const sessionSchema = z.looseObject({ signedIn: z.boolean() });
const readSession = async (browser: Browser) =>
  sessionSchema.parse(await (await browser.send(`${house.consoleUrl}/console/session`)).json());

/** A browser that is back from the identity provider, with the address that it is sent to. */
async function comeBack(): Promise<{ browser: Browser; back: URL }> {
  const browser = new Browser();
  await browser.open(`${house.consoleUrl}/sign-in`, `${house.consoleUrl}/sign-in/callback`);
  return { browser, back: new URL(browser.at) };
}

describe('sign-in to the console', () => {
  it('gives a person a session with their role, until they sign out', async () => {
    const browser = await house.enter('ann');
    expect(await readSession(browser)).toMatchObject({
      signedIn: true,
      name: 'ann@house.example',
      role: 'owner',
      readOnly: false,
    });
    expect((await browser.send(`${house.consoleUrl}/admin/accounts`)).status).toBe(200);
    const headers = { origin: house.consoleUrl };
    const cookies = new Map(browser.cookies);
    const out = await browser.send(`${house.consoleUrl}/console/session`, { method: 'DELETE', headers });
    expect(out.status).toBe(204);
    cookies.forEach((value, name) => browser.cookies.set(name, value));
    expect((await browser.send(`${house.consoleUrl}/admin/accounts`)).status).toBe(401);
    expect(await readSession(browser)).toMatchObject({ signedIn: false });
  });

  it('keeps its cookie from scripts and from other sites', async () => {
    const { browser, back } = await comeBack();
    const [cookie = ''] = (await browser.send(back.href)).headers.getSetCookie();
    expect(cookie).toMatch(/^tollgate-person-\d+=gb-\w+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  });

  it('goes to a path of the gateway, and to no other site', async () => {
    for (const [to, end] of [
      ['/device?user_code=BCDF-GHJK', '/device?user_code=BCDF-GHJK'],
      ['https://evil.example/', '/'],
      ['//evil.example/', '/'],
      ['/\\evil.example/', '/'],
      ['/\t/evil.example/', '/'],
      ['javascript:alert(1)', '/'],
      ['/"><script>alert(1)</script>', '/%22%3E%3Cscript%3Ealert(1)%3C/script%3E'],
    ] as const) {
      const browser = new Browser();
      const page = await browser.open(`${house.consoleUrl}/sign-in?${new URLSearchParams({ to })}`);
      const html = await page.text();
      expect([to, /content="0;url=([^"]*)"/.exec(html)?.[1]]).toEqual([to, end.replaceAll('&', '&#38;')]);
      expect(html).not.toContain('evil.example');
    }
  });

  it('takes its own address from the configuration, whatever the request names as its host', async () => {
    const browser = new Browser();
    const begun = await browser.send(`${house.consoleUrl}/sign-in`, {
      headers: { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
    });
    const { searchParams } = new URL(begun.headers.get('location') ?? '');
    expect(searchParams.get('redirect_uri')).toBe(`${house.consoleUrl}/sign-in/callback`);
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    for (const name of ['state', 'nonce', 'code_challenge']) expect(searchParams.get(name)).toMatch(/.{40}/);
  });
});

describe('a reply to a sign-in is refused', () => {
  async function expectRefusal({ browser, back }: { browser: Browser; back: URL }): Promise<void> {
    const reply = await browser.send(back.href);
    expect(reply.status).toBe(403);
    expect(reply.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await readSession(browser)).toMatchObject({ signedIn: false });
  }

  it('with another state', async () => {
    const { browser, back } = await comeBack();
    back.searchParams.set('state', 'another');
    await expectRefusal({ browser, back });
  });

  it('in another browser, or one that began another sign-in meanwhile', async () => {
    const { back } = await comeBack();
    await expectRefusal({ browser: new Browser(), back });
    await expectRefusal({ browser: (await comeBack()).browser, back });
  });

  it('a second time, with the same code', async () => {
    const { browser, back } = await comeBack();
    const cookies = new Map(browser.cookies);
    expect((await browser.send(back.href)).status).toBe(200);
    browser.cookies.clear();
    cookies.forEach((value, name) => browser.cookies.set(name, value));
    await expectRefusal({ browser, back });
  });

  it('of another issuer, or with none', async () => {
    for (const issuer of ['https://evil.example', undefined]) {
      const { browser, back } = await comeBack();
      if (issuer === undefined) back.searchParams.delete('iss');
      else back.searchParams.set('iss', issuer);
      await expectRefusal({ browser, back });
    }
  });

  it('with an error, whose words the page does not show as markup', async () => {
    const { browser, back } = await comeBack();
    back.searchParams.delete('code');
    back.searchParams.set('error', '<img src=x>');
    const reply = await browser.send(back.href);
    expect([reply.status, await reply.text()]).toEqual([403, expect.not.stringContaining('<img')]);
  });

  it('for people whom no role names', async () => {
    house.identity.staff.set('guest', { email: 'guest@house.example', groups: ['guests', '__proto__'] });
    await expect(house.enter('guest')).rejects.toThrow('no role here');
  });

  it('if the cookie of one listener is sent to the other', async () => {
    const { browser, back } = await comeBack();
    const [value = ''] = browser.cookies.values();
    const { port } = new URL(house.publicUrl);
    browser.cookies.set(`tollgate-person-${port}`, value);
    const other = new URL(`${house.publicUrl}/sign-in/callback${back.search}`);
    expect((await browser.send(other.href)).status).toBe(403);
  });
});

describe('roles and accounts', () => {
  it('follow the groups of the identity provider at every sign-in', async () => {
    house.identity.staff.set('eve', { email: 'eve@house.example', groups: ['viewers', 'search'] });
    const first = await readSession(await house.enter('eve'));
    expect(first).toMatchObject({ role: 'viewer', readOnly: true });
    house.identity.staff.set('eve', { email: 'eve@house.example', groups: ['search'] });
    const browser = await house.enter('eve');
    expect(await readSession(browser)).toMatchObject({ role: 'member', readOnly: false, key: first.key });
    expect((await browser.send(`${house.consoleUrl}/admin/credits`)).status).toBe(403);
  });
});

describe('a logout at the identity provider', () => {
  const event = 'http://schemas.openid.net/event/backchannel-logout';
  const post = (token: string): Promise<Response> =>
    fetch(`${house.publicUrl}/sign-in/logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    });
  const usual = { alg: 'RS256', kid: 'first', typ: 'logout+jwt' };
  const build = (claims: Readonly<Record<string, unknown>> = {}, header = usual) =>
    new SignJWT({
      iss: house.identity.issuer,
      aud: clientId,
      sub: 'ann',
      events: { [event]: {} },
      jti: `${Math.random()}`,
      iat: Math.floor(Date.now() / 1000),
      ...claims,
    }).setProtectedHeader(header);

  it('ends the sessions of its session, as the provider posts it', async () => {
    const [browser, other] = [await house.enter('ann'), await house.enter('ann')];
    using ledger = new DatabaseSync(join(house.gateway.dataFolder, 'ledger.db'), { readOnly: true });
    const newest = 'SELECT sid FROM plugin_sign_in_sessions ORDER BY rowid DESC LIMIT 1';
    const { sid } = z.object({ sid: z.string() }).parse(ledger.prepare(newest).get());
    const client = await house.identity.provider.Client.find(clientId);
    await client?.backchannelLogout('ann', sid);
    const ended = await Promise.all([browser, other].map(async (each) => (await readSession(each)).signedIn));
    expect(ended.toSorted()).toEqual([false, true]);
  });

  it('ends all sessions of a person if it names no session', async () => {
    const browser = await house.enter('ann');
    expect((await post(await build().sign(signingKey))).status).toBe(200);
    expect(await readSession(browser)).toMatchObject({ signedIn: false });
  });

  it('can be posted again if the sessions could not be ended, and ends them then', async () => {
    const browser = await house.enter('ann');
    const token = await build().sign(signingKey);
    using ledger = new DatabaseSync(join(house.gateway.dataFolder, 'ledger.db'), { timeout: 10_000 });
    ledger.exec(
      `CREATE TRIGGER refuse BEFORE DELETE ON plugin_sign_in_sessions BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
    const failed = await post(token);
    ledger.exec('DROP TRIGGER refuse');
    expect(failed.ok).toBe(false);
    expect(await readSession(browser)).toMatchObject({ signedIn: true });
    expect((await post(token)).status).toBe(200);
    expect(await readSession(browser)).toMatchObject({ signedIn: false });
  });

  it('is refused if it is forged, old, for another client, used again, or an ID token', async () => {
    const browser = await house.enter('ann');
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const used = await build({ sub: 'nobody' }).sign(signingKey);
    expect((await post(used)).status).toBe(200);
    const secret = new TextEncoder().encode('a-secret-of-the-gateway-that-nobody-guesses');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const tokens = {
      forged: await build().sign(stranger),
      symmetric: await build({}, { ...usual, alg: 'HS256' }).sign(secret),
      unsigned: `${none}.${(await build().sign(signingKey)).split('.')[1]}.`,
      foreign: await build({ iss: 'https://evil.example' }).sign(signingKey),
      'for another': await build({ aud: 'another' }).sign(signingKey),
      'with a nonce': await build({ nonce: 'n' }).sign(signingKey),
      'without the event': await build({ events: {} }).sign(signingKey),
      'of nobody': await build({ sub: undefined }).sign(signingKey),
      'without an id': await build({ jti: undefined }).sign(signingKey),
      old: await build({ iat: Math.floor(Date.now() / 1000) - 3600 }).sign(signingKey),
      'of another type': await build({}, { ...usual, typ: 'at+jwt' }).sign(signingKey),
      used,
      nonsense: 'a.b.c',
    };
    for (const [name, token] of Object.entries(tokens))
      expect([name, (await post(token)).status]).toEqual([name, 400]);
    const json = await fetch(`${house.publicUrl}/sign-in/logout`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(json.status).toBe(400);
    const large = await post('a'.repeat(70_000));
    expect(large.status).toBe(400);
    expect(await readSession(browser)).toMatchObject({ signedIn: true });
  });
});
