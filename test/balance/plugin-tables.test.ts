/** Data that a plugin keeps in the ledger's database, through the host that it receives. */
import { expect, it } from 'vitest';
import { definePlugin, type Tables } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { startGateway } from '../support/gateway.ts';
import { makeTemporaryFolder } from './ledger-file.ts';

it('a plugin finds what it wrote before the gateway started again', async () => {
  const folder = makeTemporaryFolder();
  let tables: Tables | undefined;
  const visits = definePlugin({
    name: 'visits',
    apply(host) {
      host.hooks.ready.tapPromise({ name: 'visits', stage: 10 }, async () => {
        const migrations = ['CREATE TABLE plugin_visits_days (day text PRIMARY KEY, count bigint NOT NULL)'];
        tables = await host.tables.get('ledger').open({ name: 'visits', migrations });
        const sql = `INSERT INTO plugin_visits_days (day, count) VALUES ($1, 1)
          ON CONFLICT (day) DO UPDATE SET count = plugin_visits_days.count + 1`;
        await tables.write([{ sql, values: ['2030-01-01'] }]);
      });
    },
  });
  for (const count of [1n, 2n]) {
    const gateway = await startGateway({
      dataFolder: folder.path,
      plugins: [visits(), balance({ firstCredit: '0' })],
    });
    expect(await tables?.read({ sql: 'SELECT * FROM plugin_visits_days' })).toEqual([
      { day: '2030-01-01', count },
    ]);
    await gateway.close();
  }
  folder.remove();
});
