/** Signals and faults that arrive while a gateway is still starting, alone or with several workers. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { waitUntil } from '../support/operated.ts';
import { clone, makeDataFolder, runAlone, runVerb } from '../support/process.ts';
import { serve } from '../support/serve.ts';

const folder = makeDataFolder();
const file = join(folder, 'gateway.config.ts');
const gate = join(folder, 'gate');
/**
 * Each serving process reports that it reads this file, and waits in the middle of it until the gate file
 * exists.
 */
writeFileSync(
  file,
  `
  import cluster from 'node:cluster';
  import { existsSync } from 'node:fs';
  import { setTimeout as sleep } from 'node:timers/promises';
  import { defineConfig } from 'tollgate';
  import { bearer } from 'tollgate/plugins/auth/bearer';
  import { balance } from 'tollgate/plugins/meters/balance';
  import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
  import { demo } from 'tollgate/plugins/providers/demo';
  const workers = Number(process.env.WORKERS);
  if (workers === 1 || cluster.isWorker) {
    process.stderr.write('it is being read\\n');
    while (!existsSync(${JSON.stringify(gate)})) await sleep(10);
  }
  export default defineConfig({
    server: { port: Number(process.env.PORT), workers },
    dataFolder: ${JSON.stringify(folder)},
    plugins: [bearer(), chatCompletions(), demo(), balance()],
  });
`,
);

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
  rmSync(gate, { force: true });
});

interface Starting {
  readonly child: ChildProcess;
  printed(): string;
}

/** Starts a gateway and stops in the middle of its configuration. */
async function beginStart(workers: number): Promise<Starting> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [clone.entry, 'start'], {
    cwd: clone.folder,
    env: { PATH, HOME, TOLLGATE_CONFIG: file, PORT: '0', WORKERS: String(workers) },
  });
  running.add(child);
  let text = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk) => (text += chunk));
  await waitUntil(() => text.includes('it is being read'));
  return { child, printed: () => text };
}

it.each([1, 2])('a start that receives a reload signal reloads once it is ready: %i', async (workers) => {
  const { child, printed } = await beginStart(workers);
  child.kill('SIGHUP');
  // The next command is answered after the signal was delivered: the start continues once the signal
  // could have ended it.
  await runVerb(['--help'], { TOLLGATE_CONFIG: join(folder, 'nowhere') });
  writeFileSync(gate, '');
  await waitUntil(
    () =>
      printed().includes('the configuration was read again') ||
      child.exitCode !== null ||
      child.signalCode !== null,
  );
  expect([child.exitCode, child.signalCode, printed()]).toEqual([
    null,
    null,
    expect.stringContaining('is ready at'),
  ]);
  child.kill('SIGTERM');
  await waitUntil(() => child.exitCode !== null);
  expect(child.exitCode).toBe(0);
});

it('a start of several workers that receives a stop signal stops without an error', async () => {
  const { child, printed } = await beginStart(2);
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
  expect([child.exitCode, printed()]).toEqual([0, 'it is being read\n']);
});

it('a start of several workers that cannot listen says in one line what to do', async () => {
  writeFileSync(gate, '');
  const taken = await serve(createServer());
  const port = String(taken.port);
  const { code, errors } = await runAlone(['start'], { TOLLGATE_CONFIG: file, PORT: port, WORKERS: '2' });
  await taken.close();
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(
      '^it is being read\ntollgate: .*EADDRINUSE.*: ' +
        'set server.port \\(PORT\\) to another one, or stop the process that uses it\n$',
    ),
  ]);
});
