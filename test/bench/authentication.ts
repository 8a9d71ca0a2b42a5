/**
 * What it costs to tell whose key a secret is, with one key on record and with a million: a look-up in the
 * ledger, as the first call of a key needs and then one a second.
 *
 * node test/bench/authentication.ts      AUTHENTICATION_KEYS=1000000
 */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { computeMedian } from './statistics.ts';

const most = Number(process.env.AUTHENTICATION_KEYS ?? 1_000_000);
const rounds = 5;
const lookUps = 4000;
const inFlight = 32;

function hashKey(index: number): string {
  return hash('sha256', `key ${index}`, 'hex');
}

/** Microseconds of a look-up, as the median of some rounds over keys from all over. */
async function measure(store: Store, keys: number): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    let left = lookUps;
    const began = performance.now();
    const lookUp = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const found = await store.findKey(hashKey((left * 7_919 + round) % keys));
        if (!found) throw new Error('a key is missing');
      }
    };
    await Promise.all(Array.from({ length: inFlight }, lookUp));
    // The first warms up.
    if (round > 0) times.push(((performance.now() - began) * 1000) / lookUps);
  }
  return computeMedian(times);
}

async function compare(
  name: string,
  store: Store,
  addKeys: (from: number, to: number) => Promise<void>,
): Promise<void> {
  await store.createAccount({ name: 'bench', at: 1 });
  await addKeys(0, 1);
  const one = await measure(store, 1);
  await addKeys(1, most);
  const many = await measure(store, most);
  await store.close();
  process.stdout.write(
    `${name}: ${one.toFixed(0)} us a look-up with 1 key, ${many.toFixed(0)} ` +
      `us with ${most} keys (${inFlight} in flight)\n`,
  );
}

async function compareSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-authentication-bench-'));
  const file = join(folder, 'ledger.db');
  await compare('SQLite', await openSqlite({ file }), async (from, to) => {
    const database = new DatabaseSync(file, { timeout: 5000 });
    const add = database.prepare(`
      INSERT INTO keys (id, hash, last_four, name, kind, account, created, root)
      SELECT substr(?1, 1, 16), ?1, 'wxyz', '', 'user', id, 1, substr(?1, 1, 16) FROM accounts`);
    database.exec('BEGIN');
    for (let index = from; index < to; index += 1) add.run(hashKey(index));
    database.exec('COMMIT');
    database.close();
  });
  rmSync(folder, { recursive: true, force: true });
}

async function comparePostgres(): Promise<void> {
  const server = await startPostgres({ durable: true });
  await compare('PostgreSQL', await openPostgres({ url: server.url }), async (from, to) => {
    const client = new Client({ connectionString: server.url });
    await client.connect();
    await client.query(
      `INSERT INTO tollgate.keys (id, hash, last_four, name, kind, account, created, root)
       SELECT left(hash, 16), hash, 'wxyz', '', 'user', accounts.id, 1, left(hash, 16) FROM tollgate.accounts,
         (SELECT encode(sha256(('key ' || number)::bytea), 'hex') AS hash
          FROM generate_series($1::integer, $2::integer - 1) number) made`,
      [from, to],
    );
    await client.query('ANALYZE tollgate.keys');
    await client.end();
  });
  await server.end();
}

await compareSqlite();
await comparePostgres();
