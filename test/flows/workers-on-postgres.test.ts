/** Several processes on one port with one PostgreSQL: a connection that is lost refuses no call. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openDatabase } from '../support/database.ts';
import { waitUntil } from '../support/operated.ts';
import { postJson } from '../support/post.ts';
import { makeDataFolder, startProcess } from '../support/process.ts';

const workers = 2;
const account = 'acme';

const configuration = `
  import { defineConfig } from 'tollgate';
  import { bearer } from 'tollgate/plugins/auth/bearer';
  import { balance } from 'tollgate/plugins/meters/balance';
  import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
  import { demo } from 'tollgate/plugins/providers/demo';
  export default defineConfig({
    server: { port: Number(process.env.PORT), workers: ${workers} },
    dataFolder: import.meta.dirname,
    plugins: [bearer(), chatCompletions(), demo({ pace: 1 }), balance({ store: { kind: 'postgres' } })],
  });
`;

const writers = `FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND application_name LIKE 'tollgate %'`;
/** Ends the connections of all writers once they wait for the account. */
const endWaiting = `DO $$ BEGIN
  WHILE (SELECT count(*) < ${workers} ${writers}) LOOP
    PERFORM pg_sleep(0.01);
    PERFORM pg_stat_clear_snapshot();
  END LOOP;
  PERFORM pg_terminate_backend(pid) ${writers};
END $$`;

it('workers answer all of many calls at once, even if the database ends their connections', async () => {
  const folder = makeDataFolder();
  const { url, drop } = await openDatabase();
  onTestFinished(drop);
  const ledger = await openPostgres({ url });
  onTestFinished(() => ledger.close());
  await ledger.createAccount({ name: account, at: 1 });
  await ledger.addCredit({ account, amount: 5_000_000_000n, kind: 'bonus', reference: undefined, at: 1 });
  const key = (await issueKey(ledger, { name: '', account }))?.secret ?? '';
  const file = join(folder, 'gateway.config.ts');
  writeFileSync(file, configuration);
  const gateway = await startProcess({ TOLLGATE_CONFIG: file, TOLLGATE_LEDGER_URL: url });
  onTestFinished(async () => void (await gateway.stop('SIGKILL')));
  await waitUntil(() => gateway.printed().split(/is ready at|a worker is ready/).length > workers);

  const body = { model: 'demo/echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };
  const headers = { authorization: `Bearer ${key}`, connection: 'close' };
  async function call(): Promise<string> {
    const response = await postJson(`${gateway.url}/v1/chat/completions`, body, headers);
    const text = await response.text();
    return response.ok ? 'answered' : text;
  }
  const callAll = async (): Promise<Set<string>> =>
    new Set(await Promise.all(Array.from({ length: 64 }, call)));
  expect(await callAll()).toEqual(new Set(['answered']));

  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM tollgate.accounts WHERE name = $1 FOR UPDATE', [account]);
  const answers = callAll();
  await holder.query(endWaiting);
  await holder.end();
  expect(await answers).toEqual(new Set(['answered']));

  expect((await gateway.stop('SIGTERM')).code).toBe(0);
  expect(await ledger.audit()).toMatchObject({ ok: true, pending: 0 });
  expect(await ledger.sumTotals()).toMatchObject({ pendingCalls: 0 });
});
