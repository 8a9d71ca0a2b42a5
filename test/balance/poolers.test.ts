/**
 * Poolers of connections in front of PostgreSQL, by what a client sees of PgBouncer: it refuses parameters of
 * a connection that it does not know, or its operator lets it ignore them; and it greets clients with a
 * number of its own instead of that of a server process.
 */
import { connect, createServer, type Server } from 'node:net';
import { expect, it } from 'vitest';
import { openPostgres } from '../../plugins/meters/balance/postgres/open.ts';
import { openDatabase } from '../support/database.ts';
import { serve } from '../support/serve.ts';
import { queryDatabase } from './postgres-database.ts';

/** The beginning of `BackendKeyData`, before the number of the process. */
const keyData = Buffer.from([0x4b, 0, 0, 0, 12]);

/** Passes everything between client and server, but for the number of the process. */
function createRenumberer(port: number): Server {
  return createServer((client) => {
    const server = connect(port, '127.0.0.1');
    client.on('error', () => server.destroy()).pipe(server);
    server.on('error', () => client.destroy());
    server.on('close', () => client.destroy());
    server.on('data', (chunk: Buffer) => {
      const at = chunk.indexOf(keyData);
      if (at >= 0) chunk.writeInt32BE(440_132_258, at + keyData.length);
      client.write(chunk);
    });
  });
}

/** Refuses every client as PgBouncer does for `options`. */
function createRefuser(): Server {
  return createServer((client) => {
    client.on('error', () => undefined);
    client.once('data', () => {
      const fields = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0');
      const head = Buffer.alloc(5);
      head.write('E');
      head.writeInt32BE(fields.length + 4, 1);
      client.end(Buffer.concat([head, fields]));
    });
  });
}

it.each([
  ['ignores the parameters of a connection', createRenumberer],
  ['refuses the parameters of a connection', createRefuser],
])('a pooler that %s is refused by name, and nothing is written behind it', async (_, createPooler) => {
  const { url } = await openDatabase();
  const pooler = new URL(url);
  const { origin } = await serve(createPooler(Number(pooler.port)));
  pooler.port = new URL(origin).port;
  await expect(openPostgres({ url: pooler.href })).rejects.toThrow(
    /^the ledger 127\.0\.0\.1:\d+\/t\w+ cannot be opened: a connection pooler such as PgBouncer is/,
  );
  expect(await queryDatabase(url, "SELECT FROM pg_tables WHERE tablename = 'steps'")).toEqual([]);
});
