/** A gateway whose listening socket belongs to systemd: a restart refuses no connection. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { findInheritedSocket } from '../../core/http/listener.ts';
import { onLinux } from '../support/available.ts';
import { openOperated, waitUntil, type Operated } from '../support/operated.ts';

const root = join(import.meta.dirname, '../..');
const pid = String(process.pid);

it.each([
  ['public', { LISTEN_PID: pid, LISTEN_FDS: '1' }, 3],
  ['admin', { LISTEN_PID: pid, LISTEN_FDS: '1' }, undefined],
  ['public', { LISTEN_PID: pid, LISTEN_FDS: '2', LISTEN_FDNAMES: 'admin:public' }, 4],
  ['admin', { LISTEN_PID: pid, LISTEN_FDS: '2', LISTEN_FDNAMES: 'tollgate.socket:admin' }, 4],
  ['public', { LISTEN_PID: pid, LISTEN_FDS: '1', LISTEN_FDNAMES: 'admin' }, undefined],
  ['public', { LISTEN_PID: '1', LISTEN_FDS: '1' }, undefined],
  ['public', { LISTEN_PID: pid }, undefined],
  ['public', {}, undefined],
] as const)('the %s listener with %o has descriptor %s', (name, environment, descriptor) => {
  expect(findInheritedSocket(name, environment)).toBe(descriptor);
});

let keeper: ChildProcess | undefined;
let operated: Operated | undefined;
afterEach(() => void keeper?.kill('SIGKILL'));

/** Sends a request on a connection of its own; resolves with its status, or why it failed. */
function ask(port: number, key: string): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = request({
      port,
      path: '/v1/chat/completions',
      method: 'POST',
      headers,
      agent: new Agent(),
    });
    sent.on('error', (error) => resolve(error.message));
    sent.on('response', (response) => {
      response.on('error', (error) => resolve(error.message));
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.end(JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] }));
  });
}

it.runIf(onLinux).each([1, 2])(
  'a restart of a gateway of %i processes under load refuses, resets and fails no request',
  async (workers) => {
    operated = await openOperated();
    const { folder, key } = operated;
    operated.configure(`workers: ${workers}`, 'demo({ pace: 0 })');
    const { PATH = '', HOME = '', NODE_OPTIONS = '' } = process.env;
    const port = 20_000 + (process.pid % 10_000) + workers;
    const command = [process.execPath, join(root, 'core/cli.js'), 'start'];
    keeper = spawn(
      process.execPath,
      [join(root, 'test/support/socket-keeper.ts'), String(port), ...command],
      {
        cwd: root,
        env: { PATH, HOME, NODE_OPTIONS, PORT: '1', TOLLGATE_CONFIG: join(folder, 'gateway.config.ts') },
      },
    );
    let printed = '';
    keeper.stdout?.on('data', (chunk) => (printed += chunk));
    keeper.stderr?.on('data', (chunk) => (printed += chunk));
    const listRuns = (): number[] => [...printed.matchAll(/runs as (\d+)/g)].map(([, id]) => Number(id));
    const countReady = (): number => printed.split('is ready at').length - 1;

    const outcomes: (number | string)[] = [];
    const over = new AbortController();
    const clients = Array.from({ length: 6 }, async () => {
      while (!over.signal.aborted) outcomes.push(await ask(port, key));
    });
    await once(keeper, 'spawn');
    // Until then the keeper's socket refuses.
    await waitUntil(() => listRuns().length === 1);
    outcomes.length = 0;
    const serveMore = async (): Promise<void> => {
      const served = outcomes.length;
      await waitUntil(() => outcomes.length > served + 20);
    };
    await waitUntil(() => countReady() === 1);
    await serveMore();
    process.kill(listRuns()[0] ?? 0, 'SIGTERM');
    await waitUntil(() => countReady() === 2);
    await serveMore();
    over.abort();
    await Promise.all(clients);
    expect(new Set(outcomes)).toEqual(new Set([200]));
    expect(printed).toContain(`is ready at http://127.0.0.1:${port}`);
    const last = listRuns().at(-1) ?? 0;
    keeper.kill('SIGKILL');
    process.kill(last, 'SIGTERM');
    await waitUntil(() => printed.split('Stopping:').length === 3);
  },
);
