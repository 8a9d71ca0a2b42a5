/**
 * A gateway whose output nothing reads, since a disk is full or its reader has exited: it serves and stops as
 * usual.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { onLinux } from '../support/available.ts';
import { findFreePort } from '../support/free-port.ts';
import { waitUntil } from '../support/operated.ts';
import { makeDataFolder, startProcess } from '../support/process.ts';

const folder = makeDataFolder();
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Makes a call that writes a log line. */
async function call(url: string, printed: string): Promise<number> {
  const key = /export KEY=(\S+)/.exec(printed)?.[1] ?? '';
  const body = JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] });
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body,
    signal: AbortSignal.timeout(120_000),
  });
  return response.status;
}

// Only Linux has a file that is always full.
it.runIf(onLinux)('a log whose disk is full delays no call and no stop', async () => {
  const port = await findFreePort();
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../core/cli.js'), 'start'], {
    stdio: ['ignore', 'pipe', openSync('/dev/full', 'w')],
    env: { PATH: process.env.PATH, PORT: String(port), TOLLGATE_DATA: folder },
  });
  const ended = once(child, 'exit');
  let printed = '';
  child.stdout?.on('data', (chunk) => void (printed += chunk));
  await waitUntil(() => printed.includes('export KEY='));
  for (let count = 0; count < 3; count += 1)
    expect(await call(`http://127.0.0.1:${port}`, printed)).toBe(200);
  child.kill('SIGTERM');
  onTestFinished(() => void child.kill('SIGKILL'));
  const [code]: unknown[] = await ended;
  expect(code).toBe(0);
});

it.runIf(onLinux)('a command whose result fits on no disk fails', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../core/cli.js'), 'keys', 'create'], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    env: { PATH: process.env.PATH, TOLLGATE_DATA: folder },
  });
  let errors = '';
  child.stderr?.on('data', (chunk) => void (errors += chunk));
  const [code]: unknown[] = await once(child, 'close');
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/^tollgate: the output could not be written: ENOSPC.*\n$/),
  ]);
});

it('log readers that have exited delay no call and no stop', async () => {
  const gateway = await startProcess({ TOLLGATE_DATA: folder });
  await waitUntil(() => gateway.printed().includes('export KEY='));
  gateway.child.stdout?.destroy();
  gateway.child.stderr?.destroy();
  expect(await call(gateway.url, gateway.printed())).toBe(200);
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
});

it('a command that prints calls ends when its reader does', async () => {
  const gateway = await startProcess({ TOLLGATE_DATA: folder });
  await waitUntil(() => gateway.printed().includes('export KEY='));
  const tail = spawn(process.execPath, [join(import.meta.dirname, '../../core/cli.js'), 'calls', 'tail'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // With the gateway's date, since it prints what ended in the last seconds.
    env: { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS, TOLLGATE_DATA: folder },
  });
  onTestFinished(() => void tail.kill('SIGKILL'));
  tail.stdout.destroy();
  // Calls that ended before it started are not printed.
  await waitUntil(async () => {
    await call(gateway.url, gateway.printed());
    return tail.exitCode === 0;
  });
  await gateway.stop('SIGTERM');
});
