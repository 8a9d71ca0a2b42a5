/**
 * Describes the gateway to machines at `GET /openapi.json` (OpenAPI 3.1), and to people at `GET /docs`. Both
 * are made from what protocols and routes state about themselves. Neither is loaded before somebody asks,
 * since most gateways are never asked.
 */
import { z } from 'zod';
import { definePlugin, toGatewayError, type Host, type Route, type RouteReply } from '../../core/index.ts';
import { encodeError } from '../shared/wire-kit/openai-error.ts';

/**
 * The document as it is sent. It is made once, for the first request: what it describes only changes with a
 * reload.
 */
function documentReply(host: Host): () => Promise<RouteReply> {
  let reply: Promise<RouteReply> | undefined;
  async function make(): Promise<RouteReply> {
    const { documentOf } = await import('./openapi/document.ts');
    const body = Buffer.from(JSON.stringify(await documentOf(host)));
    return {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
      body,
    };
  }
  return () => (reply ??= make());
}

async function viewer(file: string): Promise<RouteReply> {
  const { viewerFile } = await import('./openapi/viewer.ts');
  return viewerFile(file);
}

export const openapi = definePlugin({
  name: 'openapi',
  options: z.strictObject({}),
  apply(host) {
    const shared = {
      method: 'GET',
      access: 'public',
      errors: (error: unknown) => encodeError(toGatewayError(error)),
    } as const;
    const routes: Route[] = [
      {
        ...shared,
        name: 'openapi',
        path: '/openapi.json',
        handle: documentReply(host),
        openapi: async () => (await import('./openapi/own-pages.ts')).document,
      },
      {
        ...shared,
        name: 'docs',
        path: '/docs',
        handle: () => viewer('index.html'),
        openapi: async () => (await import('./openapi/own-pages.ts')).page,
      },
      {
        ...shared,
        name: 'docs-file',
        path: '/docs/:file',
        handle: ({ params: { file = '' } }) => viewer(file),
        openapi: false,
      },
    ];
    for (const route of routes) host.routes.add(route);
  },
});
