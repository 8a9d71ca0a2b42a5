/** Signing in to the console, and the attacks on it: other sites, other names, guesses and stolen cookies. */
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createSessions, keyBytes } from '../../plugins/operations/console/sessions.ts';
import { makeFolder } from '../support/folder.ts';
import { openConsole, type ConsoleHarness } from '../support/operated-console.ts';

let open: ConsoleHarness;
afterEach(() => open.close());

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A request with headers that `fetch` does not let a caller set. */
function ask(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  { method = 'GET', body }: { method?: string; body?: unknown } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request(url, { method, headers: { ...json, ...headers }, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
      );
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const signIn = (headers: Readonly<Record<string, string>>, secret = open.secret): Promise<Reply> =>
  ask(`${open.adminUrl}/console/session`, headers, { method: 'POST', body: { secret } });

describe('a session', () => {
  it('opens the admin API, in a cookie that scripts cannot read and other sites cannot send', async () => {
    open = await openConsole();
    const { status, headers, text } = await signIn({ origin: open.adminUrl });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ signedIn: true, key: 'operator-secret', readOnly: false });
    const [cookie = ''] = headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/; Path=\/; Max-Age=43\d\d\d; HttpOnly; SameSite=Strict$/);
    expect(cookie + text).not.toContain(open.secret);
    const listed = await ask(`${open.adminUrl}/admin/accounts`, { cookie: cookie.split(';')[0] ?? '' });
    expect([listed.status, JSON.parse(listed.text)]).toMatchObject([200, { data: [{ account: 'tester' }] }]);
  });

  it('is refused on the public listener, which ignores the cookie', async () => {
    open = await openConsole();
    const cookie = await open.signIn();
    const { url } = open.harness.gateway;
    expect((await ask(`${url}/v1/user/balance`, { cookie })).status).toBe(401);
    expect((await ask(`${url}/console/session`, { cookie })).status).toBe(404);
    expect((await ask(`${url}/admin/accounts`, { cookie })).status).toBe(404);
  });

  it('ends with signing out, also for a copy of the cookie', async () => {
    open = await openConsole();
    const cookie = await open.signIn();
    const left = await ask(
      `${open.adminUrl}/console/session`,
      { cookie, origin: open.adminUrl },
      { method: 'DELETE' },
    );
    expect([left.status, left.headers['set-cookie']?.[0]]).toEqual([
      204,
      expect.stringContaining('Max-Age=0'),
    ]);
    expect((await ask(`${open.adminUrl}/admin/accounts`, { cookie })).status).toBe(401);
    const asked = await ask(`${open.adminUrl}/console/session`, { cookie });
    expect(JSON.parse(asked.text)).toEqual({ signedIn: false });
  });

  it('stays ended after a restart, and ends in every process with the same data folder', async () => {
    open = await openConsole();
    const endedFile = join(makeFolder(), 'console-ended');
    const options = { key: randomBytes(keyBytes), duration: 60_000, endedFile };
    const [here, there] = [createSessions(options), createSessions(options)];
    const kept = here.start('secret');
    const left = [here.start('secret'), here.start('secret')];
    for (const { session, sealed } of left) {
      expect(there.read(sealed)).toEqual(session);
      here.end(session.id);
      expect(there.read(sealed)).toBeUndefined();
    }
    const after = createSessions(options);
    expect(left.map(({ sealed }) => after.read(sealed))).toEqual([undefined, undefined]);
    expect(after.read(kept.sealed)).toEqual(kept.session);
  });

  it('ends when its time is over', async () => {
    open = await openConsole({ session: 0.5 / 3600 });
    const cookie = await open.signIn();
    await expect
      .poll(async () => (await ask(`${open.adminUrl}/admin/accounts`, { cookie })).status)
      .toBe(401);
  });

  it('ends when its operator key is disabled', async () => {
    open = await openConsole();
    const admin = { authorization: `Bearer ${open.secret}` };
    const made = await ask(`${open.adminUrl}/admin/keys`, admin, {
      method: 'POST',
      body: { kind: 'operator' },
    });
    const { key, id } = JSON.parse(made.text);
    const cookie = await open.signIn(key);
    expect((await ask(`${open.adminUrl}/admin/accounts`, { cookie })).status).toBe(200);
    const change = { method: 'PATCH', body: { disabled: true } };
    expect((await ask(`${open.adminUrl}/admin/keys/${id}`, admin, change)).status).toBe(200);
    await expect
      .poll(async () => (await ask(`${open.adminUrl}/admin/accounts`, { cookie })).status)
      .toBe(401);
  });

  it('of a read-only operator key sees everything and changes nothing, as does the key itself', async () => {
    open = await openConsole();
    const admin = { authorization: `Bearer ${open.secret}` };
    const order = { kind: 'operator', readOnly: true };
    const made = await ask(`${open.adminUrl}/admin/keys`, admin, { method: 'POST', body: order });
    const { key, id, readOnly } = JSON.parse(made.text);
    expect(readOnly).toBe(true);
    const cookie = await open.signIn(key);
    const said = await ask(`${open.adminUrl}/console/session`, { cookie });
    expect(JSON.parse(said.text)).toMatchObject({ signedIn: true, key: id, readOnly: true });
    for (const shown of [{ cookie, origin: open.adminUrl }, { authorization: `Bearer ${key}` }]) {
      expect((await ask(`${open.adminUrl}/admin/accounts`, shown)).status).toBe(200);
      for (const [method, path, body] of [
        ['POST', '/admin/accounts', { name: 'new' }],
        ['POST', '/admin/keys', order],
        ['PATCH', `/admin/keys/${id}`, { name: 'mine' }],
        ['POST', `/admin/keys/${id}/rotate`, {}],
        ['POST', '/admin/credits', { account: 'tester', amount: '5' }],
      ] as const) {
        const refused = await ask(open.adminUrl + path, shown, { method, body });
        expect([path, refused.status, refused.text]).toEqual([
          path,
          403,
          expect.stringContaining('may only read'),
        ]);
      }
    }
    const user = await ask(`${open.adminUrl}/admin/keys`, admin, {
      method: 'POST',
      body: { account: 'a', readOnly: true },
    });
    expect([user.status, JSON.parse(user.text)]).toMatchObject([400, { error: { param: 'readOnly' } }]);
  });

  it('cannot be forged: a changed, cut or foreign cookie does not sign in', async () => {
    open = await openConsole();
    const cookie = await open.signIn();
    const [name = '', value = ''] = cookie.split('=');
    const flipped = value.slice(0, 30) + (value[30] === 'A' ? 'B' : 'A') + value.slice(31);
    for (const wrong of ['', 'x', flipped, value.slice(0, -4), `${value}AAAA`, 'A'.repeat(4000)])
      expect((await ask(`${open.adminUrl}/admin/accounts`, { cookie: `${name}=${wrong}` })).status).toBe(401);
  });
});

describe('other sites', () => {
  it('cannot sign in or use a session with their origin, from another port or without one', async () => {
    open = await openConsole();
    const cookie = await open.signIn();
    const elsewhere = { origin: 'https://evil.example' };
    const neighbour = { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' };
    const change = { method: 'POST', body: { name: 'stolen' } };
    for (const headers of [elsewhere, neighbour, { origin: 'null' }, {}]) {
      expect((await signIn(headers)).status).toBe(403);
      const made = await ask(`${open.adminUrl}/admin/accounts`, { cookie, ...headers }, change);
      expect(made.status).toBe(403);
      const left = await ask(
        `${open.adminUrl}/console/session`,
        { cookie, ...headers },
        { method: 'DELETE' },
      );
      expect(left.status).toBe(403);
    }
    const read = { cookie, 'sec-fetch-site': 'same-site' };
    expect((await ask(`${open.adminUrl}/admin/accounts`, read)).status).toBe(403);
    const own = await ask(`${open.adminUrl}/admin/accounts`, { cookie, origin: open.adminUrl }, change);
    expect(own.status).toBe(201);
  });

  it('cannot point their own name at the listener', async () => {
    open = await openConsole({ hosts: ['console.example'] });
    const port = new URL(open.adminUrl).port;
    const buildHeaders = (name: string) => ({ host: `${name}:${port}`, origin: `http://${name}:${port}` });
    const refused = await signIn(buildHeaders('evil.example'));
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('option \\"hosts\\"')]);
    expect((await ask(`${open.adminUrl}/`, buildHeaders('evil.example'))).status).toBe(403);
    for (const name of ['localhost', 'gate.localhost', '[::1]', 'console.example'])
      expect([name, (await signIn(buildHeaders(name))).status]).toEqual([name, 200]);
  });

  it('cannot put the pages into a frame, nor run scripts of theirs in them', async () => {
    open = await openConsole();
    for (const url of [open.adminUrl, open.harness.gateway.url]) {
      const { headers } = await ask(`${url}/`);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });
});

it('guesses are limited for each address, even if they come at once', async () => {
  open = await openConsole();
  const tries = await Promise.all(
    Array.from({ length: 30 }, (_, index) => signIn({ origin: open.adminUrl }, `gw-guess-${index}`)),
  );
  const count = (status: number): number => tries.filter((each) => each.status === status).length;
  expect([count(401), count(429)]).toEqual([10, 20]);
  const late = await signIn({ origin: open.adminUrl });
  expect([late.status, Number(late.headers['retry-after'])]).toEqual([429, expect.any(Number)]);
});

it('guesses reveal nothing: a user key, junk and a missing key get the same refusal', async () => {
  open = await openConsole();
  const replies = [];
  for (const secret of [open.harness.key, 'junk', `${open.secret}x`, ''])
    replies.push(await signIn({ origin: open.adminUrl }, secret));
  expect(replies.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
});

it('guesses and secrets are never logged', async () => {
  open = await openConsole();
  await signIn({ origin: open.adminUrl }, 'a-secret-that-is-wrong');
  const cookie = await open.signIn();
  const log = open.harness.gateway.log.join('');
  expect(log).toContain('an operator signed in to the console');
  expect(log).toContain('an attempt to sign in to the console failed');
  for (const text of [open.secret, 'a-secret-that-is-wrong', cookie.split('=')[1] ?? ''])
    expect(log).not.toContain(text);
});
