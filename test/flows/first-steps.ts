/** An empty folder to begin in, and what the commands write there. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type Copy } from '../support/process.ts';

const entry = join(import.meta.dirname, '../../core/cli.js');

const places: string[] = [];

export const servers: Server[] = [];

export function makeEmptyFolder(): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-first-'));
  places.push(folder);
  return { entry, folder };
}

/** A provider that lists models for one key. Its clock is `late` seconds behind. */
export async function startVendor({ late = 0, status = 200 } = {}): Promise<{
  url: string;
  asked: string[];
}> {
  const requests: string[] = [];
  const server = createServer({}, ({ method, url, headers }, response) => {
    const key =
      headers.authorization ?? headers['x-api-key'] ?? headers['api-key'] ?? headers['x-goog-api-key'];
    requests.push(`${method} ${url} ${headers['anthropic-version'] ?? ''}`.trim());
    response.writeHead(key === 'Bearer good-key' || key === 'good-key' ? status : 401, {
      date: new Date(Date.now() - late * 1000).toUTCString(),
    });
    response.end('{"data":[]}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    asked: requests,
  };
}

export function closeServers(): void {
  afterAll(() => {
    for (const server of servers) server.close();
    for (const place of places) rmSync(place, { recursive: true, force: true });
  });
}
