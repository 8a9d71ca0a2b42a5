/** The example of several machines, each with a data folder of its own and one database for all. */
import { rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { freshDatabase } from '../support/database.ts';
import { makeDataFolder, runVerb, startProcess } from '../support/process.ts';

const TOLLGATE_CONFIG = 'examples/several-machines.config.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function machine(url: string): Record<string, string> {
  const folder = makeDataFolder();
  folders.push(folder);
  return { TOLLGATE_CONFIG, TOLLGATE_LEDGER_URL: url, TOLLGATE_DATA: folder };
}

describe('two gateways with one PostgreSQL', () => {
  it('know the same keys and spend from the same accounts', { timeout: 60_000 }, async () => {
    const { url, drop } = await freshDatabase();
    const environments = [machine(url), machine(url)];
    const gateways = await Promise.all(environments.map((environment) => startProcess(environment)));
    const { output } = await runVerb(['keys', 'create', '--account', 'acme', '--credit', '5', '--json'], machine(url));
    const { key }: { key: string } = JSON.parse(output);
    for (const gateway of gateways) {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content: 'Hello!' }] }),
      });
      expect([response.status, await response.json()]).toMatchObject([200, { model: 'demo/echo' }]);
    }
    const seen = await Promise.all(gateways.map(async (gateway) => (await fetch(`${gateway.url}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } })).json()));
    expect(seen[0]).toMatchObject({ is_active: true, total: 5 });
    expect(seen[1]).toEqual(seen[0]);
    for (const gateway of gateways) expect(gateway.printed()).not.toContain('keeper');
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGTERM')));
    const audited = await runVerb(['audit', '--json'], machine(url));
    expect([audited.code, JSON.parse(audited.output)]).toMatchObject([0, { ok: true }]);
    await drop();
  });

  it('are told which variable names the database where none does', async () => {
    const { code, errors } = await runVerb(['check'], { TOLLGATE_CONFIG });
    expect(code).toBe(1);
    expect(errors).toMatch(/several-machines\.config\.ts: plugin "balance": option "store\.url": set TOLLGATE_LEDGER_URL to the address of the database/);
  });
});
