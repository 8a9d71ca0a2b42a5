/**
 * The files for systemd, nginx and Caddy against the defaults of the gateway. `test/faults/in-front.fault.ts`
 * runs the real programs.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { settingsSchema } from '../../core/config.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, 'examples/deploy', file), 'utf8');
const { server, timeouts } = settingsSchema.parse({ plugins: [] });

/** The values of a setting, which is the first word of a line. */
function findValues(text: string, name: string): string[] {
  return [...text.matchAll(new RegExp(`^\\s*${name}[= ](.*?);?$`, 'gm'))].map(([, value = '']) => value);
}

/** Seconds, or mebibytes. */
function readAmount(text: string, name: string): number {
  const [value = ''] = findValues(text, name);
  expect(value, name).toMatch(/^\d+(s|m|MiB)?$/);
  return Number.parseInt(value, 10);
}

const service = read('systemd/tollgate.service');

it('the service starts a file that exists, with variables that are read, and may stop slowly enough', () => {
  const [start = ''] = findValues(service, 'ExecStart');
  expect(existsSync(join(root, start.split(' ')[1] ?? ''))).toBe(true);
  const sources = globSync('{core,plugins}/**/*.ts', { cwd: root }).map((path) =>
    readFileSync(join(root, path), 'utf8'),
  );
  const names = findValues(service, 'Environment').flatMap((line) =>
    line.split(' ').map((pair) => pair.split('=')[0]),
  );
  expect(names).toContain('TOLLGATE_DATA');
  const text = sources.join('\n') + readFileSync(join(root, 'gateway.config.ts'), 'utf8');
  for (const name of names) if (name !== 'NODE_ENV') expect(text).toContain(String(name));
  // Calls that have to be cut need twice six seconds after the drain.
  expect(readAmount(service, 'TimeoutStopSec')).toBeGreaterThan(server.drain / 1000 + 12);
});

it('the socket and the servers in front agree on the address of the gateway', () => {
  const address = `${server.host}:${server.port}`;
  expect(findValues(read('systemd/tollgate.socket'), 'ListenStream')).toEqual([address]);
  expect(findValues(read('nginx/tollgate.conf'), 'server')).toContain(address);
  expect(findValues(read('caddy/Caddyfile'), 'reverse_proxy')).toEqual([`${address} {`]);
});

it.each([
  ['nginx/tollgate.conf', 'client_max_body_size', 'proxy_read_timeout'],
  ['caddy/Caddyfile', 'max_size', 'response_header_timeout'],
])('%s allows larger bodies and waits longer than the gateway', (file, body, wait) => {
  const text = read(file);
  const largestBody = 32 * 1024 * 1024;
  expect(readAmount(text, body) * 1024 * 1024).toBeGreaterThan(largestBody);
  const longestReply = 600;
  expect(readAmount(text, wait)).toBeGreaterThan(Math.max(longestReply, timeouts.idle / 1000));
});
