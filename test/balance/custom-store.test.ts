import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { balance } from '../../plugins/meters/balance/index.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway } from '../support/gateway.ts';

it('a custom store keeps the ledger, and the commands open it too', async () => {
  const folder = makeFolder();
  let opened = 0;
  const open = (): ReturnType<typeof openSqlite> => {
    opened += 1;
    return openSqlite({ file: join(folder, 'elsewhere.db') });
  };
  const gateway = await startGateway({
    dataFolder: folder,
    plugins: [balance({ store: { kind: 'custom', name: 'elsewhere', open }, firstCredit: '7' })],
  });
  expect(await gateway.verb('balance', ['default'])).toMatchObject({ balance: '7' });
  await gateway.close();
  expect([opened, existsSync(join(folder, 'elsewhere.db')), existsSync(join(folder, 'ledger.db'))]).toEqual([
    2,
    true,
    false,
  ]);
});

it('a custom store without a function to open it is reported as a wrong option', () => {
  expect(() => balance({ store: JSON.parse('{"kind":"custom","name":"elsewhere","open":"soon"}') })).toThrow(
    'plugin "balance": option "store.open": has to be a function',
  );
});
