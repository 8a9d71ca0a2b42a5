/**
 * The console in a browser: pages for operators at `/` of the admin listener, and one for key holders at
 * `/` of the public listener. The pages use only the public HTTP endpoints. Nothing is built, and nothing
 * is loaded from other hosts.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { definePlugin, GatewayError, type Host, type Route, type RouteReply } from '../../../core/index.ts';
import { readPrivateFile } from '../../shared/private-file.ts';
import type { Asset, Assets } from './assets.ts';
import { createFormList } from './call-forms.ts';
import { createSessions, keyBytes, type Sessions } from './sessions.ts';
import { buildRoute, buildSessionRoutes, checkHost, findPrincipal } from './sign-in.ts';

const options = z.strictObject({
  /** Host names by which browsers reach the admin listener, besides IP addresses and `localhost`. */
  hosts: z
    .array(z.hostname('has to be a host name without a scheme or port: console.example.com').toLowerCase())
    .default([]),
  /** Hours after which operators sign in again. */
  session: z.number().positive().max(720).default(12),
  /** Where clients reach the public listener: `https://gateway.example.com`. Needed behind a proxy. */
  publicUrl: z.url({ protocol: /^https?$/ }).optional(),
  /** Whether key holders get a page at `/` of the public listener. */
  publicPage: z.boolean().default(true),
});

/** The key that encrypts the cookies, in hexadecimal digits. */
function readKey(file: string): Buffer {
  const text = readPrivateFile(
    file,
    () => randomBytes(keyBytes).toString('hex'),
    (kept) => (/^[\da-f]{64}$/.test(kept) ? undefined : 'is damaged'),
  );
  return Buffer.from(text, 'hex');
}

let loaded: Promise<Assets> | undefined;

/** Loads the pages for the first visit, because many gateways never show one. A failure is tried again. */
function loadOnce(): Promise<Assets> {
  loaded ??= import('./assets.ts')
    .then(({ loadAssets }) => loadAssets())
    .catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
  return loaded;
}

function buildAssetReply({ type, plain, gzip }: Asset, accepted: unknown): RouteReply {
  const isPacked = /\bgzip\b/.test(String(accepted));
  return {
    status: 200,
    headers: {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'accept-encoding',
      ...(isPacked && { 'content-encoding': 'gzip' }),
    },
    body: isPacked ? gzip : plain,
  };
}

async function buildDocumentReply(
  name: keyof Assets['documents'],
  sent: Readonly<Record<string, unknown>>,
): Promise<RouteReply> {
  const { html, headers } = (await loadOnce()).documents[name];
  const isKnown = sent['if-none-match'] === headers['etag'];
  return { status: isKnown ? 304 : 200, headers, body: isKnown ? null : html };
}

const publicPage = buildRoute('GET /', {}, ({ headers }) => buildDocumentReply('holders', headers));

/** What pages of both listeners show about the gateway. */
function buildFactsRoute(host: Pick<Host, 'operations' | 'protocols'>, url: string | undefined): Route {
  const { addresses, listener } = host.operations;
  const listForms = createFormList(host);
  return buildRoute('GET /console/facts', { everywhere: true }, async () => ({
    status: 200,
    body: {
      url: url?.replace(/\/$/, '') ?? null,
      port: listener.port,
      addresses: addresses.map(({ protocol, client, path }) => ({ protocol, client, path })),
      forms: await listForms(),
    },
  }));
}

function buildPageRoutes(hosts: readonly string[]): Route[] {
  return [
    buildRoute('GET /', { adminOnly: true }, async ({ headers }) => {
      checkHost(headers, hosts);
      return buildDocumentReply('operators', headers);
    }),
    buildRoute(
      'GET /console/:hash/:file',
      { everywhere: true },
      async ({ params: { hash, file = '' }, headers }) => {
        const all = await loadOnce();
        const asset = hash === all.hash ? all.files.get(file) : undefined;
        if (!asset) throw new GatewayError('not_found', `The console has no file "${file.slice(0, 100)}".`);
        return buildAssetReply(asset, headers['accept-encoding']);
      },
    ),
  ];
}

export const webConsole = definePlugin({
  name: 'console',
  options,
  apply(host, { hosts, session, publicPage: isPublic, publicUrl }) {
    const { keyrings, logger, hooks } = host;
    let sessions: Sessions | undefined;
    const openSessions = (): Sessions =>
      (sessions ??= createSessions({
        key: readKey(join(host.dataFolder, 'console-key')),
        duration: session * 3_600_000,
        endedFile: join(host.dataFolder, 'console-ended'),
      }));
    const findSignIn = (): string | undefined =>
      [...host.routes.list()].find(({ path, adminOnly }) => path === '/sign-in' && adminOnly)?.path;
    const signIn = { keyrings, logger, hosts, openSessions, findSignIn };
    // A damaged key is found when the gateway starts.
    hooks.ready.tap('console', () => void openSessions());

    // For the playground: a page may not call the public listener, which is another origin. The cookie
    // does not authorize them; calls need a key and are charged as usual.
    host.operations.serveCalls('/console/calls');
    host.credentials.add({ name: 'console', openapi: {} });
    hooks.authenticate.tapPromise('console', ({ access, headers, method }) =>
      access === 'operator' ? findPrincipal(signIn, headers, method) : undefined,
    );
    for (const route of [
      ...buildSessionRoutes(signIn),
      ...buildPageRoutes(hosts),
      buildFactsRoute(host, publicUrl),
    ])
      host.routes.add(route);
    if (isPublic) host.routes.add(publicPage);
  },
});
