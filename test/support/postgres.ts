/**
 * A real PostgreSQL for tests and benches: it starts when one needs it, ends with it, and creates a database
 * for each.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';

export interface PostgresServer {
  /** The URL of its first database, for a superuser. */
  readonly url: string;
  /** Stops the server as its administrator would, and keeps its files. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Ends it for good, and deletes its files. */
  end(): Promise<void>;
}

const keeper = join(import.meta.dirname, 'postgres-keeper.ts');

/** Without `durable`, commits survive the server's end but not the machine's, and tests are faster. */
export async function startPostgres({ durable = false } = {}): Promise<PostgresServer> {
  const flags = durable ? [] : ['-c', 'fsync=off', '-c', 'full_page_writes=off'];
  // In its own process group: an interrupt from the keyboard must not end the server before the tests that
  // use it.
  const child = spawn(process.execPath, [keeper, ...flags], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function readLine(): Promise<string> {
    const { value, done } = await lines.next();
    if (done) throw new Error('PostgreSQL for tests could not be started; its reason is above');
    return value;
  }
  async function obey(command: string): Promise<void> {
    child.stdin.write(`${command}\n`);
    await readLine();
  }
  const { url } = JSON.parse(await readLine());
  return {
    url,
    stop: () => obey('stop'),
    start: () => obey('start'),
    async end() {
      child.stdin.end();
      await exited;
    },
  };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

export interface Database {
  readonly url: string;
  drop(): Promise<void>;
}

let made = 0;

/** A separate database on a server, empty or a copy of a database of that name. */
export async function createDatabase(server: string, template = 'template1'): Promise<Database> {
  made += 1;
  const name = `t${process.pid}_${made}`;
  await administer(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}
