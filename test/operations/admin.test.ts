/**
 * The admin listener over real sockets: whom it accepts, what it serves, and that the public listener serves
 * none of it.
 */
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin, toGatewayError, type Route } from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/free-port.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

let dataFolder: string;
const closers: (() => Promise<void>)[] = [];
beforeEach(() => {
  dataFolder = makeFolder();
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const toErrorReply: Route['encodeError'] = (error) => ({
  status: toGatewayError(error).status,
  body: toGatewayError(error).code,
});

/** Routes of each kind that return the caller's identity, and a user key. */
const routes = definePlugin({
  name: 'routes',
  options: z.strictObject({ answer: z.string().default('first') }),
  apply({ keyrings, routes: all }, { answer }) {
    keyrings.add({
      name: 'users',
      verify: async (secret) =>
        secret === 'a-users-key' ? { kind: 'user', account: 'a', key: 'k' } : undefined,
    });
    all.add({
      name: 'secrets',
      method: 'GET',
      path: '/secrets',
      access: 'operator',
      encodeError: toErrorReply,
      handle: async (_, { kind }) => ({ status: 200, body: { kind, answer } }),
    });
    all.add({
      name: 'open',
      method: 'GET',
      path: '/open',
      access: 'public',
      encodeError: toErrorReply,
      handle: async () => ({ status: 200, body: 'open' }),
    });
    all.add({
      name: 'mine',
      method: 'GET',
      path: '/mine',
      access: 'user',
      encodeError: toErrorReply,
      handle: async () => ({ status: 200, body: 'mine' }),
    });
  },
});

interface Harness {
  readonly gateway: TestGateway;
  readonly secret: string;
}

async function open(options: Parameters<typeof admin>[0] = {}, answer = 'first'): Promise<Harness> {
  const gateway = await startGateway({
    dataFolder,
    plugins: [bearer(), chatCompletions(), demo(), routes({ answer }), admin({ port: 0, ...options })],
  });
  closers.push(() => gateway.close());
  return { gateway, secret: readFileSync(join(dataFolder, 'operator-secret'), 'utf8').trim() };
}

/** Keeps a configuration from starting, once everything else of it is ready. */
const broken = definePlugin({
  name: 'broken',
  options: z.strictObject({}),
  apply: ({ hooks }) =>
    hooks.ready.tapPromise('broken', async () => Promise.reject(new Error('it does not start'))),
});

async function ask(url: string, key?: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

describe('the admin listener', () => {
  it('accepts its secret', async () => {
    const { gateway, secret } = await open();
    const adminUrl = findAdminUrl(gateway.printed);
    expect(await ask(`${adminUrl}/secrets`, secret)).toEqual({
      status: 200,
      body: { kind: 'operator', answer: 'first' },
    });
  });

  it('refuses every other credential', async () => {
    const { gateway, secret } = await open();
    const adminUrl = findAdminUrl(gateway.printed);
    for (const key of [undefined, '', 'x', secret.slice(0, -1), `${secret}0`, secret.toLowerCase()]) {
      expect(await ask(`${adminUrl}/secrets`, key), key ?? 'none').toEqual({
        status: 401,
        body: 'invalid_api_key',
      });
    }
    expect(await ask(`${adminUrl}/secrets`, 'a-users-key')).toEqual({ status: 403, body: 'forbidden' });
  });

  it('serves nothing but the routes for operators', async () => {
    const { gateway, secret } = await open();
    const adminUrl = findAdminUrl(gateway.printed);
    for (const path of ['/open', '/mine', '/v1/models'])
      expect((await ask(adminUrl + path, secret)).status, path).toBe(404);
    const call = await fetch(`${adminUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body: '{}',
    });
    expect(call.status).toBe(404);
  });

  it('is the only way to them: the public listener does not know them', async () => {
    const { gateway, secret } = await open();
    expect((await ask(`${gateway.url}/secrets`, secret)).status).toBe(404);
    expect(await ask(`${gateway.url}/open`)).toEqual({ status: 200, body: 'open' });
  });

  it('has a secret that is no user key: it calls no models', async () => {
    const { gateway, secret } = await open();
    const call = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body: '{}',
    });
    expect([call.status, await call.json()]).toMatchObject([403, { error: { code: 'permission_denied' } }]);
    expect((await ask(`${gateway.url}/mine`, secret)).status).toBe(403);
  });

  it('stays open when the configuration is reloaded, and then serves its routes', async () => {
    const port = await findFreePort();
    const { gateway, secret } = await open({ port }, 'before');
    const adminUrl = findAdminUrl(gateway.printed);
    expect(await ask(`${adminUrl}/secrets`, secret)).toMatchObject({ body: { answer: 'before' } });
    await open({ port }, 'after');
    expect(await ask(`${adminUrl}/secrets`, secret)).toMatchObject({ body: { answer: 'after' } });
    await closers.shift()?.();
    expect(await ask(`${adminUrl}/secrets`, secret)).toMatchObject({ body: { answer: 'after' } });
  });

  it('does not change when a new configuration fails to start', async () => {
    const port = await findFreePort();
    const { gateway, secret } = await open({ port }, 'before');
    const adminUrl = findAdminUrl(gateway.printed);
    const next = startGateway({
      dataFolder,
      plugins: [bearer(), routes({ answer: 'after' }), admin({ port }), broken()],
    });
    await expect(next).rejects.toThrow('it does not start');
    expect(await ask(`${adminUrl}/secrets`, secret)).toMatchObject({ body: { answer: 'before' } });
  });

  it('stays closed and reports it if its port is taken, while calls are served', async () => {
    const port = await findFreePort();
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    const { gateway, secret } = await open({ port });
    expect(gateway.printed.join('\n')).toContain(`listener stays closed while port ${port} is taken`);
    expect((await ask(`${gateway.url}/open`)).status).toBe(200);
    other.close();
    await expect
      .poll(() => ask(`http://127.0.0.1:${port}/secrets`, secret).catch(() => undefined))
      .toMatchObject({ status: 200 });
    await closers.shift()?.();
    await expect(ask(`http://127.0.0.1:${port}/secrets`, secret)).rejects.toThrow('fetch failed');
  });

  it.each(['127.0.0.1', '0.0.0.0'])('cannot have the port that the gateway has on %s', async (host) => {
    const port = await findFreePort();
    await expect(startGateway({ server: { host, port }, plugins: [admin({ port })] })).rejects.toThrow(
      `plugin "admin": option "port": the gateway itself listens on ${port} (server.port)`,
    );
  });

  it('moves to another address of the same port once the previous configuration has closed', async () => {
    const port = await findFreePort();
    const { secret } = await open({ port }, 'before');
    await open({ port, host: '0.0.0.0' }, 'after');
    expect(await ask(`http://127.0.0.1:${port}/secrets`, secret)).toMatchObject({
      body: { answer: 'before' },
    });
    await closers.shift()?.();
    await expect
      .poll(() => ask(`http://127.0.0.1:${port}/secrets`, secret).catch(() => undefined))
      .toMatchObject({ body: { answer: 'after' } });
  });
});

describe('its secret', () => {
  it('is made on the first start, readable by its owner only, and never printed', async () => {
    const { gateway, secret } = await open();
    expect(secret).toMatch(/^gw-\w{42}$/);
    expect(statSync(join(dataFolder, 'operator-secret')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dataFolder).filter((name) => name.startsWith('operator-secret'))).toEqual([
      'operator-secret',
    ]);
    expect(gateway.printed.join('\n')).toContain(join(dataFolder, 'operator-secret'));
    expect(gateway.printed.join('\n') + gateway.log.join('')).not.toContain(secret);
  });

  it('stays the same from start to start', async () => {
    const { secret } = await open();
    await closers.shift()?.();
    expect((await open()).secret).toBe(secret);
  });

  it('becomes private again if its file was readable for others', async () => {
    await open();
    await closers.shift()?.();
    chmodSync(join(dataFolder, 'operator-secret'), 0o644);
    await open();
    expect(statSync(join(dataFolder, 'operator-secret')).mode & 0o777).toBe(0o600);
  });

  it.each(['', 'short', ' ', `${'a'.repeat(20)} ${'b'.repeat(20)}`])(
    '%j keeps the gateway from starting',
    async (text) => {
      writeFileSync(join(dataFolder, 'operator-secret'), text);
      await expect(open()).rejects.toThrow(/operator-secret has to hold a secret of at least 32 characters/);
    },
  );
});
