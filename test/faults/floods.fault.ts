/** A flood at full length: more connections than the system lets a process have. */
import { rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { computeMostConnections } from '../../core/http/open-files.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { waitUntil } from '../support/operated.ts';
import { clone, makeDataFolder, startProcess } from '../support/process.ts';

it('of 20,000 connections at 4096 files most are closed, and operators get in meanwhile', async () => {
  const folder = makeDataFolder();
  const gateway = await startProcess({ TOLLGATE_DATA: folder }, { ...clone, openFiles: 4096 });
  const adminUrl = findAdminUrl(gateway.printed());
  const look = async (): Promise<void> => {
    expect((await fetch(`${adminUrl}/healthz`)).status).toBe(200);
    expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain('tollgate_');
  };
  const sockets: Socket[] = [];
  let shed = 0;
  for (let count = 0; count < 20_000; count += 1) {
    sockets.push(
      connect(Number(new URL(gateway.url).port), '127.0.0.1')
        .on('error', () => undefined)
        .on('close', () => (shed += 1))
        .resume(),
    );
    if (count % 500 === 0) await look();
  }
  await waitUntil(() => shed >= 20_000 - computeMostConnections(4096));
  process.stdout.write(`${shed} shed\n`);
  await look();
  for (const socket of sockets) socket.destroy();
  await waitUntil(() =>
    fetch(`${gateway.url}/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  rmSync(folder, { recursive: true, force: true });
});
