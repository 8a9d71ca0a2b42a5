/** Sends requests by http-proxy-3's native path as core does, without cancellation, timeouts and retries. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent } from 'node:http';
import { Readable } from 'node:stream';
import httpProxy from 'http-proxy-3';
import type { UpstreamRequest, UpstreamResponse } from '../../core/index.ts';

type Send = (
  connection: { readonly req: IncomingMessage; readonly res: ServerResponse },
  request: UpstreamRequest,
) => Promise<UpstreamResponse>;

export function createSender(): Send {
  const agent = new Agent({ keepAlive: true, maxSockets: 1024, maxFreeSockets: 1024 });
  return ({ req, res }, { url, headers, body }) => {
    const bytes = Buffer.from(body);
    req.headers = { ...headers, 'content-length': String(bytes.length) };
    const proxy = httpProxy.createProxyServer({ ignorePath: true, selfHandleResponse: true, agent });
    return new Promise((resolve, reject) => {
      proxy.on('proxyRes', (reply) =>
        resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: reply }),
      );
      proxy.web(req, res, { target: url, buffer: Readable.from([bytes]) }, reject);
    });
  };
}
