/**
 * A process with a low limit of open files, and a flood that takes every connection it can: providers, the
 * ledger and operators keep theirs.
 */
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { findAdminUrl } from '../support/admin-url.ts';
import {
  clone,
  makeDataFolder,
  runAlone,
  runVerb,
  startProcess,
  type RunningGateway,
} from '../support/process.ts';
import { openSocket } from '../support/raw-socket.ts';
import { startVendor, type Vendor } from '../support/vendor/chat-completions.ts';

const openFiles = 512;
/**
 * The connections left for clients when half of the files are for providers, and some for the gateway itself.
 */
const most = 224;
const body = JSON.stringify({
  model: 'openai/gpt-4o-mini',
  stream: true,
  messages: [{ role: 'user', content: 'Hello!' }],
});

let vendor: Vendor;
let gateway: RunningGateway;
let key: string;
const folder = makeDataFolder();
beforeAll(async () => {
  vendor = await startVendor();
  const environment = { TOLLGATE_DATA: folder, OPENAI_API_KEY: vendor.key, OPENAI_BASE_URL: vendor.url };
  ({ key } = JSON.parse(
    (await runVerb(['keys', 'create', '--credit', '5', '--json'], { ...environment, PORT: '0' })).output,
  ));
  gateway = await startProcess(environment, { ...clone, openFiles });
});

function callOn(socket: Socket): { heard(): string } {
  let heard = '';
  socket.on('data', (bytes) => void (heard += bytes.toString()));
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  );
  return { heard: () => heard };
}

it('a flood is served up to the limit, leaves providers and operators theirs, and passes', async () => {
  const adminUrl = findAdminUrl(gateway.printed());
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  vendor.script('gpt-4o-mini', { text: ['one ', 'two ', 'three ', 'four'], hold: released, holdAfter: 4 });
  const crowd = await Promise.all(Array.from({ length: 3 * most }, () => openSocket(gateway.url)));
  // The first are closed before the last connect, so that their events have passed by now.
  for (const socket of crowd) socket.on('error', () => undefined).resume();
  await expect.poll(() => crowd.filter(({ closed }) => closed).length).toBe(2 * most);
  const calls = crowd.filter(({ closed }) => !closed).map(callOn);
  await expect.poll(() => vendor.openConnections()).toBe(most);
  expect(await (await fetch(`${adminUrl}/healthz`)).json()).toEqual({ status: 'ok' });
  expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain('tollgate_ledger_pending_calls 224');
  expect((await fetch(`${adminUrl}/admin/audit`)).status).toBe(401);
  release();
  await expect.poll(() => calls.filter(({ heard }) => heard().includes('[DONE]')).length).toBe(most);
  for (const socket of crowd) socket.destroy();
  await expect
    .poll(() =>
      fetch(`${gateway.url}/healthz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
  expect(gateway.printed()).not.toMatch(/"level":[56]0/);
});

it('a connection limit above the file limit causes a warning in a check and at the start', async () => {
  const environment = {
    TOLLGATE_DATA: join(folder, 'other'),
    TOLLGATE_CONFIG: join(clone.folder, 'test/support/many-connections.config.ts'),
    PORT: '0',
  };
  const checked = await runAlone(['check', '--json'], environment, { ...clone, openFiles });
  expect(JSON.parse(checked.output)).toMatchObject({
    ok: true,
    warnings: [expect.stringMatching(/maxConnections is 300, .*512 files/)],
  });
  const started = await startProcess(environment, { ...clone, openFiles });
  expect((await started.stop('SIGTERM')).output).toContain('Warning: server.maxConnections is 300');
});
