/** An empty folder to begin in, and what the commands write there. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type Copy } from '../support/process.ts';
import { serve, type Served } from '../support/serve.ts';

const entry = join(import.meta.dirname, '../../core/cli.js');

const places: string[] = [];

const servers: Served[] = [];

export function makeEmptyFolder(): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-first-'));
  places.push(folder);
  return { entry, folder };
}

/**
 * A provider that lists models for one key, and refuses to be a proxy. Its clock is `late` seconds behind.
 */
export async function startVendor({ late = 0, status = 200 } = {}): Promise<{
  url: string;
  asked: string[];
  close(): Promise<void>;
}> {
  const requests: string[] = [];
  const server = createServer(({ method, url, headers }, response) => {
    const key =
      headers.authorization ?? headers['x-api-key'] ?? headers['api-key'] ?? headers['x-goog-api-key'];
    requests.push(`${method} ${url} ${headers['anthropic-version'] ?? ''}`.trim());
    response.writeHead(key === 'Bearer good-key' || key === 'good-key' ? status : 401, {
      date: new Date(Date.now() - late * 1000).toUTCString(),
    });
    response.end('{"data":[]}');
  });
  server.on('connect', (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
  const served = await serve(server);
  servers.push(served);
  return { url: served.origin, asked: requests, close: served.close };
}

export function closeServers(): void {
  afterAll(async () => {
    for (const server of servers) await server.close();
    for (const place of places) rmSync(place, { recursive: true, force: true });
  });
}
