/**
 * Describes the gateway to machines at `GET /openapi.json` (OpenAPI 3.1), and to people at `GET /docs`. Both
 * are made from what protocols and routes state about themselves. Neither is loaded before the first request,
 * since most gateways are never asked.
 */
import { z } from 'zod';
import { definePlugin, toGatewayError, type Host, type Route, type RouteReply } from '../../core/index.ts';
import { encodeError } from '../shared/openai/errors.ts';
import type { Audience } from './openapi/document.ts';

/**
 * The document as it is sent. It is made once, for the first request: what it describes only changes with a
 * reload.
 */
function createDocumentHandler(host: Host, audience: Audience): () => Promise<RouteReply> {
  let reply: Promise<RouteReply> | undefined;
  async function make(): Promise<RouteReply> {
    const { buildDocument } = await import('./openapi/document.ts');
    const body = Buffer.from(JSON.stringify(await buildDocument(host, audience)));
    return {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
      body,
    };
  }
  return () => (reply ??= make());
}

async function serveViewer(file: string): Promise<RouteReply> {
  const { serveFile } = await import('./openapi/viewer.ts');
  return serveFile(file);
}

export const openapi = definePlugin({
  name: 'openapi',
  options: z.strictObject({}),
  apply(host) {
    const shared = {
      method: 'GET',
      access: 'public',
      encodeError: (error: unknown) => encodeError(toGatewayError(error)),
    } as const;
    // Each listener describes what it serves, so that calls can be tried from its own page.
    const createRoutes = (audience: Audience): Route[] => {
      const place = audience === 'operators' ? ({ ...shared, adminOnly: true } as const) : shared;
      const name = audience === 'operators' ? 'operators ' : '';
      return [
        {
          ...place,
          name: `${name}openapi`,
          path: '/openapi.json',
          handle: createDocumentHandler(host, audience),
          describe: async () => (await import('./openapi/document.ts')).ownPages.document,
        },
        {
          ...place,
          name: `${name}docs`,
          path: '/docs',
          handle: () => serveViewer('index.html'),
          describe: async () => (await import('./openapi/document.ts')).ownPages.page,
        },
        {
          ...place,
          name: `${name}docs-file`,
          path: '/docs/:file',
          handle: ({ params: { file = '' } }) => serveViewer(file),
          describe: false,
        },
      ];
    };
    const routes = [...createRoutes('everyone'), ...createRoutes('operators')];
    for (const route of routes) host.routes.add(route);
  },
});
